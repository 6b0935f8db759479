"""Falling back: where one model does not answer, the next goes on with the same transcript."""

from __future__ import annotations

import asyncio

import pytest

from behaviour.shop import ALICE, Shop, lookup_order, play, refund_tool, support, until
from remit import (
    Agent,
    Budget,
    DefinitionError,
    Escalated,
    Finished,
    InputError,
    MemoryLedger,
    Remit,
    ScriptedModel,
    Stopped,
    call,
)
from remit.errors import ModelError
from remit.types.event import ModelRequested, Resumed, RunStarted

pytestmark = pytest.mark.usefixtures("both_ways")
REFUND = call("issue_refund", charge_id="ch_1", amount_cents=4_900)
LOOKUP = call("lookup_order", order_id="A-1")
PROTOCOLS = ("anthropic", "openai-chat", "openai-responses")
NO_KEY = ModelError("no", code="model.unauthorized", retryable=False, status=401)
GONE = ModelError("no", code="model.not_found", retryable=False, status=404)
DOWN = ModelError("down", code="model.unavailable", retryable=True)


def limited(after_s: float) -> ModelError:
    return ModelError("slow down", code="model.rate_limited", retryable=True, retry_after_s=after_s, status=429)


def model(name: str, *turns: object, protocol: str = "anthropic") -> ScriptedModel:
    return ScriptedModel(list(turns), name=name, protocol=protocol)  # type: ignore[arg-type]


async def asked(remit: Remit, run: str) -> list[str]:
    return [one.event.model for one in await remit.events(run) if isinstance(one.event, ModelRequested)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_after_the_effect_another_model_goes_on_with_the_same_transcript_and_the_effect_stays_one(protocol: str) -> None:
    shop = Shop()
    first = model("a", REFUND, limited(40.0), protocol=protocol)
    second = model("b", "Refunded.", protocol=protocol)

    async def story() -> None:
        agent = support(first, fallback=[second])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop) as remit:
            run = await remit.run("support", "refund ch_1", principal=ALICE)
            assert isinstance(run, Finished)
            assert run.answer == "Refunded."
            assert await asked(remit, run.id) == ["scripted:a", "scripted:a", "scripted:b"]
            assert await remit.verify() == []

    play(story)
    assert shop.refunds == [("ch_1", 4_900)]
    assert b'"model":"b"' in second.requests[0]
    assert second.requests[0].replace(b'"model":"b"', b'"model":"a"') == first.requests[1]


def test_the_model_that_replied_goes_on_in_the_turns_after() -> None:
    first, second = model("a", DOWN), model("b", LOOKUP, LOOKUP, "Done.")

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(first, fallback=[second])], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)
            assert await asked(remit, run.id) == ["scripted:a", *["scripted:b"] * 3]

    play(story)


def test_the_pause_that_a_provider_asks_for_is_kept_for_its_own_model_only() -> None:
    first, second = model("a", limited(40.0), "Here."), model("b", limited(90.0))

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(first, fallback=[second])], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)
            requests = [one for one in await remit.events(run.id) if isinstance(one.event, ModelRequested)]
            names = [one.event.model for one in requests]  # type: ignore[union-attr]
            assert names == ["scripted:a", "scripted:b", "scripted:a"]
            moments = [one.at_ms - requests[0].at_ms for one in requests]
            assert moments[1] < 1_000
            assert 40_000 <= moments[2] < 90_000

    play(story)


@pytest.mark.parametrize("error", [NO_KEY, GONE])
def test_a_key_that_is_not_accepted_or_a_model_that_is_gone_is_the_next_models_turn(error: ModelError) -> None:
    first, second = model("a", error), model("b", "Hello.")

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(first, fallback=[second])], deps=Shop()) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            assert isinstance(run, Finished)
            assert await asked(remit, run.id) == ["scripted:a", "scripted:b"]

    play(story)


def test_when_no_model_answers_the_run_is_handed_over() -> None:
    first, second = ScriptedModel(lambda _: DOWN, name="a"), ScriptedModel(lambda _: DOWN, name="b")

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(first, fallback=[second])], deps=Shop()) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            assert isinstance(run, Escalated)
            assert run.reason == "model.unavailable"
            assert await asked(remit, run.id) == ["scripted:a", "scripted:b"] * 2

    play(story)


def test_a_resumed_run_passes_over_a_model_that_its_agent_no_longer_has() -> None:
    store = MemoryLedger()
    reached: list[str] = []

    async def hangs(body: dict[str, object]) -> str:
        reached.append("b")
        await asyncio.Event().wait()
        return ""

    first = ScriptedModel(lambda _: DOWN, name="a")
    gone = ScriptedModel(hangs, name="b")
    third = ScriptedModel(lambda _: "Hello.", name="c")

    async def dies() -> str:
        agent = support(first, fallback=[gone, third])
        async with Remit(ledger=store, agents=[agent], deps=Shop(), drain_s=0) as remit:
            run = await remit.submit("support", "hi", principal=ALICE)
            await until(lambda: bool(reached))
        return run.id

    async def goes_on(run: str) -> None:
        agent = support(first, fallback=[third])
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=Shop()) as remit:
            assert isinstance(await remit.run_to_end(run), Finished)
            names = await asked(remit, run)
            assert names[:2] == ["scripted:a", "scripted:b"]
            assert names[-1] == "scripted:c"
            assert "scripted:b" not in names[2:]
            resumed = [one.event for one in await remit.events(run) if isinstance(one.event, Resumed)]
            assert [one.models for one in resumed] == [("scripted:a", "scripted:c")]

    run = play(dies, seeded=False)
    play(lambda: goes_on(run))


