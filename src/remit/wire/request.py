"""What the heads of the three protocols' requests have in common: settings, provider-run tools, the join.

Knows no single protocol. Invariant: a setting wins over what this library sets, and none may change what
the journal relies on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from remit.canonical import member_spans
from remit.errors import InputError
from remit.types.ident import Json, Wording
from remit.types.model import HeadSpec
from remit.types.server_tool import runs_here
from remit.wire.write import quote

__all__ = ["check_server_tools", "finish", "join", "renamed"]

_MERGED = ("output_config", "text")
"""Settings that are objects in which our own member and the user's stand side by side."""

_HARMLESS: dict[str, Json] = {"n": 1, "store": False, "background": False, "truncation": "disabled"}
"""Refused settings, with the value that says what is done anyway."""


def finish(own: Mapping[str, Json], spec: HeadSpec, *, refused: Mapping[str, str], caps: Sequence[str]) -> Wording:
    """The head: our members with the settings over them, without the outer braces.

    Args:
        refused: settings that would break what the journal relies on, and what to do instead.
        caps: spellings of the cap on output tokens, ours first.

    Raises:
        InputError: `settings.refused`.
    """
    head = dict(own)
    for name, value in spec.settings.items():
        if name in refused and not _same(value, _HARMLESS.get(name)):
            raise InputError(f"the setting {name} is refused: {refused[name]}", code="settings.refused", setting=name)
        if name in caps:
            if not _same(value, spec.max_tokens):
                raise InputError(f"the setting {name} is refused: use max_tokens", code="settings.refused", setting=name)
            head.pop(caps[0], None)
        mine = head.get(name)
        head[name] = {**mine, **value} if name in _MERGED and isinstance(mine, dict) and isinstance(value, dict) else value
    return Wording(quote(head)[1:-1])


def _same(value: Json, allowed: Json) -> bool:
    return allowed is not None and type(value) is type(allowed) and value == allowed


def join(head: Wording, member: str, messages: Sequence[Wording], *, stream: bool) -> bytes:
    """A request body out of text that exists already."""
    asked = ',"stream":true' if stream else ""
    return f'{{{head}{asked},"{member}":[{",".join(filter(None, messages))}]}}'.encode()


def renamed(head: Wording, model: str) -> Wording:
    """The head with another model's name in it."""
    text = f"{{{head}}}"
    start, end = member_spans(text)["model"]
    return Wording(f"{text[1:start]}{quote(model)}{text[end:-1]}")


def check_server_tools(tools: Sequence[Mapping[str, Json]], run_there: Collection[str] | None = None) -> list[Json]:
    """The declarations of provider-run tools, verbatim.

    Args:
        run_there: the beginnings of the types that the provider runs itself; None where servers have their own.

    Raises:
        InputError: one is of a type that we would have to run.
    """
    checked: list[Json] = []
    for tool in tools:
        kind = tool.get("type")
        if not isinstance(kind, str) or runs_here(tool) or not kind.startswith(tuple(run_there or ("",))):
            raise InputError("a server tool must be of a type that the provider runs itself", code="server_tool.type")
        checked.append(dict(tool))
    return checked
