"""Every ending of a handler, for every kind of recovery, and what a held key means to others."""

from __future__ import annotations

import asyncio
import threading

from gate.stage import BOB, Stage, on_stage, opened, stage, turn, until
from remit import ambient
from remit.canonical import encode
from remit.tool import (
    CALL,
    CANNOT_TELL,
    CONVERSATION,
    DID_NOT,
    READ,
    RUN,
    Context,
    Happened,
    NoEffect,
    Tool,
    idempotent,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.types.delivery import LateReport, OwnerGone, Settlement, Withdrawal
from remit.types.ident import OperationId
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, FieldError, Refused, Succeeded, Unknown


class World:
    """An outside world that can be told how to behave."""

    def __init__(self, *script: object) -> None:
        self.script = list(script)
        self.effects: list[str] = []
        self.ids: list[object] = []
        self.asked = 0
        self.answers: list[object] = []

    async def act(self, id: str) -> object:
        step = self.script.pop(0) if self.script else "ok"
        if step == "hang":
            self.effects.append(id)
            await asyncio.Event().wait()
        if step == "hang-before":
            await asyncio.Event().wait()
        if isinstance(step, tuple):  # the effect lands, and then it fails
            self.effects.append(id)
            raise step[1]
        if isinstance(step, Exception):
            raise step
        self.effects.append(id)
        return step

    async def ask(self, arguments: object, ctx: object) -> object:
        self.asked += 1
        answer = self.answers.pop(0) if self.answers else CANNOT_TELL
        if isinstance(answer, Exception):
            raise answer
        return answer


def writer(world: World, recovery: object, *, atomic: bool = False, once_per: object = "id", **more: object) -> Tool:
    @tool(
        effect=write(once_per=once_per, recovery=recovery, atomic=atomic),  # type: ignore[arg-type]
        approve=never,
        name="act",
        timeout_s=0.05,
        **more,  # type: ignore[arg-type]
    )
    async def act(id: str, note: str = "") -> object:
        """Act.

        Args:
            id: which
            note: why
        """
        return await world.act(id)

    return act


def run(world: World, recovery: object, body: object, *, virtual: bool = True, run: str = "run_1", **more: object) -> None:
    """One stage with one writer, under a clock that jumps over waits."""
    options = {key: more.pop(key) for key in ("atomic", "once_per") if key in more}

    async def go() -> None:
        async with opened() as ledger:
            one = await stage(ledger, [writer(world, recovery, **options)], run=run, **more)  # type: ignore[arg-type]
            await body(one)  # type: ignore[operator]
            await one.scene.journal.flush()
            assert await ledger.verify() == []

    if virtual:
        with ambient.use(ambient.Seeded(7)):
            asyncio.run(go())
    else:
        asyncio.run(go())


def test_a_read_that_fails_or_hangs_is_failed_and_says_so_without_foreign_words() -> None:
    @tool(effect=READ, timeout_s=0.02, label=TRUSTED)
    async def broken(how: str) -> str:
        """Break.

        Args:
            how: how
        """
        if how == "hang":
            await asyncio.Event().wait()
        raise ConnectionError("postgres://user:hunter22@db.internal")

    @on_stage(broken, secrets=["hunter22"])
    async def check(s: Stage) -> None:
        outcome = await s.call("broken", {"how": "raise"})
        assert isinstance(outcome, Failed)
        assert "ConnectionError" in outcome.message
        assert "internal" not in outcome.message
        detail = s.ended().detail or ""
        assert "db.internal" in detail
        assert "hunter22" not in detail
        outcome = await s.call("broken", {"how": "hang"}, call="1.1")
        assert isinstance(outcome, Failed)
        assert outcome.code == "tool.timeout"

    check()


def test_an_atomic_writes_own_exception_is_failed_and_its_key_is_free_again() -> None:
    world = World(ValueError("no"), "done")

    async def body(s: Stage) -> None:
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Failed)
        assert s.ended().changed is False
        assert (await s.operation()).state == "failed"
        again = await s.call("act", {"id": "1"}, call="2.0")
        assert isinstance(again, Succeeded)
        assert not again.repeat
        assert len({one.id for one in await s.operations()}) == 2

    run(world, manual, body, atomic=True)


