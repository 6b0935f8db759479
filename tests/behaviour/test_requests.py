"""Model requests: how long they may take, and what is spent where nobody says what they took."""

from __future__ import annotations

import asyncio
import json

import pytest

from behaviour.shop import ALICE, Shop, lookup_order, play, support
from behaviour.streamed import Streamed
from remit import Budget, Finished, MemoryLedger, Refused, Remit, ScriptedModel, Stopped, call
from remit.errors import ModelError
from remit.types.event import CallEnded, ModelRequested, Replied, RequestFailed
from remit.types.model import Piece, Streaming

BOTH_WAYS = pytest.mark.usefixtures("both_ways")


def uncounted(number: int) -> bytes:
    """A reply of a server that counts no tokens."""
    asks = {"name": "lookup_order", "arguments": json.dumps({"order_id": f"A-{number}"})}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "type": "function", "function": asks}]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    return json.dumps({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}).encode()


@BOTH_WAYS
def test_where_no_usage_is_reported_what_was_reserved_stays_spent_and_the_budget_ends_the_run() -> None:
    model = ScriptedModel([uncounted(number) for number in range(40)], protocol="openai-chat")

    async def story() -> None:
        budget = Budget(tokens=20_000, turns=100, calls=1_000)
        async with Remit(ledger=MemoryLedger(), agents=[support(model, lookup_order, budget=budget)], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Stopped)
            assert run.reason == "budget.tokens"
            assert (run.usage.reported, run.usage.cost_usd_micros) == (False, None)
            events = [one.event for one in await remit.events(run.id)]
            reserved = [one.reserved_tokens for one in events if isinstance(one, ModelRequested)]
            assert reserved == sorted(reserved)
            assert reserved[0] < reserved[-1]
            assert (await remit.ledger.spent(f"run:{run.id}")).tokens == sum(reserved) <= 20_000

    play(story)


class BrokenOff(Streamed):
    """The provider begins to write, and then says that it is overloaded."""

    async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
        assert stream is not None
        stream.on_piece(Piece("text", "much text " * 100))
        raise ModelError("overloaded (in mid-stream)", code="model.overloaded", retryable=True, status=200)


def test_what_was_reserved_stays_spent_where_the_provider_breaks_off_what_it_has_begun_to_write() -> None:
    async def story() -> None:
        agent = support(BrokenOff(ScriptedModel([])), lookup_order, stream=True)  # type: ignore[arg-type]
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            events = [one.event for one in await remit.events(run.id)]
            reserved = [one.reserved_tokens for one in events if isinstance(one, ModelRequested)]
            assert len(reserved) == 4
            assert (await remit.ledger.spent(f"run:{run.id}")).tokens == sum(reserved)

    play(story)


@BOTH_WAYS
def test_a_request_ends_with_the_time_that_the_run_has() -> None:
    async def hangs(body: dict[str, object]) -> str:
        await asyncio.Event().wait()
        return ""

    async def story() -> None:
        agent = support(ScriptedModel(hangs), lookup_order, budget=Budget(seconds=0.05))
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Stopped)
            assert run.reason == "budget.seconds"
            events = [one.event for one in await remit.events(run.id)]
            (asked,) = [one for one in events if isinstance(one, ModelRequested)]
            assert [one.code for one in events if isinstance(one, RequestFailed)] == ["model.timeout"]
            assert (await remit.ledger.spent(f"run:{run.id}")).tokens == asked.reserved_tokens
            assert await remit.verify() == []

    play(story, seeded=False)


def test_a_request_that_a_cancel_overtakes_is_not_sent_and_nothing_of_it_is_spent() -> None:
    overtaken: list[int] = []

    async def cancelled_after(steps: int) -> None:
        sent: list[int] = []

        async def answer(body: dict[str, object]) -> object:
            sent.append(1)
            for _ in range(5):
                await asyncio.sleep(0)
            return "Done." if len(sent) > 1 else call("lookup_order", order_id="A-1")

        agent = support(ScriptedModel(answer), lookup_order)  # type: ignore[arg-type]
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.submit("support", "look", principal=ALICE, conversation="c")
            for _ in range(steps):
                await asyncio.sleep(0)
            await remit.cancel(run.id, by=ALICE)
            ended = await remit.run_to_end(run.id)
            events = [one.event for one in await remit.events(run.id)]
            asked = [one for one in events if isinstance(one, ModelRequested)]
            if len(asked) > len(sent):
                assert not isinstance(ended, Finished)
                overtaken.append(steps)
                (failed,) = [one for one in events if isinstance(one, RequestFailed)]
                assert (failed.code, failed.started) == ("model.not_sent", False)
                replied = [one for one in events if isinstance(one, Replied)]
                for scope in (f"run:{run.id}", "conversation:acme:c"):
                    spent = await remit.ledger.spent(scope)
                    assert spent.turns == len(replied)
                    assert spent.tokens == sum(one.usage.input_tokens + one.usage.output_tokens for one in replied)
            assert await remit.verify() == []

    for steps in range(60):
        asyncio.run(cancelled_after(steps))
    assert overtaken


def test_a_reply_of_thousands_of_calls_is_answered_and_all_else_goes_on_meanwhile() -> None:
    many = 2_000
    model = ScriptedModel([[call("lookup_order", order_id=f"A-{number}") for number in range(many)], "Enough."])
    passes: list[int] = []

    async def goes_on() -> None:
        while True:
            passes.append(len(passes))
            await asyncio.sleep(0)

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, lookup_order)], deps=Shop()) as remit:
            other = asyncio.ensure_future(goes_on())
            run = await remit.run("support", "look", principal=ALICE)
            other.cancel()
            assert isinstance(run, Finished)
            ended = [one.event.outcome for one in await remit.events(run.id) if isinstance(one.event, CallEnded)]
            assert len(ended) == many
            refused = [one for one in ended if isinstance(one, Refused)]
            assert {one.code for one in refused} == {"budget.calls"}
            assert len(refused) == many - 64
            assert await remit.verify() == []

    play(story)
    assert len(passes) >= many / 16
