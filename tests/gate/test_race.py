"""Two things at the same moment: a person decides while the call is withdrawn, cancelled, rechecked or dispatched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gate.stage import Stage, opened, stage
from remit import ambient
from remit.ledger import MemoryLedger
from remit.policy import Ask, Request, Verdict
from remit.tool import (
    CALL,
    DID_NOT,
    Concurrency,
    Context,
    NoEffect,
    Tool,
    always,
    ask_user,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.types.approval import Approval
from remit.types.delivery import Decision, Settlement, Withdrawal
from remit.types.event import ApprovalDecided, OperationMoved
from remit.types.ident import ApprovalId
from remit.types.label import TRUSTED
from remit.types.ledger import Append, Committed
from remit.types.operation import Operation
from remit.types.outcome import Failed, NotRun, Refused, Succeeded

RAN: list[str] = []


@tool(effect=write(once_per="id", recovery=manual), approve=always(), label=TRUSTED)
async def pay(id: str) -> str:
    """Pay.

    Args:
        id: what
    """
    RAN.append(id)
    return "paid"


class Racing(MemoryLedger):
    """Runs `meanwhile` once, right before the next commit that voids an approval, or the next read of one."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def commit(self, append: Append) -> Committed:
        if any(type(change).__name__ in ("VoidApproval", "ConsumeApproval") for change in append.changes):
            await self._between()
        return await super().commit(append)

    async def _between(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()


def story(body: Callable[[Stage, Racing], Awaitable[None]], *tools: Tool, **more: object) -> None:
    """One stage on a ledger where something happens in between; afterwards rows and record agree."""

    async def go() -> None:
        RAN.clear()
        ledger = Racing()
        async with opened(ledger):
            one = await stage(ledger, tools or (pay,), **more)  # type: ignore[arg-type]
            await body(one, ledger)
            await one.scene.journal.flush()
            assert await ledger.verify() == []

    asyncio.run(go())


async def decided(s: Stage, verdict: str, approval: ApprovalId | None = None) -> Approval:
    """What a person says, not journaled yet."""
    name = approval or (await s.approvals())[-1].id
    return await s.ledger.decide(Decision(approval=name, verdict=verdict, by="bob", reason="mine"))  # type: ignore[arg-type]


def verdicts(s: Stage) -> list[str]:
    return [event.verdict for event in s.of(ApprovalDecided) if isinstance(event, ApprovalDecided)]


def test_of_a_no_and_a_withdrawal_at_once_the_no_that_was_said_stands() -> None:
    async def body(s: Stage, ledger: Racing) -> None:
        await s.consider("pay", {"id": "1"})
        row = await s.operation()
        await s.ledger.post(s.scene.run, Withdrawal(operation=row.id, by="alice"))
        await decided(s, "denied")
        [withdrawal, decision] = await s.ledger.inbox(s.scene.run)
        await s.gate.deliver(withdrawal, s.scene)
        await s.scene.journal.flush()
        assert decision.id in [one.id for one in await s.ledger.inbox(s.scene.run)]
        await s.take_decision("1.0")
        outcome = s.outcome("1.0")
        assert isinstance(outcome, Refused)
        assert outcome.code == "denied"
        assert verdicts(s) == ["denied"]

    story(body)


@pytest.mark.parametrize(("verdict", "state"), [("denied", "denied"), ("approved", "void")])
def test_a_decision_between_reading_and_writing_is_read_again_when_a_call_is_cancelled(verdict: str, state: str) -> None:
    async def body(s: Stage, ledger: Racing) -> None:
        await s.consider("pay", {"id": "1"})
        ledger.meanwhile = lambda: decided(s, verdict)
        await s.gate.cancel(s.proposals["1.0"], s.scene)
        outcome = s.outcome("1.0")
        assert isinstance(outcome, NotRun)
        assert outcome.code == "cancelled"
        assert [row.state for row in await s.approvals()] == [state]
        assert verdicts(s) == [state]
        [event] = s.of(ApprovalDecided)
        assert isinstance(event, ApprovalDecided)
        assert event.by == ("bob" if state == "denied" else "run")

    story(body)


@pytest.mark.parametrize(("verdict", "code", "state"), [("denied", "denied", "denied"), ("approved", "withdrawn", "void")])
def test_a_decision_between_reading_and_writing_is_read_again_when_a_call_is_withdrawn(
    verdict: str, code: str, state: str
) -> None:
    async def body(s: Stage, ledger: Racing) -> None:
        await s.consider("pay", {"id": "1"})
        ledger.meanwhile = lambda: decided(s, verdict)
        await s.ledger.post(s.scene.run, Withdrawal(operation=(await s.operation()).id, by="alice"))
        await s.take()
        if code == "denied":
            assert await s.take_decision("1.0") is None
        assert s.outcome("1.0").code == code  # type: ignore[union-attr]
        assert [row.state for row in await s.approvals()] == [state]
        assert RAN == []

    story(body)


def test_a_question_that_is_declined_while_its_run_is_cancelled_stays_declined() -> None:
    async def body(s: Stage, ledger: Racing) -> None:
        await s.consider("ask_user", {"question": "really?"})
        ledger.meanwhile = lambda: decided(s, "denied")
        await s.gate.cancel(s.proposals["1.0"], s.scene)
        assert [row.state for row in await s.approvals()] == ["denied"]
        assert verdicts(s) == ["denied"]

    story(body, ask_user)


def test_what_is_withdrawn_between_the_yes_and_its_dispatch_does_not_run_and_has_one_answer() -> None:
    async def before(s: Stage, ledger: Racing) -> None:
        await s.consider("pay", {"id": "1"})
        plan = await s.decide("1.0")
        assert plan is not None
        await s.delivered(Withdrawal(operation=(await s.operation()).id, by="alice"))
        await s.gate.execute(plan, s.scene)
        assert s.outcome("1.0").code == "withdrawn"  # type: ignore[union-attr]
        assert RAN == []

    async def in_between(s: Stage, ledger: Racing) -> None:
        await s.consider("pay", {"id": "1"})
        plan = await s.decide("1.0")
        assert plan is not None
        await s.ledger.post(s.scene.run, Withdrawal(operation=(await s.operation()).id, by="alice"))
        taking = asyncio.ensure_future(s.take())
        await s.gate.execute(plan, s.scene)
        await taking
        assert len(s.of_kind("call.ended")) == 1
        assert (RAN == []) == isinstance(s.outcome("1.0"), NotRun)

    story(before)
    story(in_between)


@pytest.mark.parametrize("then", ["denies", "allows", "asks"])
def test_what_is_withdrawn_while_a_yes_is_rechecked_is_answered_once(then: str) -> None:
    asked = asyncio.Event()
    answer = asyncio.Event()
    calls: list[str] = []

    async def owner(arguments: object, ctx: Context[object]) -> bool:
        calls.append(then)
        if len(calls) > 1:
            asked.set()
            await answer.wait()
        return then != "denies" or len(calls) == 1

    def policy(request: Request) -> Verdict | None:
        del request
        if then == "asks" and len(calls) > 1:
            return Ask(scope="more")
        return None

    @tool(effect=write(once_per="id", recovery=manual), approve=always(), owns=owner, label=TRUSTED, name="pay")
    async def owned(id: str) -> str:
        """Pay.

        Args:
            id: what
        """
        RAN.append(id)
        return "paid"

    async def body(s: Stage, ledger: Racing) -> None:
        await s.consider("pay", {"id": "1"})
        deciding = asyncio.ensure_future(s.decide("1.0"))
        await asked.wait()
        await s.delivered(Withdrawal(operation=(await s.operation()).id, by="alice"))
        answer.set()
        plan = await deciding
        if plan is not None:
            await s.gate.execute(plan, s.scene)
        await s.scene.journal.flush()
        assert s.outcome("1.0").code == "withdrawn"  # type: ignore[union-attr]
        assert RAN == []

    story(body, owned, policies=[policy])


def test_what_an_approver_changed_and_an_earlier_failure_held_back_is_closed_once() -> None:
    async def body(s: Stage, ledger: Racing) -> None:
        await s.consider("pay", {"id": "1"})
        assert await s.decide("1.0", edited={"id": "2"}) is not None
        await s.gate.hold_back(s.proposals["1.0"], "held_back", s.scene)
        await s.scene.journal.flush()
        assert s.outcome("1.0").code == "held_back"  # type: ignore[union-attr]
        assert s.moves() == ["requested", "edited"]
        assert [row.state for row in await s.approvals()] == ["void"]

    story(body)


def test_who_shares_a_request_that_was_closed_a_moment_ago_gets_its_answer_and_waits_no_more() -> None:
    async def body(s: Stage, ledger: Racing) -> None:
        await s.consider("pay", {"id": "1"})
        await s.consider("pay", {"id": "1"}, call="1.1")
        assert s.considered("1.1").verdict == "joined"
        [row] = await s.approvals()
        denied = await decided(s, "denied")
        said = ApprovalDecided(approval=row.id, call=row.call, verdict="denied", by="bob", reason="mine")
        s.scene.journal.note(said, taken=tuple(one.id for one in await ledger.inbox(s.scene.run)))
        await s.gate.reconsider(s.proposals["1.0"], denied, s.scene)  # noted, and not durable yet
        assert await s.consider("pay", {"id": "1"}, call="1.1", again=True, joined="1.0") is None
        outcome = s.outcome("1.1")
        assert isinstance(outcome, Refused)
        assert outcome.code == "denied"

    story(body)


def test_a_call_that_waited_for_its_slot_while_the_tool_was_put_in_doubt_needs_a_person() -> None:
    @tool(
        effect=write(once_per=CALL, recovery=manual),
        approve=never,
        concurrency=Concurrency("one", 1),
        resources=("to",),
        label=TRUSTED,
    )
    async def send(to: str) -> str:
        """Send.

        Args:
            to: whom
        """
        RAN.append(to)
        raise ConnectionError

    async def body(s: Stage, ledger: Racing) -> None:
        plans = [await s.consider("send", {"to": to}, call=f"1.{number}") for number, to in enumerate(("a", "b"))]
        await asyncio.gather(*(s.gate.execute(plan, s.scene) for plan in plans if plan is not None))
        assert RAN == ["a"]
        assert s.considered("1.1").verdict == "waiting"
        [row] = await s.approvals()
        assert "unknown" in row.reasons[0]
        plan = await s.decide("1.1")
        assert plan is not None
        await s.gate.execute(plan, s.scene)
        assert RAN == ["a", "b"]

    story(body, send)


def test_a_yes_that_was_given_before_the_tool_was_put_in_doubt_is_asked_again() -> None:
    outcomes = [ConnectionError()]

    @tool(effect=write(once_per=CALL, recovery=manual), approve=always(), label=TRUSTED)
    async def send(to: str) -> str:
        """Send.

        Args:
            to: whom
        """
        RAN.append(to)
        if outcomes:
            raise outcomes.pop()
        return "sent"

    async def body(s: Stage, ledger: Racing) -> None:
        for number, to in enumerate("ab"):
            await s.consider("send", {"to": to}, call=f"1.{number}")
        first, second = await s.decide("1.0"), await s.decide("1.1")
        assert first is not None
        assert second is not None
        await s.gate.execute(first, s.scene)
        await s.gate.execute(second, s.scene)
        assert RAN == ["a"]
        assert s.considered("1.1").verdict == "waiting"
        assert isinstance(await s.go(await s.decide("1.1"), "1.1"), Succeeded)
        assert RAN == ["a", "b"]

    story(body, send)


def test_a_pause_that_a_tool_asked_for_is_kept_for_that_key_and_no_longer() -> None:
    @tool(effect=write(once_per="id", recovery=manual), approve=never, label=TRUSTED)
    async def book(id: str) -> str:
        """Book.

        Args:
            id: what
        """
        RAN.append(id)
        if id == "1" and RAN.count("1") == 1:
            raise NoEffect("busy", retry="after", retry_after_s=60)
        return "booked"

    async def body(s: Stage, ledger: Racing) -> None:
        assert isinstance(await s.call("book", {"id": "1"}), Failed)
        early = await s.call("book", {"id": "1"}, call="2.0")
        assert isinstance(early, Refused)
        assert (early.code, early.retry) == ("retry.early", "after")
        assert early.retry_after_s is not None
        assert 0 < early.retry_after_s <= 60
        assert isinstance(await s.call("book", {"id": "2"}, call="2.1"), Succeeded)
        await ambient.sleep(61)
        assert isinstance(await s.call("book", {"id": "1"}, call="3.0"), Succeeded)
        assert RAN == ["1", "2", "1"]

    with ambient.use(ambient.Seeded()):
        story(body, book)


class Sent(MemoryLedger):
    """Runs `meanwhile` while the second attempt is durable as dispatched, and nobody has heard so yet."""

    meanwhile: Callable[[Operation], Awaitable[object]] | None = None

    async def commit(self, append: Append) -> Committed:
        done = await super().commit(append)
        for one in append.events:
            if isinstance(one.event, OperationMoved) and one.event.on == "resent" and self.meanwhile is not None:
                row = await self.operation(one.event.operation)
                assert row is not None
                await self.meanwhile(row)
        return done


@pytest.mark.parametrize(("happened", "contradictions"), [(True, 1), (False, 0)])
def test_what_is_sent_again_is_not_taken_for_left_behind_before_its_handler_runs(happened: bool, contradictions: int) -> None:
    asked: list[object] = []

    @tool(effect=write(once_per="id", recovery=reconcile(lambda a, c: DID_NOT)), timeout_s=0.05, approve=never, label=TRUSTED)
    async def send(id: str) -> str:
        """Send.

        Args:
            id: what
        """
        RAN.append(id)
        if len(RAN) == 1:
            raise ConnectionError
        return "sent"

    async def go() -> None:
        RAN.clear()
        ledger = Sent()
        async with opened(ledger):
            s = await stage(ledger, (send,))

            async def settle(row: Operation) -> None:
                assert (row.state, row.attempt, RAN) == ("dispatched", 2, ["1"])
                said = Settlement(operation=row.id, attempt=1, happened=happened, by="bob", reason="the books say so")
                await ledger.post(s.scene.run, said)
                asked.append(asyncio.ensure_future(s.take()))
                for _ in range(20):
                    await asyncio.sleep(0)

            ledger.meanwhile = settle
            outcome = await s.call("send", {"id": "1"})
            await asyncio.gather(*asked)  # type: ignore[call-overload]
            await s.scene.journal.flush()
            assert isinstance(outcome, Succeeded)
            row = await s.operation()
            assert (row.state, row.settled_by, row.attempt) == ("succeeded", "handler", 2)
            assert "the books say so" in row.evidence[-1]
            assert len(s.of_kind("operation.contradicted")) == contradictions
            assert await ledger.verify() == []

    with ambient.use(ambient.Seeded(7)):
        asyncio.run(go())