def test_an_atomic_write_that_hangs_is_unknown() -> None:
    world = World("hang")

    async def body(s: Stage) -> None:
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Unknown)
        assert s.ended().changed is None

    run(world, manual, body, atomic=True)


def test_a_manual_write_that_fails_is_unknown_and_waits_for_a_person() -> None:
    world = World(ValueError("lost"))

    async def body(s: Stage) -> None:
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Unknown)
        row = await s.operation()
        assert row.state == "unknown"
        assert "lost" in "".join(row.evidence)
        again = await s.call("act", {"id": "1"}, call="2.0")
        assert isinstance(again, Unknown)
        assert world.effects == []
        await s.delivered(Settlement(operation=row.id, attempt=1, happened=True, by="bob", reason="seen", result='{"ref": 7}'))
        assert (await s.operation()).settled_by == "by:bob"
        told = await s.call("act", {"id": "1"}, call="3.0")
        assert told == Succeeded(value={"ref": 7}, repeat=True, operation=row.id)

    run(world, manual, body)


def test_no_effect_is_failed_for_every_kind_and_its_words_reach_the_model() -> None:
    for recovery in (manual, idempotent(60), reconcile(World().ask)):
        error = NoEffect("card declined", retry="corrected", fields=(FieldError("/id", "another card"),))
        world = World(error, "ok")

        async def body(s: Stage) -> None:
            outcome = await s.call("act", {"id": "1"})
            assert isinstance(outcome, Failed)
            assert (outcome.message, outcome.retry) == ("card declined", "corrected")
            assert outcome.fields[0].path == "/id"
            again = await s.call("act", {"id": "1"}, call="2.0")
            assert isinstance(again, Succeeded)

        run(world, recovery, body)


def test_an_idempotent_write_is_sent_again_under_the_same_id_with_stored_arguments() -> None:
    world = World(("effect", ConnectionError()), ConnectionError(), "ok")

    async def body(s: Stage) -> None:
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Succeeded)
        row = await s.operation()
        assert (row.state, row.attempt) == ("succeeded", 3)
        assert s.moves() == ["allowed", "in_doubt", "resent", "in_doubt", "resent", "returned"]
        assert len(await s.operations()) == 1

    run(world, idempotent(60), body)


def test_no_effect_of_a_later_attempt_proves_nothing_about_an_earlier_one_that_is_in_doubt() -> None:
    reset, refused = ("effect", ConnectionResetError("the reply was lost")), NoEffect("nothing was sent")

    async def sent_again(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "1"}), Succeeded)
        assert s.moves() == ["allowed", "in_doubt", "resent", "in_doubt", "resent", "returned"]

    async def stays_unknown(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "1"}), Unknown)
        assert isinstance(await s.call("act", {"id": "1"}, call="2.0"), Unknown)
        assert len(await s.operations()) == 1

    async def after_a_no(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "1"}), Failed)
        assert (await s.operation()).attempt == 2

    run(World(reset, refused, "ok"), idempotent(600), sent_again)
    run(World(reset, refused), idempotent(600, attempts=2), stays_unknown)
    world = World(ConnectionError(), refused)
    world.answers = [DID_NOT, DID_NOT]
    run(world, reconcile(world.ask), after_a_no)