def test_models_of_two_protocols_are_refused_as_far_as_can_be_told() -> None:
    chat = model("b", protocol="openai-chat")
    for first, other in (("anthropic:claude-x", "openai:gpt-x"), (model("a"), chat), (model("a"), "openai-chat:gpt-x")):
        with pytest.raises(DefinitionError, match="fallback=") as error:
            Agent("support", model=first, fallback=[other])  # type: ignore[list-item]
        assert error.value.code == "agent.fallback"
    for wrong in ("anthropic:b", ["b"], [model("a")], [3]):
        with pytest.raises(DefinitionError, match="fallback="):
            Agent("support", model=model("a"), fallback=wrong)  # type: ignore[arg-type]


def test_a_usd_budget_needs_the_price_of_every_model() -> None:
    agent = support(model("a", "Hello."), fallback=["anthropic:nobody-knows-this"], budget=Budget(usd="1"))

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            with pytest.raises(InputError) as error:
                await remit.run("support", "hi", principal=ALICE)
            assert error.value.code == "budget.price_unknown"
            assert await remit.runs() == []

    play(story)


def test_every_model_needs_its_key_before_a_run_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    agent = support(model("a", "Hello."), fallback=["anthropic:claude-x"])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            with pytest.raises(InputError) as error:
                await remit.run("support", "hi", principal=ALICE)
            assert error.value.code == "model.key"

    play(story)


def test_the_models_are_recorded_and_part_of_the_agents_version() -> None:
    first, second = model("a", "Hello."), model("b")
    agent, alone = support(first, lookup_order, refund_tool(), fallback=[second]), support(first)
    assert agent.digest != alone.digest

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            started = (await remit.events(run.id))[0].event
            assert isinstance(started, RunStarted)
            assert (started.model, started.fallbacks) == ("scripted:a", ("scripted:b",))

    play(story)


TOO_LONG = ModelError("too long", code="model.context_full", retryable=False, status=400)
WRONG = ModelError("wrong", code="model.refused_request", retryable=False, status=400)


@pytest.mark.parametrize("out", [NO_KEY, GONE, WRONG, TOO_LONG, limited(600)])
@pytest.mark.parametrize("failures", [1, 2, 3])
def test_a_model_that_would_fail_again_takes_no_attempt_from_the_others(out: ModelError, failures: int) -> None:
    weak, strong = ScriptedModel(lambda _: out, name="weak"), model("strong", *[DOWN] * failures, "Hello.")
    answered = failures < 3

    async def story(*models: ScriptedModel) -> None:
        agent = support(models[0], fallback=models[1:])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            assert isinstance(run, Finished if answered else Escalated)
            assert answered or run.reason in ("model.unavailable", out.code)
            names = await asked(remit, run.id)
            assert names.count("scripted:weak") == 1
            assert names.count("scripted:strong") == min(failures + 1, 3)

    play(lambda: story(weak, strong))
    again = model("strong", *[DOWN] * failures, "Hello.")
    play(lambda: story(again, weak))


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (NO_KEY, DOWN, "model.unavailable"),
        (DOWN, NO_KEY, "model.unavailable"),
        (NO_KEY, TOO_LONG, "model.unauthorized"),
        (TOO_LONG, NO_KEY, "context.full"),
        (WRONG, GONE, "model.refused_request"),
    ],
)
def test_the_end_is_told_by_the_failure_that_could_have_been_mended_else_by_that_of_the_first_model(
    first: ModelError, second: ModelError, told: str
) -> None:
    async def story() -> None:
        models = [ScriptedModel(lambda _: first, name="a"), ScriptedModel(lambda _: second, name="b")]
        async with Remit(ledger=MemoryLedger(), agents=[support(models[0], fallback=models[1:])], deps=Shop()) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            assert isinstance(run, Stopped if told == "context.full" else Escalated)
            assert run.reason == told
            assert len(await asked(remit, run.id)) <= 4

    play(story)


def test_a_model_whose_context_is_too_small_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.loop.roster.context_window", lambda name, tokens: 10 if name.endswith(":small") else None)

    async def story(*turns: object, names: list[str], order: tuple[str, str]) -> None:
        models = {"small": model("small", "Never said."), "large": model("large", *turns)}
        agent = support(models[order[0]], fallback=[models[order[1]]])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "word " * 100, principal=ALICE)
            assert isinstance(run, Finished)
            assert await asked(remit, run.id) == names

    large = "scripted:large"
    play(lambda: story(DOWN, "Hello.", names=[large] * 2, order=("large", "small")))
    play(lambda: story(limited(200.0), "Hello.", names=[large] * 2, order=("large", "small")))
    play(lambda: story("Hello.", names=[large], order=("small", "large")))
    play(lambda: story(LOOKUP, "Hello.", names=[large] * 2, order=("small", "large")))


def test_where_every_context_is_too_small_the_run_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.loop.roster.context_window", lambda name, tokens: 10)

    async def story() -> None:
        agent = support(model("a", "Never said."), fallback=[model("b", "Never said.")])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "word " * 100, principal=ALICE)
            assert isinstance(run, Stopped)
            assert run.reason == "context.full"
            assert await asked(remit, run.id) == []

    play(story)
