"""What a failed attempt wrote is gone at once, and a response that is closed leaves its run's stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from behaviour.shop import ALICE, Shop, play, support
from remit import Finished, MemoryLedger, Remit, ScriptedModel, sse
from remit.types.event import ModelRequested
from remit.types.ident import RunId
from remit.types.stream import Delta, Retracted, Step


def test_what_a_failed_attempt_wrote_is_heard_by_nobody_who_comes_while_the_next_one_waits() -> None:
    ledger = MemoryLedger()
    heard: list[list[Delta]] = []

    async def first(body: dict[str, object]) -> object:
        return ScriptedModel.turn("Half of the answer, and more of it", cut=8)

    async def second(body: dict[str, object]) -> str:
        [run] = await ledger.runs()
        asked = [one.sequence for one in await ledger.read(run.id) if isinstance(one.event, ModelRequested)]
        assert len(asked) == 2
        heard.append(await ledger.deltas(run.id, after=asked[0]))
        return "The answer."

    async def story() -> None:
        agent = support(ScriptedModel([first, second]), stream=True)  # type: ignore[list-item]
        async with Remit(ledger=ledger, agents=[agent], deps=Shop()) as remit:
            steps = [one async for one in remit.stream("support", "hi", principal=ALICE)]
            assert isinstance(steps[-1], Finished)
            assert "Half" in "".join(one.text for one in steps if isinstance(one, Delta))
            assert any(isinstance(one, Retracted) for one in steps)

    play(story)
    assert heard == [[]]


def test_a_response_that_is_closed_between_two_steps_closes_its_source() -> None:
    closed = asyncio.Event()

    async def steps() -> AsyncIterator[Step]:
        try:
            yield Retracted(run=RunId("run_1"), turn=1, attempt=1)
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def story() -> None:
        source = steps()
        response = sse(source)
        assert (await anext(response)).startswith("event: retracted\n")
        await response.aclose()
        assert closed.is_set()

    play(story, seeded=False)
