"""What an application passes wrongly is an error at the entry that names the argument and the mend, and nothing happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, play, refund_tool, support
from remit import (
    Conversation,
    DefinitionError,
    Finished,
    InputError,
    MemoryLedger,
    Paused,
    Principal,
    Remit,
    ScriptedModel,
    ask_user,
    call,
)
from remit.types.event import Recorded

BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
HALF = "half \ud800"
Entry = Callable[[Remit], Awaitable[object]]


def opened(*said: object, shop: Shop | None = None) -> Remit:
    model = ScriptedModel(list(said))  # type: ignore[arg-type]
    tools = (refund_tool(approve=APPROVED_ABOVE_50), ask_user)
    return Remit(ledger=MemoryLedger(), agents=[support(model, *tools)], deps=shop or Shop())


async def followed(remit: Remit, run: object, after: object = 0) -> list[Recorded]:
    return [one async for one in remit.follow(run, after=after)]  # type: ignore[arg-type]


def asked(**changes: object) -> Entry:
    return lambda remit: remit.run(**({"agent": "support", "request": "x", "principal": ALICE} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        (asked(conversation=3), "conversation= is text, not int; give its id or a Conversation"),
        (asked(conversation=" "), "conversation= is empty"),
        (asked(conversation=HALF), "conversation= holds half a character"),
        (asked(conversation=Conversation(3)), "conversation= is text"),  # type: ignore[arg-type]
        (asked(request_id=5), "request_id= is text, not int; give your own id"),
        (asked(request_id=""), "request_id= is empty"),
        (asked(request_id=HALF), "request_id= holds half a character"),
        (asked(request=3), "the request is a int; give text"),
        (asked(request=None), "the request is a NoneType; give text"),
        (asked(agent=3), "agent= is an agent's name, or the Agent itself"),
        (asked(principal="alice"), "principal= is missing"),
        (lambda remit: remit.submit("support", "x", principal=ALICE, request_id=5), "request_id="),  # type: ignore[arg-type]
        (lambda remit: remit.decide(3, True, by=BOB), "the approval is text, not int; give its row or its id"),  # type: ignore[arg-type]
        (lambda remit: remit.decide(HALF, True, by=BOB), "the approval holds half a character"),
        (lambda remit: remit.answer(None, "x", by=BOB), "the question is text"),  # type: ignore[arg-type]
        (lambda remit: remit.settle(3, True, by=BOB, reason="seen"), "the operation's id is text"),  # type: ignore[arg-type]
        (lambda remit: remit.withdraw("", by=BOB), "the operation's id is empty"),
        (lambda remit: remit.cancel(3, by=BOB), "the run's id is text"),  # type: ignore[arg-type]
        (lambda remit: remit.resume(HALF), "the run's id holds half a character"),
        (lambda remit: remit.standing("run_1", "alice"), "principal="),  # type: ignore[arg-type]
        (lambda remit: followed(remit, 3), "the run's id is text"),
        (lambda remit: remit.events(""), "the run's id is empty"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named_and_no_run_is_made(entry: Entry, named: str) -> None:
    async def story() -> None:
        async with opened("Hello.") as remit:
            with pytest.raises(InputError, match=named):
                await entry(remit)
            assert await remit.runs() == []

    play(story)


def test_only_true_is_a_yes_and_a_wrong_reason_or_sequence_number_changes_nothing() -> None:
    shop = Shop()

    async def story() -> None:
        async with opened(BIG, "Done.", shop=shop) as remit:
            run = await remit.run("support", "x", principal=ALICE)
            assert isinstance(run, Paused)
            (pending,) = run.approvals
            with pytest.raises(InputError, match="allow= of decide is True or False, not str"):
                await remit.decide(pending.id, "no", by=BOB)  # type: ignore[arg-type]
            with pytest.raises(InputError, match="reason= of decide is text"):
                await remit.decide(pending.id, True, by=BOB, reason=None)  # type: ignore[arg-type]
            with pytest.raises(InputError, match="after= of follow"):
                await followed(remit, run.id, "3")
            with pytest.raises(InputError, match="by= is text, not int"):
                await remit.cancel(run.id, by=3)  # type: ignore[arg-type]
            assert isinstance(await remit.standing(run.id), Paused)

    play(story)
    assert shop.refunds == []


def test_the_row_of_an_approval_or_question_is_as_good_as_its_id() -> None:
    shop = Shop()

    async def story() -> None:
        async with opened(BIG, call("ask_user", question="Which day?"), "Done.", shop=shop) as remit:
            run = await remit.run("support", "x", principal=ALICE)
            assert isinstance(run, Paused)
            assert (await remit.decide(run.approvals[0], True, by=BOB)).state == "approved"
            run = await remit.run_to_end(run.id)
            assert isinstance(run, Paused)
            await remit.answer(run.questions[0], "Monday", by=ALICE)
            assert isinstance(await remit.run_to_end(run.id), Finished)

    play(story)
    assert shop.refunds == [("ch_1", 9_900)]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"run": ""}, "run= of gate.call is empty"),
        ({"run": 3}, "run= of gate.call is text"),
        ({"run": HALF}, "run= of gate.call holds half a character"),
        ({"call": ""}, "call= of gate.call is empty"),
        ({"call": HALF}, "call= of gate.call holds half a character"),
        ({"tool": 3}, "the tool's name is text"),
        ({"principal": "alice"}, "principal= of gate.call"),
        ({"label": "TRUSTED"}, "label= of gate.call"),
        ({"arguments": {"charge_id": object()}}, "arguments of gate.call"),
        ({"arguments": 3}, "arguments of gate.call"),
    ],
)
def test_a_call_under_another_loop_is_looked_at_before_anything_happens(changes: dict[str, object], named: str) -> None:
    given = {"tool": "issue_refund", "arguments": {}, "principal": ALICE, "run": "thread-1", "call": "c1"} | changes

    async def story() -> None:
        async with opened() as remit:
            with pytest.raises(InputError, match=named):
                await remit.gate("support").call(**given)  # type: ignore[arg-type]
            assert await remit.runs() == []

    play(story)


@pytest.mark.parametrize(
    "given", [("",), (3,), ("alice", ""), ("alice", "acme", "billing:refund"), ("alice", "acme", 3), ("alice", "acme", {3})]
)
def test_a_principal_without_a_name_or_with_scopes_that_are_no_set_is_refused(given: tuple[object, ...]) -> None:
    with pytest.raises(InputError, match="of Principal"):
        Principal(*given)  # type: ignore[arg-type]


@pytest.mark.parametrize("scopes", [{"a", "b"}, ["b", "a"], ("a", "b"), frozenset({"a", "b"}), dict.fromkeys("ab")])
def test_scopes_may_be_any_collection_of_strings(scopes: object) -> None:
    assert Principal("alice", scopes=scopes) == Principal("alice", "default", frozenset({"a", "b"}))  # type: ignore[arg-type]


@pytest.mark.parametrize("after", [2**63, 2**80])
@pytest.mark.parametrize("deltas", [True, False])
def test_a_sequence_number_that_no_ledger_can_hold_is_refused(after: int, deltas: bool) -> None:
    async def story() -> None:
        async with opened("Done.") as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            with pytest.raises(InputError, match="sequence number") as raised:
                async for _ in remit.follow(run.id, after, deltas=deltas):  # type: ignore[call-overload]
                    pass
            assert raised.value.code == "follow.after"
            assert [one async for one in remit.follow(run.id, 2**63 - 1)] == []

    play(story)


def test_principals_that_cannot_be_awaited_are_refused_when_the_owner_is_made() -> None:
    def plain(tenant: str, subject: str) -> Principal | None:
        return None

    class Known:
        async def __call__(self, tenant: str, subject: str) -> Principal | None:
            return None

        async def of(self, extra: int, tenant: str, subject: str) -> Principal | None:
            return None

    for given in (plain, lambda tenant, subject: None, 3):
        with pytest.raises(DefinitionError, match="async def principals") as raised:
            Remit(principals=given)  # type: ignore[arg-type]
        assert raised.value.code == "owner.principals"
    for good in (Known(), partial(Known().of, 1)):
        Remit(principals=good)
