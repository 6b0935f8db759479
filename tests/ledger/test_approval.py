"""Approvals and questions: decided once, told to their run, used once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.support import APPROVAL, RUN, Pen, Store, ask, said
from remit import ambient
from remit.errors import Conflict, InputError, NotFound
from remit.types.approval import ApprovalState
from remit.types.change import ConsumeApproval, VoidApproval
from remit.types.delivery import Decision
from remit.types.ident import ApprovalId, RunId

YES = Decision(approval=APPROVAL, verdict="approved", by="bob", reason="fine", edited='{"amount":1}')


def test_a_decision_changes_the_row_and_is_in_the_runs_inbox(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        asked = await ask(pen, author="carol", two_person=True, expires_ms=2**50)
        pending = await pen.ledger.approval(APPROVAL)
        assert pending is not None
        assert pending == replace(asked, created_ms=pending.created_ms)
        decided = await pen.ledger.decide(YES)
        assert (decided.state, decided.decided_by, decided.reason, decided.edited) == (
            "approved",
            "bob",
            "fine",
            '{"amount":1}',
        )
        assert decided == await pen.ledger.approval(APPROVAL)
        assert [one.delivery for one in await pen.ledger.inbox(RUN)] == [YES]

    store.tell(story)


def test_the_second_to_decide_gets_what_the_first_decided_and_nothing_is_told_twice(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        pen = Pen(ledger)
        await pen.start()
        await ask(pen)
        first = await ledger.decide(YES)
        for verdict in ("approved", "denied"):
            again = Decision(approval=APPROVAL, verdict=verdict, by="carol", reason="late", edited='{"amount":9}')  # type: ignore[arg-type]
            assert await other.decide(again) == first
        assert len(await ledger.inbox(RUN)) == 1

    store.tell(story)


def test_after_its_expiry_a_yes_is_an_expiry_and_is_told_as_such(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await ask(pen, expires_ms=ambient.now_ms() - 1)
        decided = await pen.ledger.decide(YES)
        assert (decided.state, decided.decided_by, decided.edited) == ("expired", "time", None)
        expected = Decision(approval=APPROVAL, verdict="expired", by="time")
        assert [one.delivery for one in await pen.ledger.inbox(RUN)] == [expected]
        assert await pen.ledger.decide(YES) == decided

    store.tell(story)


def test_expiry_is_never_earlier_than_the_runs_last_event(store: Store) -> None:
    async def story() -> None:
        with ambient.use(ambient.Seeded(start_ms=1_000_000)):
            pen = Pen(await store.open())
            await pen.start()
            await ask(pen, expires_ms=1_000_500)
            await pen.write(said())
        with ambient.use(ambient.Seeded(start_ms=2_000_000)):
            await pen.write(said())
        with ambient.use(ambient.Seeded(start_ms=1_000_000)):
            assert (await pen.ledger.decide(YES)).state == "expired"

    store.tell(story)


def test_time_decides_only_what_has_expired(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await ask(pen, expires_ms=2**50)
        still = await pen.ledger.decide(Decision(approval=APPROVAL, verdict="expired", by="time"))
        assert still.state == "pending"
        assert await pen.ledger.inbox(RUN) == []

    store.tell(story)


def test_a_question_is_answered_and_an_approval_is_not(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await ask(pen, kind="question")
        await ask(pen, id=ApprovalId("apr_2"))
        with pytest.raises(InputError):
            await pen.ledger.decide(YES)
        with pytest.raises(InputError):
            await pen.ledger.decide(Decision(approval=ApprovalId("apr_2"), verdict="answered", by="bob", answer='"x"'))
        answered = await pen.ledger.decide(Decision(approval=APPROVAL, verdict="answered", by="bob", answer='"blue"'))
        assert (answered.state, answered.answer) == ("answered", '"blue"')
        denied = await pen.ledger.decide(Decision(approval=ApprovalId("apr_2"), verdict="denied", by="bob", answer='"x"'))
        assert (denied.state, denied.answer) == ("denied", None)
        with pytest.raises(NotFound):
            await pen.ledger.decide(replace(YES, approval=ApprovalId("no")))

    store.tell(story)


@pytest.mark.parametrize("state", ["pending", "approved", "denied", "expired", "void", "consumed"])
def test_an_approval_is_used_once_and_only_after_a_yes(store: Store, state: ApprovalState) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await ask(pen)
        if state in ("approved", "denied"):
            await pen.ledger.decide(replace(YES, verdict=state))
        if state in ("void", "expired"):
            await pen.write(changes=(VoidApproval(APPROVAL, state),))
        if state == "consumed":
            await pen.ledger.decide(YES)
            await pen.write(changes=(ConsumeApproval(APPROVAL),))
        if state == "approved":
            await pen.write(changes=(ConsumeApproval(APPROVAL),))
        else:
            with pytest.raises(Conflict) as refused:
                await pen.write(changes=(ConsumeApproval(APPROVAL),))
            assert (refused.value.code, refused.value.details["state"]) == ("approval.used", state)

    store.tell(story)


def test_an_approval_that_is_void_comes_back_void_from_a_late_click(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await ask(pen)
        await pen.write(changes=(VoidApproval(APPROVAL),))
        assert (await pen.ledger.decide(YES)).state == "void"
        assert await pen.ledger.inbox(RUN) == []

    store.tell(story)


def test_a_void_that_names_what_it_found_is_refused_once_somebody_has_decided(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await ask(pen)
        await pen.ledger.decide(YES)
        with pytest.raises(Conflict) as refused:
            await pen.write(changes=(VoidApproval(APPROVAL, was="pending"),))
        assert refused.value.code == "approval.moved"
        assert [one.state for one in await pen.ledger.approvals(run=RUN)] == ["approved"]
        await pen.write(changes=(VoidApproval(APPROVAL, was="approved"),))
        assert [one.state for one in await pen.ledger.approvals(run=RUN)] == ["void"]

    store.tell(story)


def test_what_is_consumed_or_denied_is_not_voided_and_what_is_approved_is(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        for name, verdict in (("apr_1", "denied"), ("apr_2", "approved"), ("apr_3", "approved")):
            await ask(pen, id=ApprovalId(name))
            await pen.ledger.decide(Decision(approval=ApprovalId(name), verdict=verdict, by="bob"))  # type: ignore[arg-type]
        await pen.write(changes=(ConsumeApproval(ApprovalId("apr_3")),))
        names = [ApprovalId(f"apr_{number}") for number in (1, 2, 3)]
        await pen.write(changes=tuple(VoidApproval(name) for name in names))
        assert [one.state for one in await pen.ledger.approvals(run=RUN)] == ["denied", "void", "consumed"]
        with pytest.raises(NotFound):
            await pen.write(changes=(ConsumeApproval(ApprovalId("no")),))

    store.tell(story)


def test_approvals_are_found_by_run_tenant_and_state(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        first, second = Pen(ledger), Pen(ledger, RunId("run_2"))
        await first.start()
        await second.start()
        await ask(first)
        await ask(second, id=ApprovalId("apr_2"), tenant="other")
        await ledger.decide(YES)
        assert [one.id for one in await ledger.approvals()] == ["apr_1", "apr_2"]
        assert [one.id for one in await ledger.approvals(run=RunId("run_2"))] == ["apr_2"]
        assert [one.id for one in await ledger.approvals(tenant="acme", state=("approved",))] == ["apr_1"]
        assert [one.id for one in await ledger.approvals(state=("pending",))] == ["apr_2"]
        assert len(await ledger.approvals(limit=1)) == 1

    store.tell(story)
