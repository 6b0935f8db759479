"""A recorded stream that is cut at any byte: nothing of it runs, and the run asks again and ends as if it had not been cut."""

from __future__ import annotations

import asyncio
from itertools import accumulate, cycle
from typing import Any

import pytest

from remit import Finished, ambient
from remit.errors import ProtocolError
from remit.testing import fault
from remit.types.model import Gather, Reply
from remit.wire import wire_for
from traffic.exchange import Exchange, listed, streamed
from traffic.office import Part, office
from traffic.test_replies import gather, read, runnable
from wire.corpus import ROOT, WHY

pytestmark = pytest.mark.skipif(not ROOT, reason=WHY)

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


def chosen() -> list[Exchange]:
    return [one for one in streamed() if one.name in TEN]


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
    """Over one gather that is fed byte by byte. Chat is whole once it gave a reason, wherever an event has ended."""
    tried = 0
    for exchange in chosen():
        full = read(exchange, gather(exchange))
        growing = wire_for(exchange.protocol).gather({})
        whole = False
        for at in range(len(exchange.stream)):
            growing.feed(exchange.stream[at : at + 1])
            tried += 1
            reply = so_far(exchange, growing)
            if reply is None:
                assert not whole or exchange.protocol == "openai-chat", (exchange.name, at)
                continue
            whole = True
            assert (reply.text, reply.calls, reply.stop, reply.mends) == (full.text, full.calls, full.stop, full.mends)
            assert reply.wording == full.wording
        assert whole
    print(f"{tried} cuts in {len(TEN)} recorded streams")
    assert len(chosen()) == 10


@pytest.mark.parametrize("name", TEN)
def test_wherever_it_is_cut_nothing_of_it_runs_and_the_run_goes_on_and_ends(name: str) -> None:
    (exchange,) = (one for one in chosen() if one.name == name)
    stream, full = exchange.stream, read(exchange, gather(exchange))
    step = max(1, len(stream) // SPREAD)
    places = sorted({*borders(stream), *(at - 1 for at in borders(stream)), *range(0, len(stream), step)})
    cuts = dict(zip(map(str, places), cycle(ENDS), strict=False))

    def again(asked: dict[str, Any]) -> bytes | str:
        return stream if len(listed(exchange.protocol, asked)) == 1 else "Fine."

    parts = {
        at: Part(exchange.protocol, [fault.cut(stream, int(at), end=end), again], {call.name for call in full.calls})
        for at, end in cuts.items()
    }

    async def story() -> None:
        async with office(parts, stream=True, writes=True) as desk:
            for at in cuts:
                before = len(desk.effects)
                standing = await desk.run(at)
                assert isinstance(standing, Finished), (at, standing)
                assert standing.open_operations == ()
                assert desk.effects[before:] == runnable(full), at
                bodies = desk.bodies(at)
                cut = len(bodies) - bool(full.calls) == 2
                assert cut or int(at) > len(stream) // 2, "a stream that was all there is not asked for again"
                if cut:
                    assert bodies[0] == bodies[1], "the request is asked again as it was"
                if full.calls:
                    assert full.wording.encode() in bodies[-1]
            assert desk.provider.broken == []

    with ambient.use(ambient.Seeded()):
        asyncio.run(story())
    print(f"{len(cuts)} runs over {name}")
