"""Cutting a transcript so that only closed rounds are in it.

Invariant: what is kept is the document's own text, byte for byte; no call is kept without its results and no result
without its call.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.canonical import item_spans
from remit.check.pair import pairs_of
from remit.check.source import Document, read
from remit.check.transcript import Call, Result, Transcript
from remit.check.value import Page, listed, steps
from remit.errors import InputError

__all__ = ["Kept", "cut"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a cut leaves: the text, how many messages or items are in it, and how many are not."""

    text: str
    kept: int
    dropped: int


def cut(document: Document, *, last: int | None = None, before: str | None = None) -> Kept:
    """Keep the end of a transcript, or its beginning.

    Both are moved inwards to where no round is open. Instructions in front of the conversation stay.

    Args:
        document: a request or a list of messages.
        last: keep at most so many of the last messages or items.
        before: keep what stands before this place (a JSON Pointer), a message or something in it.

    Raises:
        InputError: `check.cut`: there are no messages to cut, or the place is in none of them.
    """
    transcript, whole = read(document), document.whole
    has_list = whole is not None and isinstance(whole.messages, list) and whole.page.text != ""
    if transcript is None or whole is None or not has_list or document.what not in ("request", "messages"):
        raise InputError("a request or a list of messages can be cut, and this is none", code="check.cut")
    page = Page(document.text.removeprefix("\ufeff"), document.value)
    found = _listed(page, whole.place)
    head = _head(transcript, whole.place, len(found))
    rounds, broken = _rounds(transcript, whole.place)
    good = _fit(transcript, whole.place, rounds, len(found))
    if before is not None:
        index = _index(before, whole.place)
        if index is None or index >= len(found):
            raise InputError(f"--cut: {before} is in none of the messages", code="check.cut")
        limit = min([index, *(first for first, _ in broken)])
        end = max((one for one in good if one <= limit), default=0)
        return _kept(page, whole.place, [(0, max(end, head))], len(found))
    end = _end(broken, len(found))
    least = max([head, end - max(0, last or 0), *(stop + 1 for _, stop in broken if stop < end)])
    start = next((one for one in good if one >= least), end)
    return _kept(page, whole.place, [(0, head), (min(start, end), end)], len(found))


def _end(broken: list[tuple[int, int]], count: int) -> int:
    """Where what is open at the end begins."""
    for first, last in sorted(broken, reverse=True):
        if last >= count - 1:
            count = first
    return count


def _listed(page: Page, place: str) -> list[object]:
    value = page.value
    for step in steps(place, page.value):
        value = value[step] if isinstance(value, list) and isinstance(step, int) else value
        value = value.get(step) if isinstance(value, dict) and isinstance(step, str) else value
    return [*listed(value)]


def _index(place: str, base: str) -> int | None:
    head = place.removeprefix(base + "/").split("/")[0] if place.startswith(base + "/") else ""
    return int(head) if head.isdigit() else None


def _head(transcript: Transcript, place: str, count: int) -> int:
    """How many messages in front are instructions."""
    first = [_index(one.places[0], place) for one in transcript.messages if one.places]
    return min((one for one in first if one is not None), default=count) if transcript.system else 0


def _fit(transcript: Transcript, place: str, rounds: list[tuple[int, int]], count: int) -> list[int]:
    """Between which messages a cut parts no call from its result, and no thought from what it led to."""
    starts = _starts(transcript, place) | {count}
    inside = {one for first, last in rounds for one in range(first + 1, last + 1)}
    return [one for one in range(count + 1) if one in starts and one not in inside]


def _starts(transcript: Transcript, place: str) -> set[int]:
    """Where a message begins, as the parties count them; the rest of one of the document's messages is no beginning."""
    found: set[int] = set()
    before = ""
    for message in transcript.messages:
        index = _index(message.places[0], place) if message.places else None
        if index is not None and message.places[0] != before:
            found.add(index)
        before = message.places[-1] if message.places else ""
    return found


_Spans = list[tuple[int, int]]
"""First and last messages."""


def _rounds(transcript: Transcript, place: str) -> tuple[_Spans, _Spans]:
    """All rounds, and what is broken: rounds with a call that has no result, results without a call."""
    pairs = pairs_of(transcript)
    found: _Spans = []
    broken: _Spans = []
    for one in pairs.rounds:
        ids = {call.id for call in one.calls}
        items: list[Call | Result] = [*one.calls]
        items += [result for call in one.calls if (result := pairs.result_of(call)) is not None]
        items += [result for result in pairs.again if result.id in ids]
        places = [index for item in items if (index := _index(item.place, place)) is not None]
        places += [index for at in transcript.messages[one.index].places[:1] if (index := _index(at, place)) is not None]
        if places:
            found.append((min(places), max(places)))
            broken += found[-1:] if any(call.waits for call in one.open) else []
    lost = [index for result, _ in pairs.lost if (index := _index(result.place, place)) is not None]
    broken += [(index, index) for index in lost if not transcript.reaches]
    referred = [_index(at, place) for at, raw in transcript.written if raw.get("type") == "item_reference"]
    first = min((one for one in referred if one is not None), default=None)
    found += [(first, index) for index in lost if first is not None and first < index]
    return found, broken


def _kept(page: Page, place: str, ranges: list[tuple[int, int]], count: int) -> Kept:
    start, end = page.span(place)
    items = item_spans(page.text, start)
    kept = [index for first, last in ranges for index in range(first, last)]
    if len(kept) == count:
        return Kept(page.text, count, 0)
    first_at = items[0][0] if items else start + 1
    last_at = items[-1][1] if items else end - 1
    gaps = [page.text[items[index][1] : items[index + 1][0]] for index in range(len(items) - 1)]
    pieces: list[str] = []
    for position, index in enumerate(kept):
        pieces.append(page.text[slice(*items[index])])
        if position < len(kept) - 1:
            pieces.append(gaps[min(index, len(gaps) - 1)])
    return Kept(page.text[:first_at] + "".join(pieces) + page.text[last_at:], len(kept), count - len(kept))
