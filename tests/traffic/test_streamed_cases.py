"""The faults that people report of tool calls, each through a stream of each protocol over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from behaviour.shop import ALICE, Shop, lookup_order, refund_tool, send_mail, support
from behaviour.test_transcripts import answered_ids, ended_calls
from remit import (
    Budget,
    Cancelled,
    Deny,
    Finished,
    MemoryLedger,
    ModelRefused,
    Refused,
    Remit,
    ScriptedModel,
    Stopped,
    Succeeded,
    ambient,
)
from remit.testing import FakeProvider, call, fault
from remit.types.model import ProtocolName
from traffic.exchange import PROTOCOLS
from traffic.handmade import Piece, begin, stream

REFUND = call("issue_refund", charge_id="ch_1", amount_cents=4_900)
ARGUMENTS = '{"charge_id":"ch_1","amount_cents":4900}'
OTHER = '{"charge_id":"ch_2","amount_cents":100}'
Story = Callable[[Remit, FakeProvider], Awaitable[None]]


def play(protocol: ProtocolName, turns: Any, story: Story, *, shop: Shop, tools: Sequence[Any] = (), **changes: Any) -> None:
    """A story of one agent whose replies are streamed, at the end of which every request was one that the provider takes."""

    async def run() -> None:
        async with FakeProvider(turns, seed=len(turns) if isinstance(turns, list) else 0) as provider:
            agent = support(provider.model(protocol), *tools, stream=True, **changes)  # type: ignore[arg-type]
            async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop) as remit:
                await story(remit, provider)
            assert provider.broken == []
            assert all(b'"stream":true' in one.body for one in provider.requests)
            asked, answered = answered_ids(provider.requests[-1].body, protocol)
            assert asked == answered

    with ambient.use(ambient.Seeded()):
        asyncio.run(run())


async def outcomes(remit: Remit, request: str = "go", **more: Any) -> tuple[Any, list[Any]]:
    """How a run ended, and what its calls were answered, in the model's order."""
    run = await remit.run("support", request, principal=ALICE, **more)
    ended = await ended_calls(remit, run.id)
    return run, [one.outcome for one in sorted(ended, key=lambda one: one.call)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_limited_after_an_effect_the_second_model_goes_on_with_the_same_transcript(protocol: ProtocolName) -> None:
    shop = Shop()

    def speak(asked: dict[str, Any]) -> Any:
        if asked["model"] == "second":
            return "Refunded."
        return fault.rate_limit() if len(asked.get("messages", asked.get("input"))) > 2 else REFUND

    async def story() -> None:
        async with FakeProvider(speak) as provider:
            first, second = provider.model(protocol, "first"), provider.model(protocol, "second")
            agent = support(first, stream=True, fallback=[second])  # type: ignore[arg-type]
            async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop) as remit:
                run, (outcome,) = await outcomes(remit)
                assert (type(run), run.answer) == (Finished, "Refunded.")
                assert isinstance(outcome, Succeeded)
            assert provider.broken == []
            before, last = provider.requests[-2].body, provider.requests[-1].body
            assert last == before.replace(b'"first"', b'"second"')

    with ambient.use(ambient.Seeded()):
        asyncio.run(story())
    assert shop.refunds == [("ch_1", 4_900)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_cancelled_before_its_result_a_call_is_answered_and_the_conversation_goes_on(protocol: ProtocolName) -> None:
    shop = Shop(hang=True)

    async def story(remit: Remit, provider: FakeProvider) -> None:
        run = await remit.submit("support", "refund ch_1", principal=ALICE, conversation="t1")
        while not shop.refunds:  # noqa: ASYNC110 - what is awaited is plain data of the test
            await asyncio.sleep(0)
        await remit.cancel(run.id, by=ALICE, reason="changed my mind")
        assert isinstance(await remit.run_to_end(run.id), Cancelled)
        assert len(await ended_calls(remit, run.id)) == 2
        shop.hang = False
        after, _ = await outcomes(remit, "still there?", conversation="t1")
        assert isinstance(after, Finished)

    turns = [[REFUND, call("lookup_order", order_id="A-1")], "Hello again."]
    play(protocol, turns, story, shop=shop, tools=[lookup_order, refund_tool(timeout_s=0.05)])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ids_that_are_equal_empty_or_used_before_give_each_call_its_own_answer(protocol: ProtocolName) -> None:
    one, two, three = (call("lookup_order", order_id=f"A-{n}") for n in (1, 2, 3))

    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, found = await outcomes(remit)
        assert isinstance(run, Finished)
        assert [outcome.value["order"] for outcome in found] == ["A-1", "A-2", "A-3", "A-1"]
        asked, _ = answered_ids(provider.requests[-1].body, protocol)
        assert len(set(asked)) == 4
        assert all(asked)

    turns = [[one.with_id("same"), two.with_id("same")], [three.with_id("")], [one.with_id("same")], "Done."]
    play(protocol, turns, story, shop=Shop())


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "text", ["", "  ", '{"order_id":', "null", "[]", "3", '{"order_id":"A","order_id":"B"}', '{"order_id": NaN}']
)
def test_arguments_that_are_blank_or_no_object_are_answered_with_what_is_wrong(protocol: ProtocolName, text: str) -> None:
    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, (outcome,) = await outcomes(remit)
        assert isinstance(run, Finished)
        assert isinstance(outcome, Refused)
        assert (outcome.code, outcome.retry) in [("arguments.json", "corrected"), ("arguments.invalid", "corrected")]
        if not text.strip():
            assert "order_id" in outcome.fields[0].path + outcome.fields[0].message

    pieces = [begin(0, "call_1", "lookup_order"), *(Piece(0, one) for one in text)]
    play(protocol, [stream(protocol, pieces), "Sorry."], story, shop=Shop())


