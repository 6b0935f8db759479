"""Transcripts: every proposal gets one answer, and the history stays valid for the provider."""

from __future__ import annotations

import json

import pytest

from behaviour.shop import ALICE, BOB, Shop, lookup_order, play, refund_tool, send_mail, support, until
from remit import (
    Budget,
    Cancelled,
    Deny,
    Finished,
    MemoryLedger,
    ModelRefused,
    NotRun,
    Paused,
    Refused,
    Remit,
    ScriptedModel,
    Stopped,
    Succeeded,
    call,
)
from remit.types.model import Usage

pytestmark = pytest.mark.usefixtures("both_ways")
PROTOCOLS = ("anthropic", "openai-chat", "openai-responses")
REFUND = call("issue_refund", charge_id="ch_1", amount_cents=4_900)


async def ended_calls(remit: Remit, run: str) -> list[object]:
    return [one.event for one in await remit.events(run) if one.event.kind == "call.ended"]


def answered_ids(body: bytes, protocol: str) -> tuple[list[str], list[str]]:
    """The ids of proposals and of their answers, in a request body, in order."""
    request = json.loads(body)
    asked: list[str] = []
    answered: list[str] = []
    if protocol == "anthropic":
        for message in request["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block["type"] == "tool_use":
                    asked.append(block["id"])
                elif block["type"] == "tool_result":
                    answered.append(block["tool_use_id"])
    elif protocol == "openai-chat":
        for message in request["messages"]:
            asked += [one["id"] for one in message.get("tool_calls") or []]
            answered += [message["tool_call_id"]] if message["role"] == "tool" else []
    else:
        for item in request["input"]:
            asked += [item["call_id"]] if item.get("type") == "function_call" else []
            answered += [item["call_id"]] if item.get("type") == "function_call_output" else []
    return asked, answered


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_cancelled_before_its_result_a_call_is_answered_and_the_conversation_goes_on(protocol: str) -> None:
    shop = Shop(hang=True)
    model = ScriptedModel([[REFUND, call("lookup_order", order_id="A-1")], "Hello again."], protocol=protocol)
    agent = support(model, lookup_order, refund_tool(timeout_s=0.3))

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop) as remit:
            run = await remit.submit("support", "refund ch_1", principal=ALICE, conversation="t1")
            await until(lambda: bool(shop.refunds))
            await remit.cancel(run.id, by=ALICE, reason="changed my mind")
            ended = await remit.run_to_end(run.id)
            assert isinstance(ended, Cancelled)
            assert len(await ended_calls(remit, run.id)) == 2
            shop.hang = False
            after = await remit.run("support", "still there?", principal=ALICE, conversation="t1")
            assert isinstance(after, Finished)
            asked, answered = answered_ids(model.requests[-1], protocol)
            assert asked == answered
            assert len(asked) == 2

    play(story, seeded=False)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ids_that_are_equal_empty_or_used_before_give_each_call_its_own_answer(protocol: str) -> None:
    shop = Shop()
    one, two, three = (call("lookup_order", order_id=f"A-{n}") for n in (1, 2, 3))
    model = ScriptedModel(
        [[one.with_id("same"), two.with_id("same")], [three.with_id("")], [one.with_id("same")], "Done."], protocol=protocol
    )

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=shop) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)
            calls = await ended_calls(remit, run.id)
            assert [c.outcome.value["order"] for c in calls] == ["A-1", "A-2", "A-3", "A-1"]
            asked, answered = answered_ids(model.requests[-1], protocol)
            assert asked == answered
            assert len(set(asked)) == 4
            assert all(asked)

    play(story)


@pytest.mark.parametrize(
    ("protocol", "text"),
    [
        (protocol, text)
        for protocol in PROTOCOLS
        for text in ['{"order_id":', "null", "[]", "3", '{"order_id":"A","order_id":"B"}', '{"order_id": NaN}']
        # Anthropic sends arguments as an object: a broken one is a broken reply
        if protocol != "anthropic" or text not in ('{"order_id":', '{"order_id": NaN}')
    ],
)
def test_arguments_that_are_not_an_object_are_not_run_and_the_model_is_told_what_is_wrong(protocol: str, text: str) -> None:
    shop = Shop()
    model = ScriptedModel([call.raw("lookup_order", text), "Sorry."], protocol=protocol)

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=shop) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)
            (ended,) = await ended_calls(remit, run.id)
            assert isinstance(ended.outcome, Refused)
            assert ended.outcome.code in ("arguments.json", "arguments.invalid")
            assert ended.outcome.retry == "corrected"

    play(story)


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("text", ["", "  "])
def test_blank_arguments_are_an_empty_object_and_then_validated(protocol: str, text: str) -> None:
    model = ScriptedModel([call.raw("lookup_order", text), "Sorry."], protocol=protocol)

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            (ended,) = await ended_calls(remit, run.id)
            assert ended.outcome.code == "arguments.invalid"
            assert "order_id" in ended.outcome.fields[0].path + ended.outcome.fields[0].message

    play(story)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_reply_cut_by_its_length_runs_nothing_and_is_answered_as_truncated(protocol: str) -> None:
    shop = Shop()
    cut = ScriptedModel.turn(REFUND, stop="length")
    full = ScriptedModel.turn(REFUND, usage=Usage(input_tokens=10, output_tokens=64))
    model = ScriptedModel([cut, full, "I could not."], protocol=protocol)

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, max_tokens=64)], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            calls = await ended_calls(remit, run.id)
            assert [c.outcome.code for c in calls] == ["arguments.truncated", "arguments.truncated"]
            assert isinstance(run, Finished | Stopped)
            asked, answered = answered_ids(model.requests[-1], protocol)
            assert asked == answered

    play(story)
    assert shop.refunds == []


