"""Tool names on the wire: providers take `[a-zA-Z0-9_-]{1,64}`, MCP allows dots and 128 characters.

Knows no protocol. Invariant: a name that fits is itself; every other one gets a name that depends on it
alone, unless that is taken, and then on the set of names and never on their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from remit.errors import InputError
from remit.types.ident import Json
from remit.types.model import HeadSpec

__all__ = ["foreign", "tool_of", "wire_name", "wire_names", "wire_names_of"]

_FIT = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_MARKS = range(8, 60, 4)


def wire_name(tool: str, mark: int = _MARKS.start) -> str:
    """What a tool is called on the wire; `mark` characters of its digest tell apart what would look alike."""
    if _FIT.fullmatch(tool):
        return tool
    digest = sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_UNFIT.sub('_', tool)[: 63 - mark]}_{digest[:mark]}"


def wire_names(tools: Sequence[str]) -> Mapping[str, str]:
    """wire name -> tool name, for the tools of one request.

    Raises:
        InputError: a name is given twice or is empty, or the names were made to collide.
    """
    if len(set(tools)) != len(tools) or not all(tools):
        raise InputError("tool names must be unique and not empty", code="tool.names")
    for mark in _MARKS:
        names = {wire_name(tool, mark): tool for tool in tools}
        if len(names) == len(tools):
            return names
    raise InputError("the tools' names cannot be told apart on the wire; rename one", code="tool.names")


def wire_names_of(spec: HeadSpec) -> Mapping[str, str]:
    """tool name -> wire name, for a request; provider-run tools have names of their own.

    Raises:
        InputError: a provider-run tool has the name of one of ours.
    """
    names = {tool: name for name, tool in wire_names([tool.name for tool in spec.tools]).items()}
    hosted = _hosted(spec.server_tools)
    taken = sorted(tool for tool, name in names.items() if name in hosted)
    if taken:
        raise InputError(f"the tool {taken[0]} has the name of a provider-run tool; rename it", code="tool.names")
    return names


def _hosted(tools: Iterable[Mapping[str, Json]]) -> set[Json]:
    return {name for tool in tools if isinstance(name := tool.get("name"), str)}


def foreign(space: str, name: str) -> str:
    """A name in somebody else's space (a toolset, a namespace): never one of ours, which have no colon."""
    return f"{space}:{name}" if space else name


def tool_of(names: Mapping[str, str], space: str, name: str) -> str:
    """Our name for a wire name, or the name as it was sent."""
    return foreign(space, name) if space else names.get(name, name)