CUT_OFF = [
    ('{"charge_id":"ch_1","amount_ce', "length", 64),
    ('{"charge_id":"ch_', "length", 64),
    ('{"charge_id":"ch_1"}', "length", 64),
    (ARGUMENTS, "length", 64),
    (ARGUMENTS, "calls", 64),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("text", "stop", "tokens"), CUT_OFF)
def test_a_reply_cut_by_its_length_runs_nothing_and_is_answered_as_truncated(
    protocol: ProtocolName, text: str, stop: str, tokens: int
) -> None:
    shop = Shop()

    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, (outcome,) = await outcomes(remit)
        assert isinstance(run, Finished)
        assert outcome.code == "arguments.truncated"

    cut = stream(protocol, [begin(0, "call_1"), Piece(0, text)], stop=stop, tokens=tokens)
    play(protocol, [cut, "I could not."], story, shop=shop, max_tokens=64)
    assert shop.refunds == []


@pytest.mark.parametrize(
    ("protocol", "stop"),
    [("anthropic", "refusal"), *((one, stop) for one in PROTOCOLS[1:] for stop in ("refusal", "filter"))],
)
def test_a_refusal_with_a_call_in_it_runs_nothing_and_is_not_asked_again(protocol: ProtocolName, stop: Any) -> None:
    shop = Shop()

    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, found = await outcomes(remit)
        assert isinstance(run, ModelRefused)
        assert (len(found), len(provider.requests)) == (1, 1)
        after = await remit.run("support", "still there?", principal=ALICE, conversation=None)
        assert isinstance(after, Finished)

    play(protocol, [ScriptedModel.turn(REFUND, stop=stop), "Here."], story, shop=shop)
    assert shop.refunds == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_interleaved_fragments_are_the_calls_that_they_are(protocol: ProtocolName) -> None:
    shop = Shop()

    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, found = await outcomes(remit)
        assert isinstance(run, Finished)
        assert [type(one) for one in found] == [Succeeded, Succeeded]

    pieces = [begin(0, "a"), begin(1, "b")]
    for left, right in zip(ARGUMENTS.ljust(50), OTHER.ljust(50), strict=True):
        pieces += [Piece(0, left), Piece(1, right)]
    play(protocol, [stream(protocol, pieces), "Done."], story, shop=shop)
    assert shop.refunds == [("ch_1", 4_900), ("ch_2", 100)]


