"""Rules about what was done: loops, writes made twice, calls that should not have run, claims that nothing supports.

Invariant: pure checks. They are told from words and shapes, so they say what looks wrong, as warnings; where words
decide, the lists are here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from remit.check.pair import Pair
from remit.check.rule.outcome import failed, is_general, words_of
from remit.check.rule.rule import Case, Found, Rule, found, named, rule
from remit.check.transcript import Call, Message, Refused, Result, Text

__all__ = ["CONDUCT"]

_ROUNDS = 50
_SAME = 3


@rule("loop.no_progress", "warning", "The same call brings the same result again and again")
def _stuck(case: Case) -> Iterator[Found]:
    run: list[Pair] = []
    for pair in case.pairs.pairs:
        same = run and _key(run[-1].call) == _key(pair.call) and run[-1].result.text == pair.result.text
        run = [*run, pair] if same else [pair]
        if len(run) == _SAME:
            said = f"{named(pair.call)} was called {_SAME} times in a row with the same arguments and the same result"
            yield found(pair.call, said, "count equal calls, and tell the model or stop at a limit")


@rule("loop.long", "note", "Very many rounds of calls for one message")
def _long(case: Case) -> Iterator[Found]:
    rounds = 0
    for message in case.transcript.messages:
        rounds = 0 if message.role == "user" else rounds + bool(message.calls)
        if rounds == _ROUNDS + 1 and message.calls:
            said = f"more than {_ROUNDS} rounds of calls follow one message"
            yield found(message.calls[0], said, "bound the rounds, and say what happens at the bound")
            rounds += 1


def _key(call: Call) -> tuple[str, str]:
    return call.name, call.asked


@rule("call.after_refusal", "error", "A call of a refused or cut reply was run")
def _refused(case: Case) -> Iterator[Found]:
    for message, stop in _stopped(case):
        results = [result for call in message.calls if (result := case.pairs.result_of(call)) is not None]
        if any(not _untold(result) for result in results):
            said = f"the reply ended with {named(stop)}, and its call was answered as if it were whole"
            yield found(message.calls[0], said, "run no call of such a reply; answer it as not run")


_BROKEN = ("refusal", "content_filter", "max_tokens", "length", "max_output_tokens", "model_context_window_exceeded")


def _stopped(case: Case) -> Iterator[tuple[Message, str]]:
    """Messages with calls whose reply was refused or cut, and how."""
    for message in case.transcript.messages:
        if message.calls:
            was = [one.stop for call in message.calls if (one := case.memory.heard(call)) is not None]
            stop = message.stop or next(iter(was), "")
            if any(isinstance(one, Refused) for one in message.said):
                yield message, "refusal"
            elif stop in _BROKEN:
                yield message, stop


def _untold(result: Result) -> bool:
    """Whether a result says that the call was not run."""
    return failed(result) or re.search(r"not (run|executed)|truncated|cut off", result.text, re.IGNORECASE) is not None


_DONE = {
    "book": "booked reserved",
    "cancel": "cancelled canceled",
    "refund": "refunded",
    "send": "sent emailed messaged",
    "delete": "deleted removed",
    "create": "created opened",
    "update": "updated changed modified",
    "pay": "paid charged",
    "transfer": "transferred",
    "deploy": "deployed",
    "schedule": "scheduled rescheduled",
    "post": "posted published",
}
_PARTICIPLES = {one: verb for verb, several in _DONE.items() for one in several.split()}
_CLAIM = re.compile(
    r"\b(?:I have|I've|I just|we have|we've)\s+(?:now |just |already |successfully |also )*"
    rf"({'|'.join(_PARTICIPLES)})\b",
    re.IGNORECASE,
)
_SUPPORTS = {
    "book": "book reserve purchase order create",
    "cancel": "cancel delete remove update withdraw",
    "refund": "refund cancel send credit",
    "send": "send email mail message post reply transfer notify",
    "delete": "delete remove rm drop unshare cancel",
    "create": "create add new open insert write make book post push put",
    "update": "update edit modify change set patch write replace put move add remove",
    "pay": "pay charge transfer send book purchase wire",
    "transfer": "transfer send move wire pay",
    "deploy": "deploy release apply push restart",
    "schedule": "schedule reschedule create book add update",
    "post": "post publish send create comment reply add write",
}


@rule("claim.unsupported", "warning", "An action is claimed that no call supports")
def _claimed(case: Case) -> Iterator[Found]:
    if not case.transcript.tools and not case.transcript.calls:
        return
    good: Counter[str] = Counter()
    results = {id(pair.call): pair.result for pair in case.pairs.pairs}
    for message in case.transcript.messages:
        for call in message.calls:
            result = results.get(id(call))
            if result is None or not failed(result):
                good.update(words_of(call.name))
                good.update(words_of(call.arguments) if is_general(call.name) else ())
        if message.role == "assistant":
            yield from _claims(message, good)


def _claims(message: Message, good: Counter[str]) -> Iterator[Found]:
    for item in message.said:
        for claim in _CLAIM.finditer(item.text) if isinstance(item, Text) else ():
            verb = _PARTICIPLES[claim[1].lower()]
            if not any(good[word] for word in _SUPPORTS[verb].split()):
                said = f"the model says that it has {claim[1].lower()} something, and no call before it does that"
                yield found(item, said, "check the claim against what was run, before anybody reads it")
                return


@rule("result.empty", "warning", "An empty result is taken for an error")
def _empty(case: Case) -> Iterator[Found]:
    pairs: Sequence[Pair] = case.pairs.pairs
    for index, pair in enumerate(pairs):
        if not _nothing(pair.result):
            continue
        mend = 'say in words what there is not, for example `{"found": 0}`, and do not flag it as an error'
        if pair.result.error is True:
            yield found(pair.result, "an empty result is flagged as an error", mend)
        elif index + 1 < len(pairs) and _key(pairs[index + 1].call) == _key(pair.call):
            yield found(pair.result, f"the result is empty, and {named(pair.call)} was called again at once", mend)


def _nothing(result: Result) -> bool:
    plain = all(isinstance(one, Text) for one in result.said)
    return plain and result.text.strip() in ("", "[]", "{}", "null", "None", '""')


CONDUCT: tuple[Rule, ...] = (_stuck, _long, _refused, _claimed, _empty)
