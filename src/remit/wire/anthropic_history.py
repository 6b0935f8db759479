"""The Anthropic Messages protocol: what an imported history must be.

Source: the provider's pages on tool use, and recorded traffic: consecutive messages of one role are one turn, and
ids need to be unique in their round only. Invariant: a history
that passes pairs every `tool_use` with one `tool_result` at the head of the turn that follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remit.types.ident import Json
from remit.wire.anthropic_reply import FIT
from remit.wire.history import Rounds, member_text, objects, refused, role_of

__all__ = ["check"]

_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_Block = tuple[str, Mapping[str, Json]]


def check(messages: Sequence[Json]) -> None:
    """Pass a history that the provider takes.

    Raises:
        ProtocolError: `protocol.history`, naming the place.
    """
    rounds = Rounds()
    hosted: set[str] = set()
    for role, blocks in _turns(messages):
        if role == "user":
            _user(blocks, rounds, only_results=bool(hosted))
        else:
            rounds.closed()
            rounds.forget()
            _settle_hosted(blocks, hosted)
            for place, block in blocks:
                if block.get("type") == "tool_use":
                    rounds.called(_use(block, place), place)
    rounds.closed("has no answer: import closed rounds only")


def _turns(messages: Sequence[Json]) -> list[tuple[str, list[_Block]]]:
    turns: list[tuple[str, list[_Block]]] = []
    for index, message in enumerate(objects(messages, "messages")):
        place = f"messages[{index}]"
        role = role_of(message, place, ("user", "assistant"))
        blocks = _blocks(message, place)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    return turns


def _blocks(message: Mapping[str, Json], place: str) -> list[_Block]:
    content: Json = message.get("content")
    place = f"{place}.content"
    if isinstance(content, str):
        text: dict[str, Json] = {"type": "text", "text": content}
        content = [text]
    if not isinstance(content, list) or not content:
        raise refused(place, "must be a text or blocks, and not empty")
    blocks = [(f"{place}[{index}]", block) for index, block in enumerate(objects(content, place))]
    for where, block in blocks:
        kind = member_text(block, "type", where)
        if kind == "text" and not member_text(block, "text", where).strip():
            raise refused(f"{where}.text", "must say something")
    return blocks


def _user(blocks: list[_Block], rounds: Rounds, *, only_results: bool) -> None:
    leading = True
    for place, block in blocks:
        if block["type"] == "tool_result":
            if not leading:
                raise refused(place, "must come before everything else of its turn")
            rounds.answered(member_text(block, "tool_use_id", place), place)
        elif only_results:
            raise refused(place, "must not follow while a provider-run call waits")
        else:
            rounds.closed()
            leading = False


def _settle_hosted(blocks: list[_Block], hosted: set[str]) -> None:
    """Provider-run calls and their results; what is left waits for the next assistant turn."""
    for place, block in blocks:
        if block["type"] in _SERVER_CALLS:
            hosted.add(member_text(block, "id", place))
        elif "tool_use_id" in block:
            hosted.discard(member_text(block, "tool_use_id", place))


def _use(block: Mapping[str, Json], place: str) -> str:
    wire_id = member_text(block, "id", place)
    if not FIT.fullmatch(wire_id):
        raise refused(f"{place}.id", "must be letters, digits, _ and -")
    member_text(block, "name", place)
    if not isinstance(block.get("input"), dict):
        raise refused(f"{place}.input", "must be an object")
    return wire_id