@pytest.mark.parametrize(
    ("protocol", "stop"),
    [("anthropic", "refusal"), *((one, stop) for one in PROTOCOLS[1:] for stop in ("refusal", "filter"))],
)
def test_a_refusal_with_a_call_in_it_runs_nothing_and_is_not_asked_again(protocol: str, stop: str) -> None:
    shop = Shop()
    model = ScriptedModel([ScriptedModel.turn(REFUND, stop=stop), "never asked"], protocol=protocol)

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, ModelRefused)
            assert len(await ended_calls(remit, run.id)) == 1
            assert len(model.requests) == 1

    play(story)
    assert shop.refunds == []


def test_a_pause_of_the_provider_goes_on_unchanged_and_counts_as_a_turn() -> None:
    model = ScriptedModel([ScriptedModel.turn("searching", stop="pause")] * 5, protocol="anthropic")

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, budget=Budget(turns=3))], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Stopped)
            assert run.reason == "budget.turns"
            last = json.loads(model.requests[-1])["messages"]
            assert [message["role"] for message in last] == ["user", "assistant", "assistant"]

    play(story)
    assert len(model.requests) == 3


def test_an_unknown_tool_is_answered_with_the_near_match() -> None:
    model = ScriptedModel([call("lookup_ordr", order_id="A-1")] * 20)

    async def story() -> None:
        async with Remit(
            ledger=MemoryLedger(), agents=[support(model, budget=Budget(consecutive_errors=3))], deps=Shop()
        ) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Stopped)
            calls = await ended_calls(remit, run.id)
            assert calls[0].outcome.code == "tool.unknown"
            assert "lookup_order" in calls[0].outcome.message

    play(story)


def test_one_of_three_parallel_calls_denied_gives_three_answers_and_two_effects() -> None:
    shop = Shop()
    mails = [call("send_mail", to=to, text="hi") for to in ("a@b", "x@evil", "c@d")]
    model = ScriptedModel([mails, "Done."])

    def policy(request: object) -> object:
        return Deny("no mail to evil") if request.arguments["to"] == "x@evil" else None  # type: ignore[attr-defined]

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, send_mail, policy=[policy])], deps=shop) as remit:
            run = await remit.run("support", "mail", principal=ALICE)
            calls = await ended_calls(remit, run.id)
            assert [type(c.outcome) for c in sorted(calls, key=lambda c: c.call)] == [Succeeded, Refused, Succeeded]

    play(story)
    assert shop.mails == ["a@b", "c@d"]


def test_what_a_failed_write_holds_back_is_answered_as_not_run() -> None:
    shop = Shop(decline=1)
    model = ScriptedModel([[REFUND, call("send_mail", to="a@b", text="refunded")], "Declined."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, refund_tool(), send_mail)], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            calls = await ended_calls(remit, run.id)
            assert isinstance(calls[1].outcome, NotRun)

    play(story)
    assert shop.mails == []


def test_a_denied_person_decision_is_one_answer_and_the_rest_goes_on() -> None:
    from behaviour.shop import APPROVED_ABOVE_50

    shop = Shop()
    big = call("issue_refund", charge_id="ch_9", amount_cents=9_900)
    model = ScriptedModel([[big, REFUND], "Done."])

    async def story() -> None:
        async with Remit(
            ledger=MemoryLedger(), agents=[support(model, refund_tool(approve=APPROVED_ABOVE_50))], deps=shop
        ) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
            assert shop.refunds == [("ch_1", 4_900)], "another key of the same tool is not held back"
            await remit.decide(run.approvals[0].id, allow=False, by=BOB, reason="no")
            assert isinstance(await remit.resume(run.id, principal=ALICE), Finished)

    play(story)
    assert shop.refunds == [("ch_1", 4_900)]
