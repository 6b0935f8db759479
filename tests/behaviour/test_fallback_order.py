"""Falling back, continued: who waits how long, who is asked first after a pause, and at whose price."""

from __future__ import annotations

import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, play, refund_tool, support
from remit import Budget, Escalated, Finished, MemoryLedger, Paused, Remit, ScriptedModel, call
from remit.budget import price, price_bound
from remit.errors import ModelError
from remit.types.budget import Usage
from remit.types.event import ModelRequested, Replied
from remit.types.ident import Digest
from remit.types.model import Model, Streaming, Wire

DOWN = ModelError("down", code="model.unavailable", retryable=True)
CHEAP, DEAR = "anthropic:claude-3-5-haiku-latest", "anthropic:claude-opus-4-1"


def limited(after_s: float) -> ModelError:
    return ModelError("slow down", code="model.rate_limited", retryable=True, retry_after_s=after_s, status=429)


async def requests(remit: Remit, run: str) -> list[tuple[str, int]]:
    """Who was asked, and how many milliseconds after the first request."""
    found = [(one.event.model, one.at_ms) for one in await remit.events(run) if isinstance(one.event, ModelRequested)]
    return [(model.removeprefix("scripted:"), at_ms - found[0][1]) for model, at_ms in found]


def test_of_two_that_asked_for_a_pause_the_one_whose_pause_is_over_first_is_asked() -> None:
    first, second = ScriptedModel([limited(90.0)], name="a"), ScriptedModel([limited(40.0), "Here."], name="b")

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(first, fallback=[second])], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)
            asked = await requests(remit, run.id)
            assert [name for name, _ in asked] == ["a", "b", "b"]
            assert 40_000 <= asked[2][1] < 90_000

    play(story)


@pytest.mark.parametrize(("pause_s", "waited"), [(300.0, True), (301.0, False), (86_400.0, False)])
def test_a_pause_of_up_to_five_minutes_is_waited_for_and_a_longer_one_hands_the_run_over(pause_s: float, waited: bool) -> None:
    model = ScriptedModel([limited(pause_s), "Here."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished if waited else Escalated)
            assert run.reason == ("finished" if waited else "model.rate_limited")

    play(story)
    assert len(model.requests) == (2 if waited else 1)


def test_after_a_pause_the_recorded_models_are_asked_in_their_recorded_order() -> None:
    refund = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
    first, second = ScriptedModel([refund, "Refunded."], name="a"), ScriptedModel(["Never said."], name="b")
    tool = refund_tool(approve=APPROVED_ABOVE_50)
    store, shop = MemoryLedger(), Shop()

    async def story() -> None:
        async with Remit(ledger=store, agents=[support(first, tool, fallback=[second])], deps=shop) as remit:
            paused = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0].id, True, by=BOB)
        swapped = support(second, tool, fallback=[first])
        async with Remit(ledger=MemoryLedger(store=store), agents=[swapped], deps=shop) as remit:
            run = await remit.run_to_end(paused.id)
            assert isinstance(run, Finished)
            assert [name for name, _ in await requests(remit, run.id)] == ["a", "a"]

    play(story)
    assert second.requests == []


class Priced:
    """Answers as a scripted model does, under a name that has a list price."""

    def __init__(self, identity: str, *turns: object) -> None:
        self.identity = identity
        self._model: Model = ScriptedModel(list(turns), name=identity.partition(":")[2])  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def wire(self) -> Wire:
        return self._model.wire

    async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
        return await self._model.ask(body, stream)

    def digest(self) -> Digest:
        return self._model.digest()

    async def aclose(self) -> None:
        await self._model.aclose()


@pytest.mark.parametrize(("first", "second"), [(CHEAP, DEAR), (DEAR, CHEAP)])
def test_a_request_is_reserved_and_paid_for_at_the_price_of_the_model_that_takes_it(first: str, second: str) -> None:
    agent = support(Priced(first, DOWN), fallback=[Priced(second, "Here.")], budget=Budget(usd="100"))  # type: ignore[arg-type]

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)
            events = [one.event for one in await remit.events(run.id)]
            asked = [one for one in events if isinstance(one, ModelRequested)]
            assert [one.model for one in asked] == [first, second]
            for one in asked:
                output = agent.max_tokens
                assert one.reserved_usd_micros == price_bound(one.model, one.reserved_tokens - output, output)
            assert (asked[0].reserved_usd_micros < asked[1].reserved_usd_micros) == (second == DEAR)
            [reply] = [one for one in events if isinstance(one, Replied)]
            used = Usage(input_tokens=reply.usage.input_tokens, output_tokens=reply.usage.output_tokens)
            assert reply.usage.cost_usd_micros == price(second, used) != price(first, used)

    play(story)