def test_a_late_no_effect_of_a_later_attempt_settles_only_what_a_reconcilers_no_came_before() -> None:
    for kind, state in (("idempotent", "unknown"), ("reconcile", "failed")):
        world = World(ConnectionError(), ConnectionError())
        world.answers = [DID_NOT, DID_NOT]
        recovery = idempotent(600, attempts=2) if kind == "idempotent" else reconcile(world.ask)

        async def body(s: Stage, state: str = state) -> None:
            assert isinstance(await s.call("act", {"id": "1"}), Unknown)
            row = await s.operation()
            assert (row.state, row.attempt) == ("unknown", 2)
            await s.delivered(_late(row.id, 2, success=False))
            assert (await s.operation()).state == state

        run(world, recovery, body)


def test_an_idempotent_sync_write_is_sent_again_while_its_first_attempt_runs_on() -> None:
    going_on = threading.Event()
    attempts: list[object] = []

    @tool(effect=write(once_per="id", recovery=idempotent(60)), approve=never, timeout_s=0.03, label=TRUSTED)
    def slow(id: str, ctx: Context[object]) -> str:
        """Act slowly.

        Args:
            id: which
        """
        attempts.append((ctx.attempt, ctx.operation_id))
        if ctx.attempt == 1:
            going_on.wait(5)
        return f"attempt {ctx.attempt}"

    @on_stage(slow)
    async def check(s: Stage) -> None:
        outcome = await s.call("slow", {"id": "1"})
        assert isinstance(outcome, Succeeded)
        assert outcome.value == "attempt 2"
        going_on.set()
        assert await s.ledger.wait_inbox(s.scene.run, after=0, timeout_s=5)
        await s.take()
        row = await s.operation()
        assert (row.state, row.attempt) == ("succeeded", 2)
        assert "attempt 1" in row.evidence[-1]
        assert attempts == [(1, row.id), (2, row.id)]

    check()


def test_a_result_that_a_person_settles_with_keeps_every_digit() -> None:
    exact = 2**60 + 1

    async def body(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "1"}), Unknown)
        said = Settlement(
            operation=(await s.operation()).id,
            attempt=1,
            happened=True,
            by="bob",
            reason="seen",
            result=encode({"cents": exact}),
        )
        await s.delivered(said)
        again = await s.call("act", {"id": "1"}, call="2.0")
        assert isinstance(again, Succeeded)
        assert again.value == {"cents": exact}

    run(World(ConnectionError()), manual, body)


def test_resends_end_with_the_attempts_and_with_the_window() -> None:
    for recovery in (idempotent(60, attempts=2), idempotent(0.1)):
        world = World(*[ConnectionError()] * 9)

        async def body(s: Stage) -> None:
            outcome = await s.call("act", {"id": "1"})
            assert isinstance(outcome, Unknown)
            assert (await s.operation()).attempt <= 2

        run(world, recovery, body)


def test_a_mismatch_on_a_resend_stays_unknown() -> None:
    world = World("hang", RuntimeError("409 conflict"))

    async def body(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "1"}), Unknown)
        assert (await s.operation()).state == "unknown"

    run(world, idempotent(60, attempts=2), body, atomic=True)


def test_a_reconcilers_yes_counts_at_once() -> None:
    world = World(("effect", ConnectionError()))
    world.answers = [Happened({"ref": "r1"})]

    async def body(s: Stage) -> None:
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Succeeded)
        assert outcome.value == {"ref": "r1"}
        assert world.asked == 1
        assert s.moves() == ["allowed", "in_doubt", "reconciled_yes"]

    run(world, reconcile(world.ask), body)


def test_a_reconcilers_no_counts_only_when_the_attempt_can_no_longer_land_and_then_it_runs_once() -> None:
    world = World(ConnectionError(), "ok")
    world.answers = [DID_NOT, DID_NOT]

    async def body(s: Stage) -> None:
        began = ambient.now_ms()
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Succeeded)
        assert world.asked == 2
        assert ambient.now_ms() - began >= 5_050
        assert s.moves() == ["allowed", "in_doubt", "resent", "returned"]
        assert world.effects == ["1"]

    run(world, reconcile(world.ask, settle_s=5), body)


