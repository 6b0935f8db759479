"""Server-sent events: whatever the line ends and however the bytes come, the same events and no half ones."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.errors import ProtocolError
from remit.wire.sse import Events, Frame

STREAM = (
    b"\xef\xbb\xbf: a comment\nevent: one\ndata: {}\n\n"
    b"data:no space\ndata:  two\ndata\n\n"
    b"id: 7\nretry: 5\nunknown: x\ndata: last \xc3\xa9\n\n"
    b"event: nothing\n\ndata: end\n\n"
)
EVENTS: list[Frame] = [
    ("one", b"{}"),
    ("", b"no space\n two\n"),
    ("", b"last \xc3\xa9"),
    ("", b"end"),
]


def fed(*chunks: bytes, most: int = 1000) -> list[Frame]:
    events = Events(most)
    return [event for chunk in chunks for event in events.feed(chunk)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_may_end_in_three_ways(end: bytes) -> None:
    assert fed(STREAM.replace(b"\n", end)) == EVENTS


@given(st.sampled_from([b"\n", b"\r", b"\r\n"]), st.lists(st.integers(0, len(STREAM) + 20), max_size=12))
@settings(deadline=None)
def test_the_bytes_may_be_cut_anywhere(end: bytes, cuts: list[int]) -> None:
    raw = STREAM.replace(b"\n", end)
    places = [0, *sorted(cuts), len(raw)]
    assert fed(*(raw[first:last] for first, last in pairwise(places))) == EVENTS


def test_a_carriage_return_that_is_followed_by_text_joins_no_line_feed_of_the_next_piece() -> None:
    assert fed(b"data: a\rdata: b", b"\n\n") == fed(b"data: a\rdata: b\n\n") == [("", b"a\nb")]


def test_an_event_comes_as_soon_as_its_blank_line_does() -> None:
    events = Events()
    assert events.feed(b"data: a\r\n\r") == [("", b"a")]
    assert events.feed(b"\ndata: b\r\n") == []
    assert events.pending == b"b"
    assert events.feed(b"\r\n") == [("", b"b")]
    assert events.pending is None


@pytest.mark.parametrize("rest", [b"d", b"data: x", b"data: x\n", b"event: x\n"])
def test_what_has_no_end_gives_nothing_and_is_pending(rest: bytes) -> None:
    events = Events()
    assert events.feed(b"data: a\n\n" + rest) == [("", b"a")]
    assert events.pending is not None


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: " + b"x" * 20],
        [b"data: "] + [b"x"] * 20,
        [b"data: " + b"x" * 20 + b"\n"],
        [b"data: xxxx\n"] * 6,
        [b"data: " + b"x" * 20 + b"\n\n"],
        [b": " + b"x" * 20],
    ],
)
def test_an_event_without_end_is_refused(chunks: list[bytes]) -> None:
    with pytest.raises(ProtocolError) as caught:
        fed(*chunks, most=16)
    assert caught.value.code == "stream.size"


def test_many_events_are_no_long_one() -> None:
    assert fed(b"data: xxxx\n\n" * 100, most=16) == [("", b"xxxx")] * 100
