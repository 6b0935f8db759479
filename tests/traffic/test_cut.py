"""A stream that is cut at any byte: nothing of it runs, and the run asks again and ends as if it had not been cut."""

from __future__ import annotations

import asyncio
import re
from itertools import accumulate, cycle
from typing import Any

import pytest

from remit import Finished, ambient
from remit.errors import ProtocolError
from remit.testing import fault
from remit.types.model import Gather, ProtocolName, Reply
from remit.wire import wire_for
from traffic.exchange import Exchange, listed, recorded, streamed
from traffic.office import Part, office
from traffic.test_replies import gather, read, runnable

TEN = (
    "anthropic-sdk-2",
    "anthropic-sdk-3",
    "vercel-fixtures-16",
    "vercel-fixtures-19",
    "openai-chat-0",
    "openai-chat-1",
    "openai-chat-4",
    "openai-responses-52",
    "openai-responses-53",
    "vercel-fixtures-29",
)
ENDS: tuple[fault.End, ...] = ("torn", "reset", "clean")
SPREAD = 12
"""How many cuts beside those at the borders of events a run is tried with, for each stream."""


SAYS_ITS_END: dict[ProtocolName, re.Pattern[bytes]] = {
    "anthropic": re.compile(rb'"type":"message_stop"'),
    "openai-chat": re.compile(rb"^data: \[DONE\]"),
    "openai-responses": re.compile(rb'"type":"response\.(completed|incomplete|failed)"'),
}
GIVES_ITS_REASON = re.compile(rb'"finish_reason":"')


def chosen() -> dict[str, Exchange]:
    """All that are written here, and ten recorded ones."""
    return {one.name: one for one in streamed() if one.name.startswith("written-") or one.name in TEN}


def is_whole(protocol: ProtocolName, stream: bytes) -> bool:
    """Whether so much of a stream is a whole reply: an event said its end, or Chat gave its reason and broke no event off."""
    *events, rest = stream.split(b"\n\n")
    if says_its_end(protocol, stream):
        return True
    reasoned = protocol == "openai-chat" and any(GIVES_ITS_REASON.search(event) for event in events)
    return reasoned and rest.strip() in (b"", b"data: [DONE]")


def says_its_end(protocol: ProtocolName, stream: bytes) -> bool:
    """Whether so much of a stream says that its reply is whole."""
    *events, _ = stream.split(b"\n\n")
    return any(SAYS_ITS_END[protocol].search(event) for event in events)


def cuts_of(exchange: Exchange) -> dict[str, tuple[int, fault.End]]:
    """Where a stream is cut and how, by a name: each way where it is whole, else one after the other."""
    stream, ends = exchange.stream, cycle(ENDS)
    places = {*borders(stream), *(at - 1 for at in borders(stream)), *range(0, len(stream), max(1, len(stream) // SPREAD))}
    whole = {at for at in places if is_whole(exchange.protocol, stream[:at])}
    cuts: list[tuple[int, fault.End]] = [(at, end) for at in sorted(places) for end in (ENDS if at in whole else (next(ends),))]
    return {f"{at}-{end}": (at, end) for at, end in cuts}


def borders(stream: bytes) -> list[int]:
    """Where its events end."""
    return list(accumulate(len(event) + 2 for event in stream.split(b"\n\n")))[:-1]


def so_far(exchange: Exchange, growing: Gather) -> Reply | None:
    """What a stream reads as where it is whole."""
    try:
        return read(exchange, growing.body())
    except ProtocolError as error:
        if error.code != "stream.cut" or not error.retryable:
            raise
        return None


def test_up_to_any_byte_a_stream_is_cut_or_all_that_it_says() -> None:
    """Over one gather that is fed byte by byte."""
    for exchange in chosen().values():
        full = read(exchange, gather(exchange))
        growing = wire_for(exchange.protocol).gather({})
        for at in range(len(exchange.stream)):
            growing.feed(exchange.stream[at : at + 1])
            reply = so_far(exchange, growing)
            whole = is_whole(exchange.protocol, exchange.stream[: at + 1])
            assert (reply is not None) == whole, (exchange.name, at)
            if reply is not None:
                assert (reply.text, reply.calls, reply.stop, reply.mends) == (full.text, full.calls, full.stop, full.mends)
                assert reply.wording == full.wording
        assert is_whole(exchange.protocol, exchange.stream)
    assert len(chosen()) == 6 + recorded(10)


@pytest.mark.parametrize("name", chosen())
def test_wherever_it_is_cut_nothing_of_it_runs_and_the_run_goes_on_and_ends(name: str) -> None:
    """What said that it is whole is taken however the connection ends; all else is asked again.

    A reply of Chat that gave its reason and not its end is whole where the connection ends cleanly. A reset may take
    bytes with it that were sent: then the end was not heard.
    """
    exchange = chosen()[name]
    stream, full = exchange.stream, read(exchange, gather(exchange))
    cuts = cuts_of(exchange)

    def again(asked: dict[str, Any]) -> bytes | str:
        return stream if len(listed(exchange.protocol, asked)) == 1 else "Fine."

    parts = {
        name: Part(exchange.protocol, [fault.cut(stream, at, end=end), again], {call.name for call in full.calls})
        for name, (at, end) in cuts.items()
    }

    async def story() -> None:
        async with office(parts, stream=True, writes=True) as desk:
            for name, (at, end) in cuts.items():
                before = len(desk.effects)
                standing = await desk.run(name)
                assert isinstance(standing, Finished), (name, standing)
                assert standing.open_operations == ()
                assert desk.effects[before:] == runnable(full), name
                bodies = desk.bodies(name)
                is_asked_again = len(bodies) - bool(full.calls) == 2
                said = says_its_end(exchange.protocol, stream[:at])
                taken = said or (end == "clean" and is_whole(exchange.protocol, stream[:at]))
                assert is_asked_again != taken or (said and end == "reset"), name
                if is_asked_again:
                    assert bodies[0] == bodies[1], "the request is asked again as it was"
                if full.calls:
                    assert full.wording.encode() in bodies[-1]
            assert desk.provider.broken == []

    with ambient.use(ambient.Seeded()):
        asyncio.run(story())
    assert len(cuts) > len(borders(stream))