def test_a_no_without_attempts_left_is_failed() -> None:
    world = World(ConnectionError(), ConnectionError())
    world.answers = [DID_NOT] * 9

    async def body(s: Stage) -> None:
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Failed)
        assert outcome.code == "reconciled_no"
        assert s.moves() == ["allowed", "in_doubt", "resent", "in_doubt", "reconciled_no"]

    run(world, reconcile(world.ask, attempts=2), body)


def test_a_reconciler_that_cannot_tell_or_fails_is_asked_once_more_and_then_it_is_unknown() -> None:
    world = World(ConnectionError())
    world.answers = [RuntimeError("db.internal is down"), CANNOT_TELL]

    async def body(s: Stage) -> None:
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Unknown)
        assert world.asked == 2
        assert "internal" not in outcome.message

    run(world, reconcile(world.ask), body)


def test_while_the_run_holds_a_person_may_settle_it() -> None:
    world = World(ConnectionError())
    arrived = asyncio.Event

    async def body(s: Stage) -> None:
        waits = arrived()

        async def ask(arguments: object, ctx: object) -> object:
            waits.set()
            return CANNOT_TELL

        world.ask = ask  # type: ignore[method-assign]
        calling = asyncio.ensure_future(s.call("act", {"id": "1"}))
        await waits.wait()
        row = await s.operation()
        await s.delivered(Settlement(operation=row.id, attempt=1, happened=False, by="bob", reason="not in the books"))
        outcome = await calling
        assert isinstance(outcome, Failed)
        assert outcome.code == "settled_no"

    run(world, reconcile(lambda a, c: world.ask(a, c), settle_s=60), body, virtual=False)


def test_a_result_that_cannot_be_kept_leaves_the_effect_succeeded() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("no")

        def model_dump(self) -> object:
            raise RuntimeError("no")

    world = World(Odd())

    async def body(s: Stage) -> None:
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Succeeded)
        assert (await s.operation()).state == "succeeded"

    run(world, manual, body)


def test_an_error_before_the_handlers_first_line_is_failed() -> None:
    def subject(principal: object) -> object:
        raise LookupError("no such user in ldap.internal")

    @tool(effect=write(once_per="id", recovery=manual), approve=never, bound={"who": subject}, label=TRUSTED)
    async def act(id: str, who: str) -> str:
        """Act.

        Args:
            id: which
            who: whose
        """
        return id

    @on_stage(act)
    async def check(s: Stage) -> None:
        outcome = await s.call("act", {"id": "1"})
        assert isinstance(outcome, Failed)
        assert outcome.code == "tool.not_started"
        assert "ldap" not in outcome.message

    check()


# a held key


def test_a_repeat_gets_the_recorded_outcome_and_other_arguments_a_conflict_that_names_the_fields() -> None:
    world = World("first")

    async def body(s: Stage) -> None:
        first = await s.call("act", {"id": "1", "note": "a"})
        assert isinstance(first, Succeeded)
        again = await s.call("act", {"id": "1", "note": "a"}, call="1.1")
        assert again == Succeeded(value="first", repeat=True, operation=first.operation)
        assert s.ended("1.1").changed is False
        other = await s.call("act", {"id": "1", "note": "b"}, call="1.2")
        assert isinstance(other, Refused)
        assert other.code == "conflict"
        assert [one.path for one in other.fields] == ["/note"]
        assert world.effects == ["1"]

    run(world, manual, body)


def test_two_equal_calls_of_one_turn_that_were_both_ready_are_one_effect() -> None:
    world = World("first")

    async def body(s: Stage) -> None:
        plans = [await s.consider("act", {"id": "1"}, call=call) for call in ("1.0", "1.1")]
        assert all(plans)
        first = await s.go(plans[0], "1.0")
        second = await s.go(plans[1], "1.1")
        assert isinstance(first, Succeeded)
        assert isinstance(second, Succeeded)
        assert second.repeat
        assert world.effects == ["1"]

    run(world, manual, body)


