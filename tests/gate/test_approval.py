"""What waits for a person: asking, deciding, the gate of now, edits, questions, withdrawal."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from gate.stage import ALICE, BOB, Stage, on_stage, opened, stage, verified
from remit import ambient
from remit.policy import Allow, Ask, Deny
from remit.tool import CALL, READ, NoEffect, always, ask_user, manual, tool, when, withdraw, write
from remit.types.delivery import Decision, Withdrawal
from remit.types.event import ApprovalRequested, OperationMoved
from remit.types.ident import CallId
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, NotRun, Refused, Succeeded

RAN: list[tuple[str, int]] = []


@tool(
    effect=write(once_per="charge", recovery=manual),
    approve=when(lambda a: a.cents > 100, scope="remit:approve", expires_s=3600),
    secret={"card"},
    preview=lambda a: f"Refund {a.cents} on {a.charge} to {a.card}",
    label=TRUSTED,
)
async def refund(charge: str, cents: int, card: str = "none") -> str:
    """Refund a charge.

    Args:
        charge: which
        cents: how much
        card: where to
    """
    RAN.append((charge, cents))
    return f"refunded {charge}"


@tool(effect=write(once_per=CALL, recovery=manual), approve=always(scope="remit:approve"), label=TRUSTED)
async def send(text: str) -> str:
    """Send it.

    Args:
        text: what
    """
    return "sent"


@tool(effect=READ, approve=always(scope="remit:approve"), label=TRUSTED)
async def peek(text: str) -> str:
    """Peek.

    Args:
        text: where
    """
    return "seen"


BIG = {"charge": "ch_1", "cents": 9900, "card": "4111-2222"}


@on_stage(refund)
async def test_a_small_one_runs_and_a_large_one_waits_with_exactly_what_would_run(s: Stage) -> None:
    assert isinstance(await s.call("refund", {"charge": "ch_0", "cents": 50}), Succeeded)
    assert await s.consider("refund", BIG, call="1.1") is None
    [row] = await s.approvals()
    assert row.preview == "Refund 9900 on ch_1 to [redacted]"
    assert json.loads(row.arguments)["card"] == "4111-2222"
    assert json.loads(row.shown)["card"] == "[redacted]"
    assert "4111" not in repr(s.of(ApprovalRequested))
    assert (await s.operations())[-1].state == "awaiting_approval"
    assert await s.ledger.held((await s.operations())[-1].key) is None


@on_stage(refund)
async def test_a_yes_dispatches_the_same_operation_once_and_consumes_the_approval(s: Stage) -> None:
    await s.consider("refund", BIG)
    plan = await s.decide("1.0")
    assert s.considered().code == "approval.granted"
    outcome = await s.go(plan)
    assert isinstance(outcome, Succeeded)
    [row] = await s.approvals()
    assert row.state == "consumed"
    [operation] = await s.operations()
    assert (operation.state, operation.attempt, operation.approval) == ("succeeded", 1, row.id)
    assert s.moves() == ["requested", "approved", "returned"]


@on_stage(refund)
async def test_a_no_closes_it_and_the_same_is_not_asked_again_in_this_run(s: Stage) -> None:
    await s.consider("refund", BIG)
    assert await s.decide("1.0", allow=False, reason="not ours") is None
    outcome = s.outcome("1.0")
    assert isinstance(outcome, Refused)
    assert outcome.code == "denied"
    assert "not ours" in outcome.message
    again = await s.call("refund", BIG, call="2.0")
    assert isinstance(again, Refused)
    assert again.code == "denied"
    assert len(await s.approvals()) == 1
    await s.consider("refund", {**BIG, "cents": 500}, call="3.0")
    assert len(await s.approvals()) == 2


def test_expired_is_not_denied_and_a_new_request_may_be_made() -> None:
    @on_stage(refund)
    async def check(s: Stage) -> None:
        await s.consider("refund", BIG)
        await ambient.sleep(4000)
        assert await s.decide("1.0") is None
        outcome = s.outcome("1.0")
        assert isinstance(outcome, Refused)
        assert (outcome.code, outcome.retry) == ("expired", "same_key")
        await s.consider("refund", BIG, call="2.0")
        assert [row.state for row in await s.approvals()] == ["expired", "pending"]

    with ambient.use(ambient.Seeded()):
        check()


@on_stage(refund)
async def test_two_pending_are_decided_alone_and_in_any_order(s: Stage) -> None:
    await s.consider("refund", BIG, call="1.0")
    await s.consider("refund", {**BIG, "charge": "ch_2"}, call="1.1")
    assert isinstance(await s.go(await s.decide("1.1"), "1.1"), Succeeded)
    assert isinstance(await s.go(await s.decide("1.0"), "1.0"), Succeeded)
    first = (await s.approvals())[0]
    same = await s.ledger.decide(Decision(approval=first.id, verdict="denied", by="eve"))
    assert (same.state, same.decided_by) == ("consumed", "bob")


@on_stage(refund)
async def test_the_same_call_again_shares_the_pending_operation_and_then_its_answer(s: Stage) -> None:
    await s.consider("refund", BIG)
    await s.consider("refund", BIG, call="1.1")
    assert s.considered("1.1").verdict == "joined"
    assert s.considered("1.1").joined == "1.0"
    await s.go(await s.decide("1.0"))
    shared = replace(s.proposals["1.1"], again=True, joined=CallId("1.0"))
    assert await s.gate.consider(shared, s.scene) is None
    outcome = s.outcome("1.1")
    assert isinstance(outcome, Succeeded)
    assert outcome.repeat
    assert len(await s.operations()) == 1


@on_stage(refund)
async def test_who_joined_what_was_withdrawn_or_denied_gets_the_same_answer(s: Stage) -> None:
    await s.consider("refund", BIG)
    await s.consider("refund", BIG, call="1.1")
    await s.delivered(Withdrawal(operation=(await s.operation()).id, by="alice", reason="never mind"))
    outcome = s.outcome("1.0")
    assert isinstance(outcome, NotRun)
    assert outcome.code == "withdrawn"
    await s.gate.consider(replace(s.proposals["1.1"], again=True, joined=CallId("1.0")), s.scene)
    assert s.outcome("1.1") == outcome
    [row] = await s.approvals()
    assert row.state == "void"
    late = await s.ledger.decide(Decision(approval=row.id, verdict="approved", by="bob"))
    assert late.state == "void"


@on_stage(refund)
async def test_other_arguments_for_the_same_key_wait_beside_it_and_the_second_yes_is_a_conflict(s: Stage) -> None:
    await s.consider("refund", BIG)
    await s.consider("refund", {**BIG, "cents": 5000}, call="1.1")
    assert len(await s.approvals()) == 2
    assert isinstance(await s.go(await s.decide("1.0")), Succeeded)
    outcome = await s.go(await s.decide("1.1"), "1.1")
    assert isinstance(outcome, Refused)
    assert outcome.code == "conflict"
    assert [row.closed for row in await s.operations()] == [None, "conflict"]
    assert (await s.approvals())[1].state != "consumed"


def test_an_approved_one_whose_key_was_taken_by_the_same_elsewhere_is_closed_as_a_repeat() -> None:
    async def go() -> None:
        async with opened() as ledger:
            one = await stage(ledger, [refund])
            two = await stage(ledger, [refund], run="run_2")
            await one.consider("refund", {**BIG, "charge": "ch_9"})
            await two.consider("refund", {**BIG, "charge": "ch_9"})
            before = len(RAN)
            assert isinstance(await one.go(await one.decide("1.0")), Succeeded)
            outcome = await two.go(await two.decide("1.0"))
            assert isinstance(outcome, Succeeded)
            assert outcome.repeat
            assert len(RAN) == before + 1
            [row] = await two.operations()
            assert (row.state, row.closed) == ("closed", "repeat")
            assert await ledger.verify() == []

    asyncio.run(go())


def test_after_a_wait_the_gate_of_now_decides() -> None:
    rule: list[object] = [Allow()]
    policies = [lambda request: rule[0]]

    @on_stage(refund, policies=policies)
    async def denied_now(s: Stage) -> None:
        await s.consider("refund", BIG)
        rule[0] = Deny("frozen")
        assert await s.decide("1.0") is None
        outcome = s.outcome("1.0")
        assert isinstance(outcome, Refused)
        assert outcome.code == "policy.changed"
        assert (await s.operation()).closed == "refused"
        assert (await s.approvals())[0].state == "void"

    @on_stage(refund, policies=policies)
    async def stricter_now(s: Stage) -> None:
        rule[0] = Allow()
        await s.consider("refund", BIG)
        rule[0] = Ask(scope="boss")
        assert await s.decide("1.0") is None
        [operation] = await s.operations()
        assert operation.state == "awaiting_approval"
        old, new = await s.approvals()
        assert (old.state, new.state, new.operation) == ("void", "pending", operation.id)
        assert "boss" in new.scope.split()
        assert isinstance(await s.go(await s.decide("1.0")), Succeeded)
        assert s.moves() == ["requested", "recheck_stricter", "approved", "returned"]

    @on_stage(refund)
    async def scope_lost(s: Stage) -> None:
        tool_scoped = replace(s.scene.principal, scopes=frozenset())
        await s.consider("refund", BIG)
        s.scene.principal = tool_scoped
        assert isinstance(await s.go(await s.decide("1.0")), Succeeded)

    denied_now()
    stricter_now()
    scope_lost()


def test_a_changed_contract_makes_a_new_operation_and_a_new_request() -> None:
    async def go() -> None:
        async with opened() as ledger:
            one = await stage(ledger, [refund])
            await one.consider("refund", BIG)
            await one.scene.journal.commit(release=True)

            @tool(
                effect=write(once_per="charge", recovery=manual),
                approve=always(scope="remit:approve"),
                name="refund",
                label=TRUSTED,
            )
            async def other(charge: str, cents: int, card: str = "none", why: str = "") -> str:
                """Refund a charge, saying why.

                Args:
                    charge: which
                    cents: how much
                    card: where to
                    why: why
                """
                return "ok"

            two = await stage(ledger, [other], claim=True)
            two.proposals = one.proposals
            assert await two.decide("1.0") is None
            assert [(row.state, row.closed) for row in await two.operations()] == [
                ("closed", "superseded"),
                ("awaiting_approval", None),
            ]
            assert [row.state for row in await two.approvals()] == ["void", "pending"]
            assert isinstance(await two.go(await two.decide("1.0")), Succeeded)
            assert await ledger.verify() == []

    asyncio.run(go())


def test_where_the_contract_changed_every_request_is_void_and_each_call_is_asked_anew() -> None:
    @tool(effect=write(once_per=CALL, recovery=manual), approve=always(), name="send", label=TRUSTED)
    async def changed(text: str, loud: bool = False) -> str:
        """Send it.

        Args:
            text: what
            loud: how
        """
        return "sent"

    async def go() -> None:
        async with opened() as ledger:
            one = await stage(ledger, [send, refund])
            await one.consider("send", {"text": "a"})
            await one.consider("send", {"text": "b"}, call="1.1")
            await one.consider("refund", BIG, call="1.2")
            await one.scene.journal.commit(release=True)
            two = await stage(ledger, [changed, refund], claim=True)
            await two.gate.void_changed(two.scene)
            rows = await two.approvals()
            assert [row.state for row in rows] == ["void", "void", "pending"]
            for row in rows[:2]:
                assert await two.gate.reconsider(one.proposals[row.call], row, two.scene) is None
            assert [(row.call, row.state) for row in (await two.approvals())[2:]] == [
                ("1.2", "pending"),
                ("1.0", "pending"),
                ("1.1", "pending"),
            ]
            assert [row.closed for row in await two.operations()] == ["superseded", "superseded", None, None, None]
            assert await ledger.verify() == []

    asyncio.run(go())


@on_stage(refund)
async def test_an_approvers_own_arguments_are_a_new_operation_and_the_model_is_told(s: Stage) -> None:
    await s.consider("refund", BIG)
    plan = await s.decide("1.0", edited={**BIG, "cents": 5000})
    outcome = await s.go(plan)
    assert isinstance(outcome, Succeeded)
    assert "5000" in (outcome.shown or "")
    assert "4111" not in (outcome.shown or "")
    old, new = await s.operations()
    assert (old.closed, new.state, new.author) == ("superseded", "succeeded", "bob")
    assert json.loads(new.arguments)["cents"] == 5000
    assert ("ch_1", 5000) in RAN
    assert s.considered().author == "bob"
    [row] = await s.approvals()
    assert row.state == "consumed"


@on_stage(refund, policies=[lambda r: Deny("no") if r.arguments["cents"] == 1 else Ask(two_person=r.arguments["cents"] > 9950)])
async def test_an_approvers_own_arguments_pass_every_step(s: Stage) -> None:
    await s.consider("refund", BIG)
    assert await s.decide("1.0", edited={**BIG, "cents": 1}) is None
    outcome = s.outcome("1.0")
    assert isinstance(outcome, Refused)
    assert outcome.code == "policy.denied"
    await s.consider("refund", {**BIG, "charge": "ch_3"}, call="1.1")
    assert await s.decide("1.1", edited={**BIG, "cents": "many"}) is None
    outcome = s.outcome("1.1")
    assert isinstance(outcome, Refused)
    assert outcome.code == "arguments.invalid"
    await s.consider("refund", {**BIG, "charge": "ch_4"}, call="1.2")
    assert await s.decide("1.2", edited={**BIG, "charge": "ch_4", "cents": 9999}) is None
    row = (await s.approvals())[-1]
    assert (row.two_person, row.author, row.state) == (True, "bob", "pending")
    outcome = await s.go(await s.decide("1.2", by="carol"), "1.2")
    assert isinstance(outcome, Succeeded)
    assert "9999" in (outcome.shown or "")


@on_stage(peek)
async def test_a_read_may_need_a_person_too(s: Stage) -> None:
    assert await s.consider("peek", {"text": "x"}) is None
    assert isinstance(await s.go(await s.decide("1.0")), Succeeded)
    assert (await s.approvals())[0].state == "consumed"
    assert await s.operations() == []
    await s.consider("peek", {"text": "y"}, call="1.1")
    assert await s.decide("1.1", allow=False) is None
    assert isinstance(await s.call("peek", {"text": "y"}, call="1.2"), Refused)


@on_stage(send)
async def test_once_per_call_each_request_is_its_own(s: Stage) -> None:
    await s.consider("send", {"text": "x"})
    await s.consider("send", {"text": "x"}, call="1.1")
    assert len(await s.operations()) == 2
    assert isinstance(await s.go(await s.decide("1.1"), "1.1"), Succeeded)


@on_stage(send, refund, ask_user)
async def test_cancelling_closes_what_waits_and_voids_its_approval(s: Stage) -> None:
    await s.consider("send", {"text": "x"})
    await s.consider("ask_user", {"question": "Which?"}, call="1.1")
    await s.consider("refund", {"charge": "c", "cents": 1}, call="1.2")
    s.scene.cancelled.set()
    for call in ("1.0", "1.1", "1.2"):
        await s.gate.cancel(s.proposals[call], s.scene)
        outcome = s.outcome(call)
        assert isinstance(outcome, NotRun)
        assert outcome.code == "cancelled"
    await s.scene.journal.flush()
    assert {row.state for row in await s.approvals()} == {"void"}
    assert (await s.operation()).closed == "cancelled"


@on_stage(refund)
async def test_what_was_approved_and_then_held_back_does_not_stay_open(s: Stage) -> None:
    await s.consider("refund", BIG)
    await s.decide("1.0")
    await s.gate.hold_back(s.proposals["1.0"], "held_back", s.scene)
    await s.scene.journal.flush()
    outcome = s.outcome("1.0")
    assert isinstance(outcome, NotRun)
    assert outcome.code == "held_back"
    assert (await s.operation()).state == "closed"


@on_stage(ask_user)
async def test_the_requesters_answer_is_trusted_and_anybody_elses_is_not(s: Stage) -> None:
    for call, by, trusted in (("1.0", "alice", True), ("1.1", "carol", False)):
        assert await s.consider("ask_user", {"question": "Which one?", "choices": ["a", "b"]}, call=call) is None
        row = (await s.approvals())[-1]
        assert (row.kind, row.preview, row.operation) == ("question", "Which one?", None)
        await s.ledger.decide(Decision(approval=row.id, verdict="answered", by=by, answer='"a"'))
        await s.take_decision(call)
        assert s.outcome(call) == Succeeded(value="a")
        assert s.ended(call).label.trusted is trusted
        await s.scene.journal.flush()
        assert (await s.approvals())[-1].state == "consumed"
    assert await s.operations() == []


def test_a_question_that_nobody_answers_is_not_run() -> None:
    @on_stage(ask_user)
    async def check(s: Stage) -> None:
        await s.consider("ask_user", {"question": "Which one?"})
        await ambient.sleep(90_000)
        [row] = await s.approvals()
        await s.ledger.decide(Decision(approval=row.id, verdict="answered", by="alice", answer='"a"'))
        await s.take_decision("1.0")
        outcome = s.outcome("1.0")
        assert isinstance(outcome, NotRun)
        assert outcome.code == "expired"

    with ambient.use(ambient.Seeded()):
        check()


def test_the_model_withdraws_what_it_submitted_and_nothing_of_others() -> None:
    async def go() -> None:
        async with opened() as ledger:
            one = await stage(ledger, [send, withdraw], on_wait="answer")
            await one.consider("send", {"text": "x"})
            row = await one.operation()
            other = await stage(ledger, [send, withdraw], run="run_2", principal=BOB)
            outcome = await other.call("withdraw", {"operation": row.id})
            assert isinstance(outcome, Refused)
            assert isinstance(await one.call("withdraw", {"operation": row.id}, call="2.0"), Succeeded)
            ended = one.outcome("1.0")
            assert isinstance(ended, NotRun)
            assert ended.code == "withdrawn"
            assert (await one.operation()).closed == "withdrawn"
            again = await one.call("withdraw", {"operation": row.id}, call="3.0")
            assert isinstance(again, Succeeded)
            assert await ledger.verify() == []

    asyncio.run(go())


@on_stage(refund)
async def test_a_yes_that_arrives_in_a_cancelled_run_starts_nothing(s: Stage) -> None:
    await s.consider("refund", {**BIG, "charge": "ch_7"})
    s.scene.cancelled.set()
    assert await s.decide("1.0") is None
    outcome = s.outcome("1.0")
    assert isinstance(outcome, NotRun)
    assert (await s.operation()).closed == "cancelled"
    assert not any(charge == "ch_7" for charge, _ in RAN)


@on_stage(refund)
async def test_every_move_names_its_operation_and_its_call(s: Stage) -> None:
    await s.consider("refund", {**BIG, "charge": "ch_8"})
    await s.go(await s.decide("1.0"))
    moved = [one for one in s.of(OperationMoved) if isinstance(one, OperationMoved)]
    assert {one.call for one in moved} == {"1.0"}
    assert len({one.operation for one in moved}) == 1
    assert s.ended().operation == moved[0].operation
    assert s.ended().changed is True
    assert s.ended().label == TRUSTED
    assert s.scene.principal == ALICE


def test_what_was_approved_and_not_yet_dispatched_when_the_owner_died_goes_on_without_asking_again() -> None:
    async def go() -> None:
        async with opened() as ledger:
            one = await stage(ledger, [refund, peek, ask_user])
            await one.consider("refund", {**BIG, "charge": "ch_20"})
            await one.consider("peek", {"text": "x"}, call="1.1")
            await one.consider("ask_user", {"question": "Which?"}, call="1.2")
            assert await one.decide("1.0") is not None
            assert await one.decide("1.1") is not None
            await one.scene.journal.flush()
            await one.scene.journal.commit(release=True)
            two = await stage(ledger, [refund, peek, ask_user], claim=True)
            for call, verdict in (("1.0", "ready"), ("1.1", "ready"), ("1.2", "waiting")):
                plan = await two.gate.consider(replace(one.proposals[call], again=True), two.scene)
                assert two.considered(call).verdict == verdict
                if plan is not None:
                    assert isinstance(await two.go(plan, call), Succeeded)
            assert [row.state for row in await two.approvals()] == ["consumed", "consumed", "pending"]
            assert len(await two.operations()) == 1
            await two.scene.journal.flush()
            await verified(ledger)

    asyncio.run(go())


@on_stage(refund)
async def test_a_second_request_for_the_same_key_says_that_the_first_one_waits(s: Stage) -> None:
    await s.consider("refund", {**BIG, "charge": "ch_21"})
    await s.consider("refund", {**BIG, "charge": "ch_21", "cents": 700}, call="1.1")
    first, second = await s.approvals()
    assert first.reasons == ()
    assert any(str(first.operation) in reason for reason in second.reasons)
    assert isinstance(await s.go(await s.decide("1.1"), "1.1"), Succeeded)


def test_a_call_that_followed_a_holder_is_put_to_a_person_after_all_if_the_holder_failed() -> None:
    started, release = asyncio.Event, asyncio.Event

    async def go() -> None:
        began, let = started(), release()

        @tool(effect=write(once_per="id", recovery=manual), timeout_s=5, label=TRUSTED)
        async def act(id: str) -> str:
            """Act.

            Args:
                id: which
            """
            began.set()
            await let.wait()
            raise NoEffect("declined")

        async with opened() as ledger:
            one = await stage(ledger, [act], policies=[lambda r: Allow()])
            two = await stage(ledger, [act], run="run_2")
            first = asyncio.ensure_future(one.call("act", {"id": "1"}))
            await began.wait()
            plan = await two.consider("act", {"id": "1"})
            assert plan is not None
            assert two.considered().code == "held"
            let.set()
            assert isinstance(await first, Failed)
            await two.gate.execute(plan, two.scene)
            assert two.considered().verdict == "waiting"
            assert two.of_kind("call.ended") == []
            assert (await two.operation()).state == "awaiting_approval"
            await verified(ledger)

    asyncio.run(go())
