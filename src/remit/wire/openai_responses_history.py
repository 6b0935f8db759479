"""The OpenAI Responses protocol: what an imported history must be.

Source: the API's errors on calls and their outputs; no state is kept there, so nothing may refer to it.
Invariant: every call has one output after it, unless it is asynchronous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remit.types.ident import Json
from remit.wire.history import Rounds, member_text, objects, refused, role_of

__all__ = ["check"]

_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def check(messages: Sequence[Json]) -> None:
    """Pass a history that the provider takes.

    Raises:
        ProtocolError: `protocol.history`, naming the place.
    """
    rounds = Rounds()
    running: set[str] = set()
    seen: set[str] = set()
    items = objects(messages, "input")
    for index, item in enumerate(items):
        place = f"input[{index}]"
        kind = _kind(item, place)
        _unique(item, place, seen)
        if kind == "message":
            _message(item, place)
        elif kind in _CALLS:
            _call(item, kind, place, running, rounds)
        elif kind in _OUTPUTS:
            wire_id = member_text(item, "call_id", place)
            if "output" not in item:
                raise refused(f"{place}.output", "is missing")
            if wire_id in running:
                running.discard(wire_id)
            else:
                rounds.answered(wire_id, place)
        elif kind == "reasoning" and (index + 1 == len(items) or _kind(items[index + 1], place) in _OUTPUTS):
            raise refused(place, "is reasoning without what it led to")
        elif kind == "item_reference":
            raise refused(place, "refers to what the provider keeps")
    rounds.closed("has no output: import closed rounds only")


def _kind(item: Mapping[str, Json], place: str) -> str:
    return "message" if "type" not in item and "role" in item else member_text(item, "type", place)


def _unique(item: Mapping[str, Json], place: str, seen: set[str]) -> None:
    item_id = item.get("id")
    if isinstance(item_id, str):
        if item_id in seen:
            raise refused(f"{place}.id", "is the id of an earlier item")
        seen.add(item_id)


def _message(item: Mapping[str, Json], place: str) -> None:
    role_of(item, place, ("user", "assistant"))
    content = item.get("content")
    if not isinstance(content, str) and not (isinstance(content, list) and content):
        raise refused(f"{place}.content", "must be a text or parts")
    if isinstance(content, list):
        for index, part in enumerate(objects(content, f"{place}.content")):
            member_text(part, "type", f"{place}.content[{index}]")


def _call(item: Mapping[str, Json], kind: str, place: str, running: set[str], rounds: Rounds) -> None:
    member_text(item, "name", place)
    if not isinstance(item.get("arguments" if kind == "function_call" else "input"), str):
        raise refused(place, "has no arguments as text")
    wire_id = member_text(item, "call_id", place)
    if item.get("async") is True:
        running.add(wire_id)
    else:
        rounds.called(wire_id, place)