def test_another_subject_sees_only_that_it_was_done() -> None:
    world = World("secret result")

    async def go() -> None:
        async with opened() as ledger:
            act = writer(world, manual)
            mine = await stage(ledger, [act])
            await mine.call("act", {"id": "1"})
            theirs = await stage(ledger, [act], run="run_2", principal=BOB)
            outcome = await theirs.call("act", {"id": "1"})
            assert isinstance(outcome, Succeeded)
            assert outcome.repeat
            assert outcome.value is None
            assert outcome.shown == "already done"

    asyncio.run(go())


def test_scopes_of_sameness() -> None:
    cases = [(CALL, 3, 2), (RUN, 1, 1), (CONVERSATION, 1, 0), ("id", 1, 0)]
    for once_per, in_one, more in cases:
        world = World()

        async def go(once_per: object = once_per, in_one: int = in_one, more: int = more, world: World = world) -> None:
            async with opened() as ledger:
                act = writer(world, manual, once_per=once_per)
                one = await stage(ledger, [act], conversation="c")
                for call in ("1.0", "1.1", "2.0"):
                    await one.call("act", {"id": "1"}, call=call)
                assert len(world.effects) == in_one
                two = await stage(ledger, [act], run="run_2", conversation="c")
                for call in ("1.0", "1.1"):
                    await two.call("act", {"id": "1"}, call=call)
                assert len(world.effects) == in_one + more

        asyncio.run(go())


def test_a_blind_retry_of_an_unknown_call_needs_an_approval_that_shows_it() -> None:
    world = World(ConnectionError())

    async def body(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "1"}), Unknown)
        assert await s.consider("act", {"id": "1"}, call="2.0") is None
        [row] = await s.approvals()
        [operation, _] = await s.operations()
        assert any("unknown" in reason and operation.id in reason for reason in row.reasons)
        await s.delivered(Settlement(operation=operation.id, attempt=1, happened=False, by="bob", reason="no"))
        assert isinstance(await s.call("act", {"id": "2"}, call="3.0"), Succeeded)

    run(world, manual, body, once_per=CALL)


def test_a_run_waits_for_a_live_holder_and_then_gets_its_result() -> None:
    world = World()
    release = asyncio.Event

    async def go() -> None:
        async with opened() as ledger:
            gate, started = release(), release()

            async def act(id: str) -> object:
                started.set()
                await gate.wait()
                return "done"

            world.act = act  # type: ignore[method-assign]
            held = writer(world, manual)
            object.__setattr__(held, "timeout_s", 5.0)
            one = await stage(ledger, [held])
            two = await stage(ledger, [held], run="run_2")
            first = asyncio.ensure_future(one.call("act", {"id": "1"}))
            await started.wait()
            second = asyncio.ensure_future(two.call("act", {"id": "1"}))
            await turn()
            gate.set()
            assert isinstance(await first, Succeeded)
            outcome = await second
            assert isinstance(outcome, Succeeded)
            assert outcome.repeat

    asyncio.run(go())


def test_a_live_holder_that_takes_too_long_is_in_progress() -> None:
    world = World("hang")

    async def go() -> None:
        async with opened() as ledger:
            slow = writer(world, manual)
            object.__setattr__(slow, "timeout_s", 60.0)
            one = await stage(ledger, [slow])
            two = await stage(ledger, [writer(world, manual)], run="run_2")
            first = asyncio.ensure_future(one.call("act", {"id": "1"}))
            await until(lambda: bool(world.effects))
            outcome = await two.call("act", {"id": "1"})
            assert isinstance(outcome, Unknown)
            assert outcome.code == "in_progress"
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    asyncio.run(go())


# late reports


