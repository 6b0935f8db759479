"""Which result answers which call.

Knows no rule. Invariant: every call and every result is in exactly one place of `Pairs`; ids that are used again in a
later round name the call of that round.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from remit.check.transcript import Call, Message, Result, Transcript
from remit.check.value import string

__all__ = ["Pair", "Pairs", "Round", "pairs_of"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A call and its result.

    Args:
        by: `id`, `order` where the result has no id, `guess` where its id names no call and one call alone is left.
        placed: the result stands where the provider wants it.
    """

    call: Call
    result: Result
    by: str = "id"
    placed: bool = True


@dataclass(slots=True)
class Round:
    """The calls of one message, and the results that came for them."""

    index: int
    calls: list[Call]
    received: bool = False
    open: list[Call] = field(default_factory=list[Call])
    early: list[Call] = field(default_factory=list[Call])
    """Calls behind whose own message another one of the same role stands, which Chat does not merge."""


@dataclass(slots=True)
class Pairs:
    """All calls and results of a transcript.

    Args:
        pairs: what belongs together, in the order of the results.
        rounds: the calls by message; what has no result is in `open`.
        lost: results that answer nothing, each with whether calls stand directly before it.
        again: results to a call that has one already.
    """

    pairs: list[Pair] = field(default_factory=list[Pair])
    rounds: list[Round] = field(default_factory=list[Round])
    lost: list[tuple[Result, bool]] = field(default_factory=list[tuple[Result, bool]])
    again: list[Result] = field(default_factory=list[Result])
    _found: dict[int, Result] = field(default_factory=dict[int, Result])

    def result_of(self, call: Call) -> Result | None:
        """The result of a call, None where there is none."""
        if len(self._found) != len(self.pairs):
            self._found = {id(pair.call): pair.result for pair in self.pairs}
        return self._found.get(id(call))


def pairs_of(transcript: Transcript) -> Pairs:
    """Pair the calls and results of a transcript."""
    found = Pairs()
    messages = transcript.messages
    strict = transcript.form != "openai-responses"
    for index, message in enumerate(messages):
        if message.calls:
            calls = [*message.calls]
            last = message.places[-1:] if transcript.form == "openai-chat" else ("",)
            early = [call for call in calls if not call.place.startswith(last)]
            found.rounds.append(Round(index, calls, message.received, [*calls], early))
        before = _before(messages, index, skip_system=transcript.form == "anthropic")
        near = found.rounds[-1] if found.rounds and found.rounds[-1].index == before else None
        missed = [one for one in message.results if not _answers(found, one, near, strict=strict)]
        _guess(found, missed, near)
    _early(found)
    return found


def _before(messages: tuple[Message, ...], index: int, *, skip_system: bool) -> int:
    """The place of the message before one; Anthropic's own instructions in between do not count."""
    index -= 1
    while skip_system and index >= 0 and messages[index].role == "system":
        index -= 1
    return index


def _answers(found: Pairs, result: Result, near: Round | None, *, strict: bool) -> bool:
    """Put a result to the call that it answers; whether there is one."""
    if near is not None and (call := _match(near.open, result)) is not None:
        return _pair(found, near, Pair(call, result, placed=not strict or call not in near.early))
    if near is not None and _match(near.calls, result) is not None:
        found.again.append(result)
        return True
    for one in reversed(found.rounds):
        call = _match(one.open, result)
        if call is not None:
            return _pair(found, one, Pair(call, result, placed=not strict))
    if near is None and found.rounds and _match(found.rounds[-1].calls, result) is not None:
        found.again.append(result)
        return True
    return False


def _pair(found: Pairs, where: Round, pair: Pair) -> bool:
    where.open = [one for one in where.open if one is not pair.call]
    found.pairs.append(pair)
    return True


def _match(calls: list[Call], result: Result) -> Call | None:
    for call in calls:
        if result.kind == "functions" or call.kind == "functions":
            if result.kind == call.kind and result.name == call.name:
                return call
        elif result.id and result.id in (call.id, _item_id(call)):
            return call
    return None


def _item_id(call: Call) -> str:
    """What a local shell's answer names: the item, where it has no other id."""
    return string(call.raw, "id") if call.name == "local_shell_call" and isinstance(call.raw, dict) else call.id


def _guess(found: Pairs, missed: list[Result], near: Round | None) -> None:
    """Results without an id go by their order; one with a wrong id goes to the one call that is left."""
    for result in missed:
        if near is not None and near.open and not result.id and result.kind != "functions":
            _pair(found, near, Pair(near.open[0], result, by="order"))
    left = [one for one in missed if one.id or one.kind == "functions" or near is None or not _paired(found, one)]
    if near is not None and len(left) == 1 and len(near.open) == 1:
        by = "guess" if near.open[0].id else "order"
        _pair(found, near, Pair(near.open[0], left[0], by=by))
    else:
        found.lost += [(one, near is not None) for one in left]


def _paired(found: Pairs, result: Result) -> bool:
    return any(pair.result is result for pair in found.pairs)


def _early(found: Pairs) -> None:
    """Results that stand before their call."""
    still: list[tuple[Result, bool]] = []
    for result, near in found.lost:
        for one in found.rounds:
            call = _match(one.open, result)
            if call is not None:
                _pair(found, one, Pair(call, result, placed=False))
                break
        else:
            still.append((result, near))
    found.lost = still
