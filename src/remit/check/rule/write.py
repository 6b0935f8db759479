"""The rule about writes that were made twice.

Invariant: a write again is no repeat where the first one failed, or was taken back in between. It is told from names
and words, so it is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from remit.check.rule.outcome import failed, is_undo, is_write
from remit.check.rule.rule import Case, Found, Rule, found, named, rule
from remit.check.transcript import Call, Result
from remit.check.value import Object, load
from remit.errors import InputError

__all__ = ["WRITE"]

_MAKES = re.compile("book|charge|create|issue|open|order|pay|place|purchase|refund|reserve|schedule|send|submit|transfer|wire")
"""Of these a second one is one more; of others, such as `update`, it may be the next."""

_MANNER = re.compile(
    r"(^|_)(pay|paid|payments?|methods?|card|notes?|comments?|reason|memo|remark|timestamp|nonce|idempotency|metadata)(_|$)",
    re.IGNORECASE,
)
"""Members that say how something is done, and not what or for whom."""

_LEAST = 3
_TOKEN = re.compile(r"[A-Za-z0-9_-]{4,}")


@dataclass(frozen=True, slots=True)
class _Done:
    """A write that succeeded and stands."""

    call: Call
    values: Object
    result: Result


@rule("write.repeated", "warning", "The same write was made twice")
def _twice(case: Case) -> Iterator[Found]:
    done: list[_Done] = []
    for pair in case.pairs.pairs:
        call = pair.call
        if not call.name or failed(pair.result):
            continue
        if is_undo(call.name):
            done = [one for one in done if not _undoes(call, one)]
        if not is_write(call.name):
            continue
        new = _Done(call, _values(call), pair.result)
        how = next((how for one in reversed(done) if (how := _repeats(one, new)) is not None), None)
        if how is not None:
            said = f"{named(call)} succeeded before with the same arguments{how}, and was run again"
            yield found(call, said, "give the write a key of its own, so that the second one is answered with the first")
        done.append(new)


def _values(call: Call) -> Object:
    try:
        value = load(call.arguments)
    except InputError:
        return {}
    return value if isinstance(value, dict) else {}


def _repeats(one: _Done, new: _Done) -> str | None:
    """In what a write differs from an earlier one that it repeats; None where it repeats none."""
    if one.call.name != new.call.name:
        return None
    if one.call.asked == new.call.asked:
        return ""
    keys = {*one.values, *new.values}
    other = [key for key in sorted(keys) if one.values.get(key) != new.values.get(key)]
    makes = any(_MAKES.fullmatch(word) for word in re.findall("[a-z]+", new.call.name.lower()))
    if makes and len(keys) > _LEAST and len(other) == 1 and _MANNER.search(other[0]):
        return f" but `{other[0]}`"
    return None


def _undoes(call: Call, one: _Done) -> bool:
    """Whether a call names what an earlier one made: a word of its result that was not in its arguments."""
    values = " ".join(value for value in _values(call).values() if isinstance(value, str))
    made = {*_TOKEN.findall(one.result.text)} - {*_TOKEN.findall(one.call.arguments)}
    return bool(made & {*_TOKEN.findall(values)})


WRITE: tuple[Rule, ...] = (_twice,)