def test_a_sync_tool_that_sleeps_past_its_timeout_is_unknown_and_its_late_result_is_attached() -> None:
    gate = threading.Event()
    ran: list[str] = []

    @tool(effect=write(once_per="id", recovery=manual), approve=never, timeout_s=0.03, label=TRUSTED)
    def slow(id: str) -> str:
        """Act slowly.

        Args:
            id: which
        """
        gate.wait(5)
        ran.append(id)
        return "late"

    @on_stage(slow)
    async def check(s: Stage) -> None:
        outcome = await s.call("slow", {"id": "1"})
        assert isinstance(outcome, Unknown)
        again = await s.call("slow", {"id": "1"}, call="2.0")
        assert isinstance(again, Unknown)
        gate.set()
        assert await s.ledger.wait_inbox(s.scene.run, after=0, timeout_s=5)
        await s.take()
        row = await s.operation()
        assert (row.state, row.settled_by) == ("succeeded", "late")
        told = await s.call("slow", {"id": "1"}, call="3.0")
        assert isinstance(told, Succeeded)
        assert told.value == "late"
        assert ran == ["1"]

    check()


async def _row(s: Stage, state: str) -> OperationId:
    row = await s.operation()
    assert row.state == state
    return row.id


def _late(operation: OperationId, attempt: int, *, success: bool) -> LateReport:
    outcome = Succeeded(value="late") if success else Failed(code="no_effect", message="nothing")
    return LateReport(operation=operation, attempt=attempt, outcome=outcome)


def test_late_reports_move_an_operation_only_as_the_table_says() -> None:
    async def of_unknown(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "1"}), Unknown)
        await s.delivered(_late(await _row(s, "unknown"), 1, success=False))
        await _row(s, "failed")
        await s.delivered(_late(await _row(s, "failed"), 1, success=False))
        await _row(s, "failed")
        await s.delivered(_late(await _row(s, "failed"), 1, success=True))
        await _row(s, "failed")  # its own handler said that nothing happened
        assert len(s.of_kind("operation.contradicted")) == 1

    async def of_succeeded(s: Stage) -> None:
        await s.call("act", {"id": "1"})
        await s.delivered(_late(await _row(s, "succeeded"), 1, success=True))
        await s.delivered(_late(await _row(s, "succeeded"), 1, success=False))
        row = await s.operation()
        assert (row.state, len(row.evidence)) == ("succeeded", 2)
        assert len(s.of_kind("operation.contradicted")) == 1

    async def after_a_no(s: Stage) -> None:
        await s.call("act", {"id": "1"})
        first = await _row(s, "unknown")
        await s.delivered(
            Settlement(operation=first, attempt=1, happened=False, by="handler", reason="no")
        )  # a person of that name
        await s.delivered(_late(await _row(s, "failed"), 1, success=True))
        await _row(s, "succeeded")
        assert len(s.of_kind("operation.contradicted")) == 1

    async def after_a_no_and_a_newer_one(s: Stage) -> None:
        await s.call("act", {"id": "1"})
        first = await _row(s, "unknown")
        await s.delivered(Settlement(operation=first, attempt=1, happened=False, by="bob", reason="no"))
        assert isinstance(await s.call("act", {"id": "1"}, call="2.0"), Succeeded)
        await s.delivered(_late(first, 1, success=True))
        rows = await s.operations()
        assert [row.state for row in rows] == ["failed", "succeeded"]
        [contradicted] = s.of_kind("operation.contradicted")
        assert contradicted.newer == rows[1].id  # type: ignore[attr-defined]

    for script, body in (
        ((ConnectionError(),), of_unknown),
        ((), of_succeeded),
        ((ConnectionError(),), after_a_no),
        ((ConnectionError(),), after_a_no_and_a_newer_one),
    ):
        run(World(*script), manual, body)


