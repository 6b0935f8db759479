"""The OpenAI Chat Completions protocol: what an imported history must be.

Source: the API's errors on `tool_calls` and `role: tool`. Ids need to be unique in their round only: real
histories use them again. Invariant: the answers of a round follow its message directly, in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remit.types.ident import Json
from remit.wire.history import Rounds, member_list, member_text, objects, refused, role_of

__all__ = ["check"]


def check(messages: Sequence[Json]) -> None:
    """Pass a history that the provider takes.

    Raises:
        ProtocolError: `protocol.history`, naming the place.
    """
    rounds = Rounds()
    for index, message in enumerate(objects(messages, "messages")):
        place = f"messages[{index}]"
        role = role_of(message, place, ("user", "assistant", "tool"))
        if role == "tool":
            _content(message, place)
            rounds.answered(member_text(message, "tool_call_id", place), place)
            continue
        rounds.closed()
        rounds.forget()
        if role == "assistant":
            _assistant(message, place, rounds)
        else:
            _content(message, place)
    rounds.closed("has no answer: import closed rounds only")


def _assistant(message: Mapping[str, Json], place: str, rounds: Rounds) -> None:
    calls = member_list(message, "tool_calls", place)
    if message.get("function_call") is not None:
        raise refused(f"{place}.function_call", "is the legacy form, which has no answer")
    if not calls and not message.get("refusal"):
        _content(message, place)
    for index, call in enumerate(calls):
        where = f"{place}.tool_calls[{index}]"
        body = call.get("function") or call.get("custom")
        if not isinstance(body, dict):
            raise refused(where, "is not a call")
        member_text(body, "name", where)
        rounds.called(member_text(call, "id", where), where)


def _content(message: Mapping[str, Json], place: str) -> None:
    content = message.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        raise refused(f"{place}.content", "must be a text or parts")
    for index, part in enumerate(objects(content, f"{place}.content")):
        member_text(part, "type", f"{place}.content[{index}]")
