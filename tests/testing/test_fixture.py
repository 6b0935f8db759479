"""The fixture `remit_test`, used as an application's own tests would use it."""

from __future__ import annotations

import pytest

from behaviour.shop import APPROVED_ABOVE_50, Shop, find_refund, lookup_order
from remit import (
    TRUSTED,
    Agent,
    Budget,
    Context,
    InputError,
    MemoryLedger,
    Principal,
    Refused,
    Succeeded,
    Tool,
    ask_user,
    call,
    reconcile,
    tool,
    write,
)
from remit.testing import RemitTest, ScriptedModel, SeenRun


def charge_of(arguments: object, ctx: Context[Shop]) -> dict[str, str]:
    return {"owner": ctx.principal.subject}


@tool(
    effect=write(once_per="charge_id", recovery=reconcile(find_refund)),
    scopes={"billing:refund"},
    owns=charge_of,
    timeout_s=10,
    approve=APPROVED_ABOVE_50,
    label=TRUSTED,
)
async def issue_refund(charge_id: str, amount_cents: int, ctx: Context[Shop]) -> dict[str, int]:
    """Refund one charge, wholly or in part.

    Args:
        charge_id: the charge
        amount_cents: how much
    """
    ctx.deps.refunds.append((charge_id, amount_cents))
    return {"refunded": amount_cents}


support = Agent(
    "support",
    model="anthropic:claude-sonnet-5-5",
    instructions="Help.",
    tools=[lookup_order, issue_refund],
    budget=Budget(turns=8, calls=20, usd="0.50"),
)
SMALL = call("issue_refund", charge_id="ch_1", amount_cents=4_900)
HUGE = call("issue_refund", charge_id="ch_1", amount_cents=2**60)
BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)


async def test_refund_waits_for_approval(remit_test: RemitTest) -> None:
    run = await remit_test.run(support, "refund ch_1", model=[call("issue_refund", charge_id="ch_1", amount_cents=9_900)])
    assert run.paused
    assert run.approvals[0].arguments == {"charge_id": "ch_1", "amount_cents": 9_900}
    assert remit_test.effects == []


def test_a_sync_test_runs_and_decides_too(remit_test: RemitTest) -> None:
    shop = Shop()
    run = remit_test.run_sync(support, "refund ch_1", model=[BIG], deps=shop)
    ended = remit_test.decide_sync(run.approvals[0], model=["Refunded."])
    assert ended.finished
    assert ended.answer == "Refunded."
    assert shop.refunds == [("ch_1", 9_900)]
    assert remit_test.effects == [("issue_refund", {"charge_id": "ch_1", "amount_cents": 9_900})]


async def test_calls_outcomes_usage_and_cost_are_read_from_the_record(remit_test: RemitTest) -> None:
    lookup = call("lookup_order", order_id="A-1")
    run = await remit_test.run(support, "refund", model=[[lookup, call("nonsense")], SMALL, "Done."], deps=Shop())
    assert [(one.tool, one.arguments) for one in run.calls] == [
        ("lookup_order", {"order_id": "A-1"}),
        ("nonsense", {}),
        ("issue_refund", {"charge_id": "ch_1", "amount_cents": 4_900}),
    ]
    assert [type(one) for one in run.outcomes] == [Succeeded, Refused, Succeeded]
    assert run.usage.output_tokens > 0
    assert run.cost == 0
    assert run.events[0].sequence == 1
    assert run.reason


async def test_a_denial_runs_nothing(remit_test: RemitTest) -> None:
    run = await remit_test.run(support, "refund", model=[BIG], deps=Shop())
    ended = await remit_test.decide(run.approvals[0], False, reason="no", model=["Sorry."])
    assert isinstance(ended.outcomes[0], Refused)
    assert remit_test.effects == []


async def test_stubs_stand_in_for_handlers_and_take_the_parameters_that_they_name(remit_test: RemitTest) -> None:
    run = await remit_test.run(
        support,
        "look",
        model=[call("lookup_order", order_id="A-1"), "Done."],
        stubs={"lookup_order": lambda order_id: {"id": order_id}},
    )
    assert run.outcomes[0].kind == "succeeded"
    assert isinstance(run.outcomes[0], Succeeded)
    assert run.outcomes[0].value == {"id": "A-1"}

    async def refund(charge_id: str, ctx: Context[None]) -> str:
        return f"{charge_id} by {ctx.principal.subject}"

    run = await remit_test.run(support, "refund", model=[BIG], stubs={"issue_refund": refund})
    ended = await remit_test.decide(run.approvals[0])
    assert isinstance(ended.outcomes[0], Succeeded)
    assert ended.outcomes[0].value == "ch_1 by tester"


async def test_stubs_for_tools_from_a_schema_take_what_their_handlers_take(remit_test: RemitTest) -> None:
    raw = Tool.from_schema(
        name="raw",
        description="Raw.",
        schema={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        handler=lambda arguments, ctx: 1 / 0,
    )
    agent = Agent("raw", model="anthropic:x", tools=[raw])
    run = await remit_test.run(agent, "go", model=[call("raw", a=1)], stubs={"raw": lambda arguments, ctx: arguments})
    ended = await remit_test.decide(run.approvals[0])
    assert isinstance(ended.outcomes[0], Succeeded)
    assert ended.outcomes[0].value == {"a": 1}


async def test_a_stub_for_a_tool_that_is_not_there_is_refused(remit_test: RemitTest) -> None:
    with pytest.raises(InputError, match="lookup_ordr"):
        await remit_test.run(support, "look", model=[], stubs={"lookup_ordr": lambda: None})


async def test_questions_are_answered(remit_test: RemitTest) -> None:
    agent = Agent("asker", model="anthropic:x", tools=[ask_user])
    run = await remit_test.run(agent, "go", model=[call("ask_user", question="Which?")])
    assert run.questions[0].arguments == {"question": "Which?"}
    ended = await remit_test.answer(run.questions[0], "the first", model=["Thanks."])
    assert ended.finished


async def test_runs_of_one_test_share_a_ledger_and_a_conversation(remit_test: RemitTest) -> None:
    model = ScriptedModel(["Hello.", "Again."])
    await remit_test.run(support, "first-words", model=model, conversation="t")
    await remit_test.run(support, "second-words", model=model, conversation="t")
    assert b"first-words" in model.requests[1]


def test_equal_seeds_make_equal_runs() -> None:
    look = [call("lookup_order", order_id="A-1"), "ok"]
    one, two = (RemitTest().run_sync(support, "look", model=look, seed=7) for _ in "ab")
    assert one.id == two.id
    assert [(event.at_ms, event.event) for event in one.events] == [(event.at_ms, event.event) for event in two.events]


async def test_a_principal_and_a_ledger_may_be_given(remit_test: RemitTest) -> None:
    ledger = MemoryLedger()
    nobody = Principal("nobody")
    run: SeenRun = await remit_test.run(
        support, "look", model=[call("lookup_order", order_id="A-1"), "ok"], principal=nobody, ledger=ledger
    )
    assert isinstance(run.outcomes[0], Refused)


async def test_a_number_that_a_float_would_round_is_seen_as_it_was_sent(remit_test: RemitTest) -> None:
    arguments = {"charge_id": "ch_1", "amount_cents": 2**60}
    run = await remit_test.run(support, "Refund ch_1", model=[HUGE], deps=Shop())
    assert (run.calls[0].arguments, run.approvals[0].arguments) == (arguments, arguments)
    await remit_test.decide(run.approvals[0])
    assert remit_test.effects == [("issue_refund", arguments)]