def test_a_late_success_of_an_earlier_attempt_is_evidence_and_contradicts_unless_the_other_side_dedupes() -> None:
    for recovery, contradictions in ((idempotent(600), 0), (reconcile(World().ask), 1)):
        world = World(ConnectionError(), "hang")

        async def ask(arguments: object, ctx: object) -> object:
            return DID_NOT

        if contradictions:
            recovery = reconcile(ask)

        async def body(s: Stage, contradictions: int = contradictions, world: World = world) -> None:
            calling = asyncio.ensure_future(s.call("act", {"id": "1"}))
            await until(lambda: bool(world.effects))
            row = await s.operation()
            assert (row.state, row.attempt) == ("dispatched", 2)
            await s.delivered(_late(row.id, 1, success=True))
            assert (await s.operation()).state == "dispatched"
            assert len(s.of_kind("operation.contradicted")) == contradictions
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)

        async def go(recovery: object = recovery, world: World = world, body: object = body) -> None:
            async with opened() as ledger:
                held = writer(world, recovery)
                object.__setattr__(held, "timeout_s", 30.0)
                one = await stage(ledger, [held])
                await body(one)  # type: ignore[operator]

        with ambient.use(ambient.Seeded()):
            asyncio.run(go())


def test_a_settlement_that_cannot_move_the_operation_is_kept_and_named() -> None:
    async def body(s: Stage) -> None:
        await s.call("act", {"id": "1"})
        row = await s.operation()
        await s.delivered(Settlement(operation=row.id, attempt=1, happened=False, by="bob", reason="not seen"))
        assert (await s.operation()).state == "succeeded"
        assert len(s.of_kind("operation.contradicted")) == 1
        await s.delivered(Withdrawal(operation=row.id, by="alice"))
        assert (await s.operation()).state == "succeeded"
        await s.delivered(OwnerGone(operation=row.id, attempt=1))
        assert await s.ledger.inbox(s.scene.run) == []

    run(World(), manual, body)


def test_a_no_of_a_person_says_nothing_of_an_attempt_that_came_after_they_had_looked() -> None:
    world = World(ConnectionError(), ("happens", ConnectionError()))
    world.answers = [DID_NOT, DID_NOT]  # before the first attempt is quiet, and after

    async def body(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "1"}), Unknown)
        row = await s.operation()
        assert (row.state, row.attempt, world.effects) == ("unknown", 2, ["1"])
        await s.delivered(Settlement(operation=row.id, attempt=1, happened=False, by="bob", reason="not in the books"))
        row = await s.operation()
        assert (row.state, row.outcome) == ("unknown", None), "what happened is not recorded as if it had not"
        assert "not in the books" in row.evidence[-1]
        assert s.of_kind("operation.contradicted") == []
        await s.delivered(Settlement(operation=row.id, attempt=2, happened=False, by="bob", reason="nor now"))
        assert (await s.operation()).state == "failed"

    run(world, reconcile(lambda a, c: world.ask(a, c)), body)


# owners


def test_what_a_dead_owner_dispatched_is_recovered_by_whoever_needs_the_key() -> None:
    for recovery, answers, expected in (
        ("reconcile", [Happened("found")], Succeeded),
        ("reconcile", [CANNOT_TELL, CANNOT_TELL], Unknown),
        ("idempotent", [], Succeeded),
        ("manual", [], Unknown),
    ):
        world = World("hang")
        world.answers = list(answers)
        kinds = {"reconcile": reconcile(world.ask), "idempotent": idempotent(600), "manual": manual}

        async def go(recovery: object = kinds[recovery], world: World = world, expected: type = expected) -> None:
            from remit.ledger import MemoryLedger

            first = MemoryLedger()
            await first.open()
            dead = writer(world, recovery)
            object.__setattr__(dead, "timeout_s", 60.0)
            one = await stage(first, [dead])
            calling = asyncio.ensure_future(one.call("act", {"id": "1"}))
            await until(lambda: bool(world.effects))
            first.abandon()
            async with opened(MemoryLedger(store=first)) as ledger:
                two = await stage(ledger, [writer(world, recovery)], run="run_2")
                outcome = await two.call("act", {"id": "1"})
                assert isinstance(outcome, expected), outcome
                [row] = await ledger.operations(run=one.scene.run)
                assert row.state == ("unknown" if expected is Unknown else "succeeded")
                owner = await ledger.run(one.scene.run)
                assert owner is not None
                assert owner.owner is None
                assert await ledger.verify() == []
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)

        with ambient.use(ambient.Seeded()):
            asyncio.run(go())


