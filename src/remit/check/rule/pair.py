"""Rules about calls and their results: each call has one, each result belongs to a call, and stands in its place.

Source: the providers' pages on tool use and their errors as clients report them. Invariant: pure checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from remit.check.rule.rule import Case, Found, Rule, found, named, rule
from remit.check.transcript import Result
from remit.check.value import string

__all__ = ["PAIR"]

_ANSWER = "add its result directly behind it; where what happened is not known, say that it is unknown"


@rule("call.without_result", "error", "A call has no result", mended=True)
def _unanswered(case: Case) -> Iterator[Found]:
    last = len(case.transcript.messages) - 1
    for one in case.pairs.rounds:
        if one.received or (one.index == last and not case.transcript.asked):
            continue
        for call in one.open:
            if call.waits:
                yield found(call, f"the call of {named(call)} has no result", _ANSWER)


@rule("call.open", "note", "The transcript ends in a call that waits for its result")
def _open(case: Case) -> Iterator[Found]:
    last = len(case.transcript.messages) - 1
    for one in case.pairs.rounds:
        if one.index == last and not one.received and not case.transcript.asked:
            for call in one.open:
                yield found(
                    call, f"the call of {named(call)} waits for its result", "answer it before the model is asked again"
                )


@rule("assistant.missing", "error", "Results without the assistant message that asked for them")
def _left_out(case: Case) -> Iterator[Found]:
    if not case.transcript.reaches:
        for result, near in case.pairs.lost:
            if not near and result.id:
                mend = "append the assistant message as it was received, before the results"
                yield found(result, f"no message before it asks for {named(result.id)}", mend)


@rule("result.without_call", "error", "A result belongs to no call")
def _orphan(case: Case) -> Iterator[Found]:
    if not case.transcript.reaches:
        for result, near in case.pairs.lost:
            if result.kind == "functions" or (near and result.id):
                what = result.name if result.kind == "functions" else result.id
                yield found(result, f"no call before it is {named(what)}", "give it the id of the call that it answers")


@rule("id.wrong", "error", "A result has an id that no call has", mended=True)
def _wrong(case: Case) -> Iterator[Found]:
    for pair in case.pairs.pairs:
        if pair.by == "guess":
            said = f"it answers {named(pair.result.id)}, and the call before it is {named(pair.call.id)}"
            yield found(pair.result, said, "give it the id of the call, as it was received")


@rule("id.missing", "error", "A call or a result has no id", mended=True)
def _no_id(case: Case) -> Iterator[Found]:
    for _, item in case.items():
        if isinstance(item, Result) and not item.id and item.kind != "functions":
            yield found(item, "the result has no id", "give it the id of the call that it answers")
    for call in case.transcript.calls:
        if not call.id and call.kind != "functions":
            yield found(call, f"the call of {named(call)} has no id", "keep the id that the provider gave, in both places")


@rule("id.duplicate", "error", "Two calls have the same id at one time", mended=True)
def _twice(case: Case) -> Iterator[Found]:
    for one in case.pairs.rounds:
        seen: Counter[str] = Counter()
        for call in one.calls:
            seen[call.id] += 1
            if call.id and seen[call.id] > 1:
                said = f"another call of the same message has the id {named(call.id)}"
                yield found(call, said, "give each call an id of its own, and its result the same one")
    if case.form == "openai-responses":
        yield from _items_twice(case)


def _items_twice(case: Case) -> Iterator[Found]:
    seen: set[str] = set()
    for place, raw in case.transcript.written:
        one = string(raw, "id")
        if one and string(raw, "type") not in ("item_reference", "local_shell_call_output"):
            if one in seen:
                yield found(place, f"an item before it has the id {named(one)}", "send each item once")
            seen.add(one)


@rule("id.reused", "note", "An id is used again for a later call")
def _reused(case: Case) -> Iterator[Found]:
    seen: dict[str, int] = {}
    for one in case.pairs.rounds:
        for call in one.calls:
            if call.id and seen.get(call.id, one.index) != one.index:
                said = f"an earlier call has the id {named(call.id)}"
                yield found(call, said, "tell calls apart by their place and not by their id")
        seen.update({call.id: one.index for call in one.calls})


@rule("result.duplicate", "error", "A call has two results", mended=True)
def _again(case: Case) -> Iterator[Found]:
    for result in case.pairs.again:
        what = result.name if result.kind == "functions" else result.id
        yield found(result, f"the call {named(what)} has a result already", "keep the one that was sent first")


@rule("result.place", "error", "A result does not stand directly behind its call", mended=True)
def _misplaced(case: Case) -> Iterator[Found]:
    for pair in case.pairs.pairs:
        if not pair.placed:
            said = f"the call of {named(pair.call)} is answered, but not in the message behind it"
            yield found(pair.result, said, "put all results of a message directly behind it, before anything else")


PAIR: tuple[Rule, ...] = (
    _unanswered,
    _open,
    _left_out,
    _orphan,
    _wrong,
    _no_id,
    _twice,
    _reused,
    _again,
    _misplaced,
)
