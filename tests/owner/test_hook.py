"""The application's own functions: whatever they raise, and however long they take, the run goes on or ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, play, refund_tool, support, until
from remit import (
    READ,
    TRUSTED,
    Approval,
    Budget,
    Cancelled,
    Denied,
    Escalated,
    Finished,
    InputError,
    LedgerError,
    MemoryLedger,
    Paused,
    Principal,
    Remit,
    ScriptedModel,
    Stopped,
    Tool,
    call,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.types.event import AnswerChecked, CallEnded, RequestFailed, Resumed
from remit.types.ledger import Append, Committed
from remit.types.outcome import Failed, Outcome, Refused, Succeeded, Unknown

BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
TOOL = refund_tool(approve=APPROVED_ABOVE_50)


async def dropped(*given: object) -> object:
    """As a pool does whose connection was lost: a task of its own was cancelled, not ours."""
    task = asyncio.ensure_future(asyncio.Event().wait())
    task.cancel()
    return await task


async def hang(*given: object) -> None:
    await asyncio.Event().wait()


def pay_tool(books: list[str], **changes: object) -> Tool:
    settings: dict[str, object] = {"effect": write(once_per="x", recovery=manual), "approve": never, "timeout_s": 0.1}

    @tool(**(settings | changes))
    async def pay(x: str) -> str:
        """Pay."""
        books.append(x)
        if x == "in doubt":
            raise KeyError(x)
        return "paid"

    return pay


async def told(remit: Remit, run: str, name: str) -> Outcome:
    (ended,) = [one.event for one in await remit.events(run) if isinstance(one.event, CallEnded) and one.event.tool == name]
    assert not [one for one in await remit.events(run) if isinstance(one.event, Resumed)]
    return ended.outcome


def one_call(tool: Tool, x: str, **changes: object) -> Outcome:
    """What a run is told of its one call of `pay`; it never falls out of its driver."""

    async def story() -> Outcome:
        agent = support(ScriptedModel([call("pay", x=x), "Done."]), tool, **changes)
        async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            assert isinstance(run, Finished)
            return await told(remit, run.id, "pay")

    return play(story, seeded=False)


def test_an_owner_check_that_raises_a_cancellation_denies() -> None:
    outcome = one_call(pay_tool([], owns=dropped), "a")
    assert isinstance(outcome, Refused)
    assert outcome.code == "owner.denied"


def test_a_policy_that_raises_a_cancellation_denies() -> None:
    def policy(request: object) -> None:
        raise asyncio.CancelledError

    outcome = one_call(pay_tool([]), "a", policy=policy)
    assert isinstance(outcome, Refused)
    assert outcome.code == "policy.error"


def test_a_reconciler_that_raises_a_cancellation_cannot_tell() -> None:
    books: list[str] = []
    recovery = reconcile(dropped, settle_s=0.05)
    assert isinstance(one_call(pay_tool(books, effect=write(once_per="x", recovery=recovery)), "in doubt"), Unknown)
    assert books == ["in doubt"]


def test_a_model_that_raises_a_cancellation_escalates() -> None:
    class Model(ScriptedModel):
        async def ask(self, body: bytes, stream: object = None) -> bytes:
            await dropped()
            return b""

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(Model([]))], deps=Shop()) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            assert isinstance(run, Escalated)
            assert run.reason == "model.error"
            (failed,) = [one.event for one in await remit.events(run.id) if isinstance(one.event, RequestFailed)]
            assert failed.message == "the model raised CancelledError"

    play(story)


def test_a_result_that_cannot_be_read_takes_no_other_outcome_with_it() -> None:
    books: list[str] = []

    class Rows(list[int]):
        def __iter__(self) -> Iterator[int]:
            raise asyncio.CancelledError

    @tool(effect=READ)
    async def rows(x: str) -> object:
        """Rows."""
        return Rows([1])

    async def story() -> None:
        agent = support(ScriptedModel([[call("pay", x="a"), call("rows", x="a")], "Done."]), pay_tool(books), rows)
        async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            assert isinstance(run, Finished)
            assert isinstance(await told(remit, run.id, "pay"), Succeeded)
            assert isinstance(await told(remit, run.id, "rows"), Succeeded)

    play(story)
    assert books == ["a"]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_a_handler_that_would_end_the_process_is_a_handler_that_failed(kind: type[BaseException]) -> None:
    @tool(effect=READ)
    async def pay(x: str) -> str:
        """Look."""
        raise kind

    outcome = one_call(pay, "a")
    assert isinstance(outcome, Failed)
    assert outcome.code == "tool.failed"
    assert kind.__name__ in outcome.message


def test_an_answer_check_and_a_done_check_that_raise_are_told_to_the_operator_only() -> None:
    async def story() -> None:
        agent = support(ScriptedModel(["Done.", "Done."]), done=dropped)
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            assert isinstance(run, Escalated)
            assert run.reason == "done.error"
            checked = [one.event for one in await remit.events(run.id) if isinstance(one.event, AnswerChecked)]
            assert {one.detail for one in checked} == {"asyncio.exceptions.CancelledError: "}
            assert all("Cancelled" not in one.message for one in checked)

    play(story)


@pytest.mark.parametrize("how", ["cancel", "budget"])
def test_a_done_check_that_hangs_ends_with_the_run(how: str) -> None:
    async def story() -> None:
        budget = Budget(seconds=0.2 if how == "budget" else None)
        agent = support(ScriptedModel(["Done.", "Done."]), done=hang, budget=budget)
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop(), drain_s=0) as remit:
            run = await remit.submit("support", "go", principal=ALICE)
            if how == "cancel":
                await remit.cancel(run.id, by="op")
                assert isinstance(await remit.run_to_end(run.id), Cancelled)
            else:
                ended = await remit.run_to_end(run.id)
                assert isinstance(ended, Stopped)
                assert ended.reason == "budget.seconds"

    play(story, seeded=False)


def test_an_application_that_hangs_when_it_is_told_keeps_no_run_waiting() -> None:
    shop = Shop()

    async def story() -> None:
        agent = support(ScriptedModel([BIG, "Refunded."]), TOOL)
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop, on_waiting=hang, drain_s=0) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
            await remit.decide(run.approvals[0].id, allow=True, by=BOB)
            assert isinstance(await remit.run_to_end(run.id), Finished)

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 9_900)]


def test_a_telling_that_fails_is_logged_once_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    tries = 0

    def notify(approval: Approval) -> None:
        nonlocal tries
        tries += 1
        raise OSError("smtp://user:hunter22@mail is down")

    async def story() -> None:
        agent = support(ScriptedModel([BIG]), TOOL)
        owner = Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop(), on_waiting=notify, secrets=["hunter22"])
        async with owner as remit:
            await remit.run("support", "refund", principal=ALICE)
            await until(lambda: tries > 1)

    with caplog.at_level(logging.ERROR, logger="remit"):
        play(story, seeded=False)
    (said,) = [one.getMessage() for one in caplog.records]
    assert said.startswith("on_waiting= failed: builtins.OSError: smtp://")
    assert "hunter22" not in said


def test_principals_that_hang_deny_and_do_not_keep_an_owner_from_opening() -> None:
    async def story() -> None:
        store, shop = MemoryLedger(), Shop()
        agent = support(ScriptedModel([BIG, "Done."]), TOOL)
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
        async with Remit(ledger=store) as clerk:
            await clerk.decide(run.approvals[0].id, allow=True, by=BOB)

        async def principals(tenant: str, subject: str) -> Principal | None:
            await hang()
            return None

        async with Remit(ledger=store, agents=[agent], deps=shop, principals=principals) as remit:
            with pytest.raises(Denied) as denied:
                await remit.resume(run.id)
            assert denied.value.code == "principal.failed"
        assert shop.refunds == []

    play(story, seeded=False)


def test_a_ledger_that_cannot_be_read_for_a_moment_does_not_end_the_take_up(caplog: pytest.LogCaptureFixture) -> None:
    class Busy(MemoryLedger):
        failures = 0

        async def changed(self, since: int, *, timeout_s: float) -> int:
            if self.failures:
                self.failures -= 1
                raise LedgerError("the file is busy")
            return await super().changed(since, timeout_s=timeout_s)

    shop = Shop()

    async def story() -> None:
        store = Busy()
        agent = support(ScriptedModel([BIG, "Refunded."]), TOOL)
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
            store.failures = 3
            await until(lambda: store.failures == 0)
            await remit.decide(run.approvals[0].id, allow=True, by=BOB)
            await until(lambda: bool(shop.refunds))

    with caplog.at_level(logging.ERROR, logger="remit"):
        play(story, seeded=False)
    assert any("the file is busy" in one.getMessage() for one in caplog.records)


async def decided(remit: Remit, run: Paused) -> None:
    await remit.decide(run.approvals[0].id, allow=True, by=BOB)
    await remit.resume(run.id)


def test_a_run_whose_model_now_speaks_another_protocol_is_cancelled_all_the_same() -> None:
    shop = Shop()

    async def story() -> None:
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[support(ScriptedModel([BIG]), TOOL)], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
        agent = support(ScriptedModel(["Done."], protocol="openai-chat"), TOOL)
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            with pytest.raises(InputError, match=f"remit cancel {run.id}"):
                await decided(remit, run)
            await remit.cancel(run.id, by="op")
            assert isinstance(await remit.run_to_end(run.id), Cancelled)
            assert [one.state for one in await remit.operations(run=run.id)] == ["closed"]
            assert await remit.verify() == []

    play(story)
    assert shop.refunds == []


def test_what_waits_is_withdrawn_also_if_the_model_now_speaks_another_protocol() -> None:
    async def story() -> None:
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[support(ScriptedModel([BIG]), TOOL)], deps=Shop()) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
        agent = support(ScriptedModel(["Done."], protocol="openai-chat"), TOOL)
        async with Remit(ledger=store, agents=[agent], deps=Shop()) as remit:
            assert run.approvals[0].operation is not None
            await remit.withdraw(run.approvals[0].operation, by="bob")
            assert (await remit.operations(run=run.id))[0].closed == "withdrawn"

    play(story)


def test_an_outcome_noted_while_a_settlement_is_journaled_is_not_lost() -> None:
    books: list[str] = []
    slow = asyncio.Event()

    class SlowDisk(MemoryLedger):
        """A commit that journals a delivery is under way until the handler has returned."""

        async def commit(self, append: Append) -> Committed:
            if append.taken:
                slow.set()
                await until(lambda: books == ["second"])
                for _ in range(100):
                    await asyncio.sleep(0)
            return await super().commit(append)

    async def story() -> None:
        @tool(effect=write(once_per="x", recovery=manual), approve=never, label=TRUSTED)
        async def pay(x: str) -> str:
            """Pay."""
            if x == "first":
                raise KeyError(x)
            (first,) = await remit.operations(state=("unknown",))
            settling.append(asyncio.ensure_future(remit.settle(first.id, True, by="op", reason="seen")))
            await slow.wait()
            books.append(x)
            return "paid"

        settling: list[asyncio.Task[object]] = []
        model = ScriptedModel([call("pay", x="first"), call("pay", x="second"), "Done."])
        async with Remit(ledger=SlowDisk(), agents=[support(model, pay)]) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            assert isinstance(run, Finished)
            assert run.verified
            await asyncio.gather(*settling)
            assert [one.state for one in await remit.operations()] == ["succeeded", "succeeded"]
            assert "run.resumed" not in {one.event.kind for one in await remit.events(run.id)}

    play(story, seeded=False)


def test_a_read_that_is_under_way_whenever_a_process_ends_is_not_read_for_ever() -> None:
    reads = 0

    @tool(effect=READ, timeout_s=600)
    async def look(x: str) -> str:
        """Look."""
        nonlocal reads
        reads += 1
        await hang()
        return x

    async def story() -> None:
        store, books = MemoryLedger(), list[str]()
        agent = support(ScriptedModel([[call("pay", x="a"), call("look", x="a")], "Done."]), pay_tool(books), look)
        async with Remit(ledger=store, agents=[agent]) as remit:
            run = await remit.submit("support", "go", principal=ALICE)
            await until(lambda: reads == 1)
            await remit.abandon()
        for process in range(2, 5):
            async with Remit(ledger=store, agents=[agent]) as remit:
                await until(lambda now=process: reads == now)  # type: ignore[misc]
                await remit.abandon()
        async with Remit(ledger=store, agents=[agent]) as remit:
            assert isinstance(await remit.run_to_end(run.id), Finished)
            ended = {
                one.event.tool: one.event.outcome for one in await remit.events(run.id) if isinstance(one.event, CallEnded)
            }
            assert isinstance(ended["look"], Failed)
            assert ended["look"].code == "tool.lost"
            assert await remit.verify() == []
        assert books == ["a"]

    play(story)
    assert reads == 4
