"""Streams: what is being written beside the committed events, from this and from other processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, lookup_order, play, refund_tool, support, until
from remit import (
    Conflict,
    Delta,
    Finished,
    InputError,
    MemoryLedger,
    NotFound,
    Paused,
    Remit,
    RemitError,
    Retracted,
    ScriptedModel,
    SqliteLedger,
    call,
)
from remit.errors import ModelError
from remit.types.event import ModelRequested, Recorded, Replied, RequestFailed, Resumed, RunEnded, Waiting
from remit.types.ident import RunId
from remit.types.model import Streaming

REFUND = call("issue_refund", charge_id="ch_1", amount_cents=4_900)
BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
LONG = "The refund of 49.00 is booked, and you will see it in two days. " * 4
PROTOCOLS = ("anthropic", "openai-chat", "openai-responses")


class Slow:
    """Replies with a long text and, until it is let go, holds the reply after this one."""

    def __init__(self) -> None:
        self.asked = 0
        self.go = asyncio.Event()

    async def __call__(self, body: dict[str, object]) -> str:
        self.asked += 1
        await self.go.wait()
        return LONG


async def all_of(steps: AsyncIterator[object]) -> list[object]:
    return [one async for one in steps]


def texts(steps: list[object]) -> str:
    return "".join(one.text for one in steps if isinstance(one, Delta) and one.kind == "text")


def events(steps: list[object]) -> list[Recorded]:
    return [one for one in steps if isinstance(one, Recorded)]


def check_order(steps: list[object]) -> None:
    """Deltas stand between the request that they answer and its reply, counted from 0, and retracted ones are nothing."""
    asked: Recorded | None = None
    index = 0
    for step in steps:
        if isinstance(step, Recorded):
            if isinstance(step.event, ModelRequested):
                asked, index = step, 0
            elif isinstance(step.event, Replied | RequestFailed | Resumed | RunEnded):
                asked = None
        elif isinstance(step, Delta):
            assert asked is not None
            assert step.after == asked.sequence
            assert step.index == index
            index += 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("durable", [False, True])
def test_a_stream_gives_events_what_is_written_between_them_and_last_how_the_run_stands(
    protocol: str, durable: bool, tmp_path: Path
) -> None:
    shop = Shop()
    model = ScriptedModel([("I look.", [call("lookup_order", order_id="A-1")]), REFUND, LONG], protocol=protocol)  # type: ignore[arg-type]

    async def story() -> None:
        ledger = SqliteLedger(tmp_path / "r.db") if durable else MemoryLedger()
        async with Remit(ledger=ledger, agents=[support(model)], deps=shop) as remit:
            steps = await all_of(remit.stream("support", "refund ch_1", principal=ALICE))
            last = steps[-1]
            assert isinstance(last, Finished)
            assert last == await remit.standing(last.id)
            assert events(steps) == await remit.events(last.id)
            check_order(steps)
            assert texts(steps) == "I look." + LONG
            assert all(b'"stream":true' in one.replace(b" ", b"") for one in model.requests)

    play(story)
    assert shop.refunds == [("ch_1", 4_900)]


def test_a_text_comes_in_pieces_while_it_is_written_and_a_call_by_its_name() -> None:
    seen: list[object] = []
    slow = Slow()
    model = ScriptedModel([("Let me see.", [call("lookup_order", order_id="A-1")]), slow])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:

            async def listen() -> None:
                async for step in remit.stream("support", "look", principal=ALICE):
                    seen.append(step)

            listening = asyncio.ensure_future(listen())
            await until(lambda: slow.asked == 1)
            slow.go.set()
            await listening
        assert len([one for one in seen if isinstance(one, Delta) and one.kind == "text"]) > 4
        assert [one.text for one in seen if isinstance(one, Delta) and one.kind == "call"] == ["lookup_order"]

    play(story, seeded=False)


def test_nobody_listening_nothing_is_streamed_and_an_agent_may_say_otherwise() -> None:
    quiet, loud = ScriptedModel(lambda _: LONG), ScriptedModel(lambda _: LONG)

    async def story() -> None:
        for model, changes in ((quiet, {}), (loud, {"stream": True})):
            agent = support(model, **changes)
            async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
                assert isinstance(await remit.run("support", "hi", principal=ALICE), Finished)
        assert b'"stream"' not in quiet.requests[0]
        assert b'"stream"' in loud.requests[0]
        assert support(quiet).digest == support(quiet, stream=True).digest

    play(story)


def test_a_follower_in_another_process_hears_and_one_that_comes_late_hears_from_the_start(tmp_path: Path) -> None:
    go = asyncio.Event()
    path = tmp_path / "r.db"

    class Pausing(ScriptedModel):
        """Stops in the middle of its first stream until it is let go."""

        async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
            pieces = 0

            def hear(piece: object) -> None:
                nonlocal pieces
                pieces += 1
                stream.on_piece(piece)
                if pieces == 3:
                    raise StopIteration

            if stream is None or go.is_set():
                return await super().ask(body, stream)
            whole = await super().ask(body, replace(stream, on_piece=hear))
            await go.wait()
            return whole

    async def story() -> None:
        agent = support(Pausing([LONG]), stream=True)
        async with (
            Remit(ledger=path, agents=[agent], deps=Shop()) as remit,
            Remit(ledger=path) as reader,
        ):
            run = await remit.submit("support", "hi", principal=ALICE)
            first: list[object] = []
            late: list[object] = []

            async def listen(to: list[object], after: int) -> None:
                async for step in reader.follow(run.id, after, ALICE, deltas=True):
                    to.append(step)

            one = asyncio.ensure_future(listen(first, 0))
            await until(lambda: bool(texts(first)))
            begun = len(await reader.events(run.id))
            two = asyncio.ensure_future(listen(late, begun))
            await until(lambda: bool(texts(late)))
            assert LONG.startswith(texts(late))
            assert texts(late) != LONG
            go.set()
            await asyncio.gather(one, two)
            for steps in (first, late):
                assert texts(steps) == LONG
            check_order(first)
            assert events(first) == await reader.events(run.id)

    play(story, seeded=False)


def test_what_a_failed_attempt_wrote_is_retracted_and_the_next_one_begins_anew() -> None:
    cut = ScriptedModel.turn(LONG, cut=6)
    model = ScriptedModel([cut, LONG])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            steps = await all_of(remit.stream("support", "hi", principal=ALICE))
            assert isinstance(steps[-1], Finished)
            check_order(steps)
            attempts = {one.attempt for one in steps if isinstance(one, Delta)}
            retracted = [one.attempt for one in steps if isinstance(one, Retracted)]
            assert retracted == ([1] if 1 in attempts else [])
            assert texts([one for one in steps if getattr(one, "attempt", 0) == 2]) == LONG

    play(story, seeded=False)


def test_what_a_dead_process_wrote_is_retracted_for_those_who_heard_it_and_who_may_have(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    stuck = asyncio.Event()

    class Dying(ScriptedModel):
        async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
            whole = await super().ask(body, stream)
            if not stuck.is_set():
                stuck.set()
                await asyncio.Event().wait()
            return whole

    async def story() -> None:
        agent = support(Dying(lambda _: LONG), stream=True)
        heard: list[object] = []
        late: list[object] = []
        async with Remit(ledger=path) as reader:

            async def listen(to: list[object], after: int) -> None:
                async for step in reader.follow(run.id, after, deltas=True):
                    to.append(step)

            async with Remit(ledger=path, agents=[agent], deps=Shop(), drain_s=0) as remit:
                run = await remit.submit("support", "hi", principal=ALICE)
                listening = asyncio.ensure_future(listen(heard, 0))
                await until(lambda: bool(texts(heard)))
                before = len(await reader.events(run.id))
            async with Remit(ledger=path, agents=[agent], deps=Shop()) as remit:
                assert isinstance(await remit.run_to_end(run.id), Finished)
                await listening
                await listen(late, before)
                await listen(fresh := [], before - 1)
        assert [one.attempt for one in heard if isinstance(one, Retracted)] == [1]
        assert [one.attempt for one in late if isinstance(one, Retracted)] == [1]  # who comes back may have heard it
        assert [one for one in fresh if isinstance(one, Retracted)] == []
        place = next(number for number, one in enumerate(heard) if isinstance(one, Retracted))
        assert isinstance(heard[place + 1], Recorded)
        assert isinstance(heard[place + 1].event, Resumed)  # type: ignore[union-attr]
        assert texts(heard[place:]) == texts(late) == LONG

    play(story, seeded=False)


def test_whoever_stops_listening_changes_nothing_for_the_run() -> None:
    slow = Slow()
    model = ScriptedModel([REFUND, slow])
    shop = Shop()

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=shop) as remit:
            steps = remit.stream("support", "refund", principal=ALICE, request_id="r")
            first = await anext(steps)
            assert isinstance(first, Recorded)
            await steps.aclose()

            async def listen() -> None:
                async for _ in remit.stream("support", "refund", principal=ALICE, request_id="r"):
                    pass

            listening = asyncio.ensure_future(listen())
            await until(lambda: slow.asked == 1)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            slow.go.set()
            assert isinstance(await remit.run_to_end(first.run), Finished)

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 4_900)]


def test_the_same_request_again_joins_the_stream_of_its_run() -> None:
    slow = Slow()

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(ScriptedModel([slow]))], deps=Shop()) as remit:

            async def listen(text: str = "hi") -> list[object]:
                return await all_of(remit.stream("support", text, principal=ALICE, request_id="r"))

            both = [asyncio.ensure_future(listen()) for _ in range(2)]
            await until(lambda: slow.asked == 1)
            slow.go.set()
            one, two = await asyncio.gather(*both)
            again = await listen()
            assert events(one) == events(two) == events(again)
            assert one[-1] == two[-1] == again[-1]
            assert texts(one) == texts(two) == texts(again) == LONG
            with pytest.raises(Conflict):
                await listen("something else")

    play(story)
    assert slow.asked == 1


def test_a_paused_run_ends_the_stream_and_a_follower_waits_on() -> None:
    model = ScriptedModel([("I ask.", [BIG]), LONG])

    async def story() -> None:
        agent = support(model, refund_tool(approve=APPROVED_ABOVE_50), lookup_order)
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            steps = await all_of(remit.stream("support", "refund", principal=ALICE, conversation="t"))
            paused = steps[-1]
            assert isinstance(paused, Paused)
            assert isinstance(events(steps)[-1].event, Waiting)
            queued = await all_of(remit.stream("support", "and?", principal=ALICE, conversation="t"))
            assert isinstance(queued[-1], Paused)
            assert queued[-1].queued
            followed = asyncio.ensure_future(all_of(remit.follow(paused.id, deltas=True)))
            await remit.decide(paused.approvals[0], allow=True, by=BOB)
            assert texts(await followed) == "I ask." + LONG

    play(story)


def test_a_run_that_is_over_is_read_with_each_text_in_one_piece() -> None:
    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(ScriptedModel([REFUND, LONG]))], deps=Shop()) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            steps = await all_of(remit.follow(run.id, deltas=True))
            check_order(steps)
            assert [one.text for one in steps if isinstance(one, Delta)] == [LONG]
            assert events(steps) == await all_of(remit.follow(run.id))

    play(story)


def test_what_cannot_be_streamed_is_said_before_anything_is_recorded() -> None:
    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(ScriptedModel([LONG]))], deps=Shop()) as remit:
            with pytest.raises(InputError):
                await all_of(remit.stream("support", "", principal=ALICE))
            with pytest.raises(NotFound):
                await all_of(remit.follow("run_nowhere", deltas=True))
            assert await remit.runs() == []

    play(story)


def test_a_stream_whose_owner_closes_says_that_the_run_goes_on_elsewhere() -> None:
    slow = Slow()

    async def story() -> None:
        remit = Remit(ledger=MemoryLedger(), agents=[support(ScriptedModel([slow]))], deps=Shop(), drain_s=0)
        async with remit:
            listening = asyncio.ensure_future(all_of(remit.stream("support", "hi", principal=ALICE)))
            await until(lambda: slow.asked == 1)
        with pytest.raises(RemitError):
            await listening

    play(story)


def test_a_provider_that_fails_before_a_word_retracts_nothing() -> None:
    model = ScriptedModel([ModelError("down", code="model.unavailable", retryable=True), LONG])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            steps = await all_of(remit.stream("support", "hi", principal=ALICE))
            assert not [one for one in steps if isinstance(one, Retracted)]
            assert texts(steps) == LONG

    play(story)


def test_once_a_run_stands_still_nothing_of_what_was_told_is_left_in_the_ledger(tmp_path: Path) -> None:
    async def story() -> None:
        loud = support(ScriptedModel(lambda _: LONG), stream=True)
        async with Remit(ledger=tmp_path / "r.db", agents=[loud], deps=Shop()) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            streamed = (await all_of(remit.stream("support", "hi", principal=ALICE)))[-1]
            assert isinstance(streamed, Finished)
            for name in (run.id, streamed.id):
                asked = [one.sequence for one in await remit.events(name) if isinstance(one.event, ModelRequested)]
                assert await remit.ledger.deltas(RunId(name), after=asked[-1]) == []

    play(story)


def test_a_request_that_another_process_drives_is_joined_by_its_stream(tmp_path: Path) -> None:
    slow = Slow()

    async def story() -> None:
        agent = support(ScriptedModel([slow]), stream=True)
        path = tmp_path / "r.db"
        async with (
            Remit(ledger=path, agents=[agent], deps=Shop()) as one,
            Remit(ledger=path, agents=[agent], deps=Shop()) as other,
        ):
            both = [
                asyncio.ensure_future(all_of(remit.stream("support", "hi", principal=ALICE, request_id="r")))
                for remit in (one, other)
            ]
            await until(lambda: slow.asked == 1)
            slow.go.set()
            first, second = await asyncio.gather(*both)
            assert events(first) == events(second)
            assert first[-1] == second[-1]
            assert texts(first) == texts(second) == LONG

    play(story, seeded=False)
    assert slow.asked == 1


def test_a_message_that_waits_for_its_conversation_is_streamed_when_it_is_its_turn() -> None:
    slow = Slow()

    async def story() -> None:
        model = ScriptedModel([slow, "And hello."])
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            first = await remit.submit("support", "hi", principal=ALICE, conversation="t")
            await until(lambda: slow.asked == 1)
            listening = asyncio.ensure_future(all_of(remit.stream("support", "hello?", principal=ALICE, conversation="t")))
            slow.go.set()
            steps = await listening
            assert isinstance(steps[-1], Finished)
            assert steps[-1].id != first.id
            assert texts(steps) == "And hello."
            assert b'"stream"' not in model.requests[0]
            assert b'"stream"' in model.requests[1]

    play(story, seeded=False)
