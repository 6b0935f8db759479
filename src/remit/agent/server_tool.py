"""Tools that the provider runs itself: outside the gate, and so allowed only by name.

Knows which types only read, as the providers' documentation of late 2026 has them; no wire. Invariant: what may change
something is accepted only where the definition says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from remit.agent.check import is_json_object
from remit.errors import DefinitionError
from remit.tool import CALL, Effect, manual, write
from remit.types.given import is_count
from remit.types.ident import Json
from remit.types.server_tool import runs_here, waits_for_approval

__all__ = ["ServerTool", "fault_of", "server_tool"]

_READING = ("web_search", "web_fetch", "tool_search", "file_search", "advisor")
"""They change nothing, as their types begin."""

_MANUAL = write(once_per=CALL, recovery=manual)


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A provider-run tool; made by `server_tool(...)`.

    Args:
        declaration: as the provider documents it, `max_uses` included.
        effect: None where it only reads.
    """

    declaration: Mapping[str, Json]
    effect: Effect | None = None

    @property
    def type(self) -> str:
        """The provider's word for what it is."""
        return str(self.declaration.get("type"))


def server_tool(declaration: Mapping[str, Json], *, effect: Effect | None = None, max_uses: int | None = None) -> ServerTool:
    """A tool that the provider runs itself, for `Agent(server_tools=[...])`.

    Args:
        declaration: as the provider documents it, for example `{"type": "web_search_20260318", "name": "web_search"}`.
        effect: needed where the tool may change something (code execution, hosted MCP): `write(once_per=CALL,
            recovery=manual)`. Each request of the agent is then itself a write that is never made twice: one whose
            end is not known is left to a person.
        max_uses: how often the model may use it in one request, at least 1.

    Raises:
        DefinitionError: something above does not hold; the message says the mend.
    """
    wrong = fault_of(declaration, effect, max_uses)
    if wrong is not None:
        raise DefinitionError(f"server_tool: {wrong}", code="agent.server_tools")
    limits: dict[str, Json] = {} if max_uses is None else {"max_uses": max_uses}
    return ServerTool({**declaration, **limits}, effect)


def fault_of(declaration: object, effect: Effect | None = None, max_uses: int | None = None) -> str | None:
    """What is wrong with a provider-run tool that is described so; None if nothing is."""
    if not is_json_object(declaration) or not isinstance(declaration.get("type"), str):
        return "give the provider's declaration, a dict of JSON values with a type"
    kind = cast("str", declaration["type"])
    if runs_here(declaration):
        return f"{kind!r} is not run by the provider but by the application: write it as a tool of the agent"
    reads = kind.startswith(_READING)
    if effect is None and not reads:
        mend = "server_tool({...}, effect=write(once_per=CALL, recovery=manual))"
        return f"{kind!r} may change something, and no gate is before it: name it as {mend}"
    if effect is not None and (reads or effect != _MANUAL):
        return f"{kind!r} only reads: leave effect= out" if reads else "effect= is write(once_per=CALL, recovery=manual)"
    if waits_for_approval(declaration):
        return '"mcp" would wait for approvals that nobody is asked for here: add "require_approval": "never", and know why'
    if max_uses is not None and not is_count(max_uses, 1):
        return "max_uses= is a whole number of at least 1"
    own = declaration.get("max_uses")
    return None if None in (own, max_uses) or own == max_uses else "max_uses= and the declaration's own differ: give one"