ONE_INDEX = [
    # Servers that speak Chat send every call under index 0: two calls.
    ("openai-chat", [("ch_1", 4_900), ("ch_2", 100)], 2),
    # A block that begins in another's place is no message of the protocol: a failed attempt, asked again.
    ("anthropic", [], 2),
    # What the last event says is the response, and this one holds the second call alone.
    ("openai-responses", [("ch_2", 100)], 2),
]


@pytest.mark.parametrize(("protocol", "refunds", "requests"), ONE_INDEX)
def test_two_calls_on_one_index_with_different_ids_are_never_one_merged_call(
    protocol: ProtocolName, refunds: list[Any], requests: int
) -> None:
    shop = Shop()

    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, found = await outcomes(remit)
        assert isinstance(run, Finished)
        assert [type(one) for one in found] == [Succeeded] * len(refunds)
        assert len(provider.requests) == requests

    pieces = [begin(0, "a"), Piece(0, ARGUMENTS), begin(0, "b"), Piece(0, OTHER)]
    play(protocol, [stream(protocol, pieces), "Done."], story, shop=shop)
    assert shop.refunds == refunds


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_arguments_glued_of_two_values_are_refused_and_never_merged(protocol: ProtocolName) -> None:
    shop = Shop()

    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, (outcome,) = await outcomes(remit)
        assert isinstance(run, Finished)
        assert outcome.code == "arguments.json"

    play(protocol, [stream(protocol, [begin(0, "a"), Piece(0, ARGUMENTS + OTHER)]), "Sorry."], story, shop=shop)
    assert shop.refunds == []


def test_a_pause_of_the_provider_goes_on_unchanged_and_counts_as_a_turn() -> None:
    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, _ = await outcomes(remit)
        assert isinstance(run, Stopped)
        assert run.reason == "budget.turns"
        assert len(provider.requests) == 3
        assert provider.requests[-1].body.count(b'"searching"') == 2

    turns = [ScriptedModel.turn("searching", stop="pause")] * 5
    play("anthropic", turns, story, shop=Shop(), budget=Budget(turns=3))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_unknown_tool_is_answered_with_the_near_match_and_bounded(protocol: ProtocolName) -> None:
    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, found = await outcomes(remit)
        assert isinstance(run, Stopped)
        assert found[0].code == "tool.unknown"
        assert "lookup_order" in found[0].message

    turns = [call("lookup_ordr", order_id="A-1")] * 20
    play(protocol, turns, story, shop=Shop(), budget=Budget(consecutive_errors=3))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_of_three_parallel_calls_denied_gives_three_answers_and_two_effects(protocol: ProtocolName) -> None:
    shop = Shop()

    def policy(request: Any) -> object:
        return Deny("no mail to evil") if request.arguments["to"] == "x@evil" else None

    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, found = await outcomes(remit)
        assert isinstance(run, Finished)
        assert [type(one) for one in found] == [Succeeded, Refused, Succeeded]

    mails = [call("send_mail", to=to, text="hi") for to in ("a@b", "x@evil", "c@d")]
    play(protocol, [mails, "Done."], story, shop=shop, tools=[send_mail], policy=[policy])
    assert shop.mails == ["a@b", "c@d"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_error_inside_a_stream_is_a_failed_attempt_and_the_request_is_asked_again(protocol: ProtocolName) -> None:
    shop = Shop()

    async def story(remit: Remit, provider: FakeProvider) -> None:
        run, found = await outcomes(remit)
        assert isinstance(run, Finished)
        assert [type(one) for one in found] == [Succeeded]
        assert len(provider.requests) == 4
        assert len({one.body for one in provider.requests[:3]}) == 1

    play(protocol, [fault.break_off(REFUND, 5), fault.break_off(REFUND, 2), REFUND, "Done."], story, shop=shop)
    assert shop.refunds == [("ch_1", 4_900)]
