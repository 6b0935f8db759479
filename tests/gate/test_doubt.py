"""What is in doubt, and what a yes is worth: shown before the next start, recovered no further than is known or allowed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gate.stage import Stage, on_stage, opened, stage, verified
from remit import ambient
from remit.ledger import MemoryLedger
from remit.policy import Allow, Deny
from remit.tool import CALL, CONVERSATION, DID_NOT, RUN, Tool, always, idempotent, manual, never, reconcile, tool, write
from remit.types.change import ConsumeApproval
from remit.types.event import OperationMoved
from remit.types.label import TRUSTED
from remit.types.ledger import Append, Committed
from remit.types.outcome import Failed, Succeeded, Unknown


def writer(recovery: object, sent: list[str], *, once_per: object = "id", approve: object = never) -> Tool:
    """A write that loses its answer once, and then works."""

    @tool(
        effect=write(once_per=once_per, recovery=recovery),  # type: ignore[arg-type]
        approve=approve,  # type: ignore[arg-type]
        timeout_s=0.05,
        label=TRUSTED,
    )
    async def act(id: str) -> str:
        """Act.

        Args:
            id: which
        """
        sent.append(id)
        if len(sent) == 1:
            raise ConnectionError
        return "done"

    return act


def test_a_doubt_that_came_while_a_person_thought_is_shown_before_the_yes_starts_anything() -> None:
    sent: list[str] = []

    @on_stage(writer(manual, sent, once_per=CALL, approve=always(scope="remit:approve")))
    async def check(s: Stage) -> None:
        assert await s.consider("act", {"id": "1"}, call="1.0") is None
        assert await s.consider("act", {"id": "2"}, call="1.1") is None
        assert isinstance(await s.go(await s.decide("1.1"), "1.1"), Unknown)
        [doubtful] = [one for one in await s.operations() if one.state == "unknown"]
        assert await s.decide("1.0") is None, "the yes was given before the doubt was there"
        [again] = [one for one in await s.approvals() if one.state == "pending"]
        assert any(doubtful.id in reason for reason in again.reasons)
        assert sent == ["2"]
        assert isinstance(await s.go(await s.decide("1.0"), "1.0"), Succeeded)
        assert sent == ["2", "1"]

    check()


@pytest.mark.parametrize("once_per", [CALL, CONVERSATION, RUN])
def test_a_doubt_is_shown_in_every_run_of_the_conversation_that_it_belongs_to_and_nowhere_else(once_per: object) -> None:
    async def story() -> None:
        sent: list[str] = []
        async with opened() as ledger:
            act = writer(manual, sent, once_per=once_per)
            one = await stage(ledger, [act], conversation="c")
            assert isinstance(await one.call("act", {"id": "1"}), Unknown)
            [doubtful] = await one.operations()
            other = await stage(ledger, [act], run="run_2", conversation="d")
            assert isinstance(await other.call("act", {"id": "2"}), Succeeded)
            alone = await stage(ledger, [act], run="run_3")
            assert isinstance(await alone.call("act", {"id": "2"}), Succeeded)
            later = await stage(ledger, [act], run="run_4", conversation="c")
            if once_per is RUN:
                assert isinstance(await later.call("act", {"id": "2"}), Succeeded)
            else:
                assert await later.consider("act", {"id": "2"}) is None
                await later.scene.journal.flush()
                [row] = await later.approvals()
                assert any(doubtful.id in reason for reason in row.reasons)
                assert sent == ["1", "2", "2"]

    asyncio.run(story())


def test_a_reconcilers_no_does_not_count_while_the_handler_is_alive_here() -> None:
    release, sent = threading.Event(), list[str]()

    async def look(arguments: object, ctx: object) -> object:
        return DID_NOT

    @tool(effect=write(once_per="id", recovery=reconcile(look, settle_s=0.0)), approve=never, timeout_s=0.03, label=TRUSTED)
    def slow(id: str) -> str:
        """Act slowly.

        Args:
            id: which
        """
        release.wait(20)
        sent.append(id)
        return "late"

    @on_stage(slow)
    async def check(s: Stage) -> None:
        try:
            assert isinstance(await s.call("slow", {"id": "1"}), Unknown)
            assert s.moves() == ["allowed", "in_doubt"]
        finally:
            release.set()
        assert await s.ledger.wait_inbox(s.scene.run, after=0, timeout_s=10)
        await s.take()
        assert ((await s.operation()).state, sent) == ("succeeded", ["1"])

    check()


async def _did_not(arguments: object, ctx: object) -> object:
    return DID_NOT


@pytest.mark.parametrize(("recovery", "ending"), [(idempotent(3600), Unknown), (reconcile(_did_not, settle_s=0.1), Failed)])
def test_nothing_is_sent_again_once_the_gate_denies_it(recovery: object, ending: type) -> None:
    sent: list[str] = []

    def frozen(request: object) -> object:
        return Deny("frozen") if sent else Allow()

    @on_stage(writer(recovery, sent), policies=[frozen])
    async def check(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "1"}), ending)
        assert sent == ["1"]
        assert "resent" not in s.moves()

    with ambient.use(ambient.Seeded(3)):
        check()


class Watched(MemoryLedger):
    """Keeps what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[Append] = []

    async def commit(self, append: Append) -> Committed:
        self.appends.append(append)
        return await super().commit(append)


def test_an_approval_is_consumed_by_the_commit_that_dispatches_and_by_no_other() -> None:
    async def story() -> None:
        ledger, seen = Watched(), list[str]()

        @tool(effect=write(once_per="id", recovery=manual), approve=always(scope="remit:approve"), label=TRUSTED)
        async def act(id: str) -> str:
            """Act.

            Args:
                id: which
            """
            seen.extend(one.state for one in await ledger.approvals(limit=None))
            return "done"

        async with opened(ledger):
            s = await stage(ledger, [act])
            await s.consider("act", {"id": "1"})
            assert isinstance(await s.go(await s.decide("1.0")), Succeeded)
            await verified(ledger)
        [row] = [one for one in ledger.appends if any(isinstance(change, ConsumeApproval) for change in one.changes)]
        moves = [one.event for one in row.events if isinstance(one.event, OperationMoved)]
        assert [(one.on, one.state) for one in moves] == [("approved", "dispatched")]
        assert seen == ["consumed"]

    asyncio.run(story())