def test_a_call_that_was_dispatched_before_a_crash_is_recovered_and_never_executed_again() -> None:
    for recovery, answers, expected, effects in (
        ("reconcile", [Happened("found")], Succeeded, 1),
        ("reconcile", [DID_NOT, DID_NOT], Succeeded, 2),
        ("manual", [], Unknown, 1),
        ("idempotent", [], Succeeded, 2),
    ):
        world = World("hang")
        world.answers = list(answers)
        kinds = {"reconcile": reconcile(world.ask), "idempotent": idempotent(600), "manual": manual}

        async def go(
            recovery: object = kinds[recovery], world: World = world, expected: type = expected, effects: int = effects
        ) -> None:
            from remit.ledger import MemoryLedger

            first = MemoryLedger()
            await first.open()
            dead = writer(world, recovery)
            object.__setattr__(dead, "timeout_s", 60.0)
            one = await stage(first, [dead])
            calling = asyncio.ensure_future(one.call("act", {"id": "1"}))
            await until(lambda: bool(world.effects))
            first.abandon()
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
            async with opened(MemoryLedger(store=first)) as ledger:
                two = await stage(ledger, [writer(world, recovery)], claim=True)
                [row] = await two.operations()
                await two.gate.recover(one.proposals["1.0"], row.id, two.scene)
                await two.scene.journal.flush()
                assert isinstance(two.outcome("1.0"), expected)
                assert len(world.effects) == effects
                assert len(await two.operations()) == 1
                assert await ledger.verify() == []

        with ambient.use(ambient.Seeded()):
            asyncio.run(go())


def test_recover_without_a_waiting_call_settles_and_dispatches_nothing() -> None:
    world = World(ConnectionError())
    world.answers = [CANNOT_TELL, CANNOT_TELL, DID_NOT]

    async def go() -> None:
        async with opened() as ledger:
            one = await stage(ledger, [writer(world, reconcile(world.ask))], conversation="c")
            assert isinstance(await one.call("act", {"id": "1"}), Unknown)
            row = await one.operation()
            assert not await one.gate.recover_unowned(row)  # its owner is alive
            await one.scene.journal.commit(release=True)
            assert await one.gate.recover_unowned(row)
            [row] = await ledger.operations(run=one.scene.run)
            assert row.state == "failed"
            assert world.effects == []
            [notice] = await ledger.notices(row.conversation, tenant=row.tenant)  # type: ignore[arg-type]
            assert notice.notify.operation == row.id

    with ambient.use(ambient.Seeded()):
        asyncio.run(go())


def test_cancelling_the_task_leaves_a_dispatched_write_to_its_end_and_reports_it() -> None:
    world = World()

    async def go() -> None:
        async with opened() as ledger:
            release, started = asyncio.Event(), asyncio.Event()

            async def act(id: str) -> object:
                started.set()
                await release.wait()
                return "done"

            world.act = act  # type: ignore[method-assign]
            held = writer(world, manual)
            object.__setattr__(held, "timeout_s", 5.0)
            one = await stage(ledger, [held])
            calling = asyncio.ensure_future(one.call("act", {"id": "1"}))
            await started.wait()
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
            release.set()
            assert await ledger.wait_inbox(one.scene.run, after=0, timeout_s=5)
            await one.take()
            assert (await one.operation()).state == "succeeded"

    asyncio.run(go())
