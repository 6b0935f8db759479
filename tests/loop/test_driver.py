"""The driver with real parts: what a run records, what the model reads, and how it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from loop.bench import Bench
from remit import ambient
from remit.errors import InputError, LedgerError, ModelError, RunOwned
from remit.ledger import SqliteLedger
from remit.loop import Driver, RunState, fold, transcript
from remit.model import ScriptedModel, call
from remit.types.budget import Budget
from remit.types.event import ModelRequested, RequestFailed, RunEnded
from remit.types.ident import Json, RunId
from remit.types.ledger import Append, Committed
from remit.types.model import Reading, Reply, Wire
from remit.types.outcome import Failed, NotRun, Refused, Succeeded, Unknown
from remit.types.run import Cancelled, Escalated, Finished, ModelRefused, Paused, Stopped


def go(work: Awaitable[None]) -> None:
    async def run() -> None:
        with ambient.use(ambient.Seeded()):
            await work

    asyncio.run(run())


async def opened(**more: object) -> Bench:
    bench = Bench(**more)  # type: ignore[arg-type]
    await bench.ledger.open()
    return bench


def results_of(body: bytes) -> str:
    """What a request says last."""
    return json.dumps(json.loads(body)["messages"][-1])


def test_an_answer_without_calls_is_finished() -> None:
    async def story() -> None:
        bench = await opened()
        standing = await bench.run(["Hello."])
        assert isinstance(standing, Finished)
        assert (standing.answer, standing.verified, standing.reason) == ("Hello.", True, "finished")
        assert standing.durable is False
        assert await bench.kinds() == [
            "run.started",
            "message.appended",
            "model.requested",
            "model.replied",
            "answer.checked",
            "run.ended",
        ]
        row = await bench.ledger.run(RunId("run_1"))
        assert row is not None
        assert (row.status, row.owner) == ("ended", None)

    go(story())


def test_a_read_and_a_write_are_answered_in_the_model_s_order() -> None:
    async def story() -> None:
        bench = await opened()
        standing = await bench.run([[call("pay", value="a"), call("look", what="x")], "Paid."])
        assert isinstance(standing, Finished)
        assert bench.shop.effects == ["pay a"]
        assert await bench.outcomes() == {
            "1.0": Succeeded(value="done a", operation=(await bench.ledger.operations())[0].id),
            "1.1": Succeeded(value="x after 1"),
        }
        await bench.check()

    go(story())


class Counted:
    """A ledger whose commits are counted, and may be made to fail."""

    def __init__(self, inner: object, fail_at: int = 0) -> None:
        self.inner = inner
        self.commits: list[list[str]] = []
        self.fail_at = fail_at

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    async def commit(self, append: Append) -> Committed:
        if len(self.commits) + 1 == self.fail_at:
            raise LedgerError("the disk is full")
        done: Committed = await self.inner.commit(append)  # type: ignore[attr-defined]
        self.commits.append([one.event.kind for one in append.events])
        return done


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("look", what="x"), call("look", what="y")], 1),
        ([call("pay", value="a")], 2),
        ([call("append", value=str(number)) for number in range(4)], 5),
        ([call("pay", value="a"), call("look", what="x")], 2),
    ],
)
def test_a_turn_commits_once_for_each_write_and_once_more(calls: list[object], expected: int) -> None:
    async def story() -> None:
        bench = await opened()
        counted = Counted(bench.ledger)
        bench.ledger = counted  # type: ignore[assignment]
        await bench.run([calls, "Done."])
        assert len(counted.commits) == 1 + expected + 1
        assert counted.commits[0] == ["run.started", "message.appended", "model.requested"]
        assert counted.commits[-1] == ["model.replied", "answer.checked", "run.ended"]
        assert counted.commits[-2][-2:] == ["results.appended", "model.requested"]

    go(story())


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_if_the_ledger_fails_the_run_stops_and_the_model_is_told_nothing(failing: int) -> None:
    async def story() -> None:
        bench = await opened()
        inner = bench.ledger
        bench.ledger = Counted(inner, failing)  # type: ignore[assignment]
        spec = bench.spec([call("pay", value="a"), "Paid."])
        with pytest.raises(LedgerError):
            await (await bench.begin(spec)).drive()
        assert isinstance(spec.model, ScriptedModel)
        assert len(spec.model.requests) == {1: 0, 2: 1, 3: 1, 4: 2}[failing]
        assert len(bench.shop.effects) == (0 if failing < 3 else 1)
        if failing > 1:
            assert "run.ended" not in [one.event.kind for one in await inner.read(RunId("run_1"))]

    go(story())


def test_the_request_is_the_recorded_text_joined() -> None:
    async def story() -> None:
        bench = await opened()
        spec = bench.spec([call("look", what="x"), "Seen."])
        await (await bench.begin(spec)).drive()
        assert isinstance(spec.model, ScriptedModel)
        said = transcript(await bench.events())
        assert [len(json.loads(body)["messages"]) for body in spec.model.requests] == [1, 3]
        assert all(one.encode() in spec.model.requests[1] for one in said[:3])

    go(story())


# stops


@pytest.mark.parametrize(
    ("stop", "ending", "code"),
    [
        ("length", Finished, "arguments.truncated"),
        ("refusal", ModelRefused, "model.refused"),
        ("unknown", Finished, "model.not_stopped"),
        ("context", Stopped, "arguments.truncated"),
    ],
)
def test_nothing_runs_unless_the_model_stopped_to_call_tools(stop: str, ending: type, code: str) -> None:
    async def story() -> None:
        bench = await opened()
        turn = ScriptedModel.turn([call("pay", value="a"), call("look", what="x")], stop=stop)  # type: ignore[arg-type]
        standing = await bench.run([turn, "As you say."])
        assert isinstance(standing, ending)
        assert (bench.shop.effects, bench.shop.reads) == ([], [])
        outcomes = await bench.outcomes()
        assert [(type(one), one.code) for one in outcomes.values() if isinstance(one, Refused)] == [(Refused, code)] * 2
        await bench.check()

    go(story())


def test_a_pause_goes_on_unchanged_and_counts_as_a_turn() -> None:
    async def story() -> None:
        bench = await opened(budget=Budget(turns=3))
        pause = ScriptedModel.turn("thinking", stop="pause")
        standing = await bench.run([pause, pause, pause, "Never."])
        assert isinstance(standing, Stopped)
        assert standing.reason == "budget.turns"

    go(story())


def test_a_declined_reply_without_calls_is_a_refusal_and_not_asked_again() -> None:
    async def story() -> None:
        bench = await opened()
        spec = bench.spec([ScriptedModel.turn("I will not.", stop="refusal"), "Never."])
        standing = await (await bench.begin(spec)).drive()
        assert isinstance(standing, ModelRefused)
        assert isinstance(spec.model, ScriptedModel)
        assert len(spec.model.requests) == 1

    go(story())


# failures of the model


def test_a_failed_request_is_made_again_and_the_effect_is_not() -> None:
    async def story() -> None:
        bench = await opened()
        down = ModelError("overloaded", code="model.overloaded", retry_after_s=7)
        standing = await bench.run([call("pay", value="a"), down, down, "Paid."])
        assert isinstance(standing, Finished)
        assert bench.shop.effects == ["pay a"]
        events = await bench.events()
        asked = [(one.event.turn, one.event.attempt) for one in events if isinstance(one.event, ModelRequested)]
        assert asked == [(1, 1), (2, 1), (2, 2), (2, 3)]
        times = [one.at_ms for one in events if isinstance(one.event, ModelRequested)]
        assert times[2] - times[1] >= 7_000

    go(story())


def test_attempts_are_bounded_and_the_reason_is_the_model_s() -> None:
    async def story() -> None:
        bench = await opened()
        down = ModelError("overloaded", code="model.overloaded")
        standing = await bench.run([down] * 9)
        assert isinstance(standing, Escalated)
        assert standing.reason == "model.overloaded"
        assert len([one for one in await bench.events() if isinstance(one.event, RequestFailed)]) == 4

    go(story())


@pytest.mark.parametrize(
    ("error", "ending", "reason"),
    [
        (ModelError("no", code="model.unauthorized", retryable=False), Escalated, "model.unauthorized"),
        (ModelError("long", code="model.context_full", retryable=False), Stopped, "context.full"),
        (ModelError("later", code="model.rate_limited", retry_after_s=86_400), Escalated, "model.rate_limited"),
        (ValueError("secret"), Escalated, "model.error"),
    ],
)
def test_what_cannot_be_retried_ends_the_run(error: Exception, ending: type, reason: str) -> None:
    async def story() -> None:
        bench = await opened()
        standing = await bench.run([error, "Never."])
        assert isinstance(standing, ending)
        assert standing.reason == reason  # type: ignore[attr-defined]
        failed = next(one.event for one in await bench.events() if isinstance(one.event, RequestFailed))
        assert "secret" not in failed.message

    go(story())


def test_a_reply_that_cannot_be_read_is_a_failed_attempt() -> None:
    async def story() -> None:
        bench = await opened()
        standing = await bench.run([b"not json", "Hello."])
        assert isinstance(standing, Finished)
        assert "model.failed" in await bench.kinds()

    go(story())


class Misread(ScriptedModel):
    """A model whose reader has a fault of its own."""

    @property
    def wire(self) -> Wire:
        wire = super().wire

        class Faulty(type(wire)):  # type: ignore[misc]
            def read(self, body: bytes, reading: Reading) -> Reply:
                raise KeyError("a fault of ours")

        return Faulty()


def test_a_fault_of_our_own_reader_is_no_failure_of_the_model() -> None:
    async def story() -> None:
        bench = await opened()
        driver = await bench.begin(replace(bench.spec([]), model=Misread(["Hello."])))
        with pytest.raises(KeyError):
            await driver.drive()
        assert await bench.kinds() == ["run.started", "message.appended", "model.requested"]

    go(story())


# the answer


def test_the_model_is_told_once_what_is_not_yet_true() -> None:
    async def story() -> None:
        bench = await opened()

        async def done() -> object:
            return "the refund is not booked" if not bench.shop.effects else True

        spec = bench.spec(["Refunded!", call("pay", value="a"), "Now."], done=done)
        standing = await (await bench.begin(spec)).drive()
        assert isinstance(standing, Finished)
        assert isinstance(spec.model, ScriptedModel)
        assert "the refund is not booked" in results_of(spec.model.requests[1])

    go(story())


@pytest.mark.parametrize(("verdict", "reason"), [(False, "done.not"), (None, "done.not"), ("no", "done.not")])
def test_an_answer_that_stays_untrue_is_escalated(verdict: object, reason: str) -> None:
    async def story() -> None:
        bench = await opened()

        async def done() -> object:
            return verdict

        standing = await bench.run(["Refunded!", "Refunded, really!"], done=done)
        assert isinstance(standing, Escalated)
        assert (standing.reason, standing.answer_so_far) == (reason, "Refunded, really!")

    go(story())


def test_a_check_that_raises_counts_as_not_done_and_shows_nothing() -> None:
    async def story() -> None:
        bench = await opened()

        async def done() -> object:
            raise RuntimeError("postgres://user:password@host")

        spec = bench.spec(["Done.", "Done."], done=done)
        standing = await (await bench.begin(spec)).drive()
        assert isinstance(standing, Escalated)
        assert standing.reason == "done.error"
        assert isinstance(spec.model, ScriptedModel)
        assert b"postgres" not in spec.model.requests[1]

    go(story())


def test_an_answer_of_the_wrong_type_is_corrected_once() -> None:
    def check(text: str) -> tuple[Json, str | None]:
        return ({"n": 1}, None) if text == "good" else (None, "it is not a number")

    async def story() -> None:
        bench = await opened()
        standing = await bench.run(["bad", "good"], answer=check)
        assert isinstance(standing, Finished)
        assert standing.answer == {"n": 1}
        again = await bench.run(["bad", "bad"], answer=check, run="run_2")
        assert isinstance(again, Escalated)
        assert again.reason == "answer.invalid"

    go(story())


def test_a_run_with_an_unknown_operation_is_not_verified() -> None:
    async def story() -> None:
        bench = await opened()
        standing = await bench.run([call("pay", value="breaks"), "Paid, I think."])
        assert isinstance(standing, Finished)
        assert standing.verified is False
        assert len(standing.open_operations) == 1
        assert isinstance((await bench.outcomes())[next(iter(await bench.outcomes()))], Unknown)

    go(story())


# order and budgets


def test_a_failed_write_holds_back_the_next_and_the_model_reads_why() -> None:
    async def story() -> None:
        bench = await opened()
        calls = [call("append", value="declined"), call("append", value="b"), call("look", what="x")]
        spec = bench.spec([calls, "Oh."])
        await (await bench.begin(spec)).drive()
        outcomes = await bench.outcomes()
        assert [type(one) for one in (outcomes["1.0"], outcomes["1.1"], outcomes["1.2"])] == [Failed, NotRun, Succeeded]  # type: ignore[index]
        assert bench.shop.effects == []
        await bench.check()

    go(story())


def test_a_batch_beyond_the_limit_runs_up_to_it_and_answers_all() -> None:
    async def story() -> None:
        bench = await opened(budget=Budget(calls=6))
        standing = await bench.run([[call("append", value=str(n)) for n in range(8)], "Enough."])
        assert isinstance(standing, Finished)
        assert len(bench.shop.effects) == 6
        codes = [one.code for one in (await bench.outcomes()).values() if isinstance(one, Refused)]
        assert codes == ["budget.calls", "budget.calls"]
        spent = await bench.ledger.spent("run:run_1")
        assert (spent.turns, spent.calls) == (2, 8)

    go(story())


def test_a_turn_refused_wholly_for_budget_stops_the_run() -> None:
    async def story() -> None:
        bench = await opened(budget=Budget(calls=1))
        standing = await bench.run([call("look", what="x"), call("look", what="y"), "Never."])
        assert isinstance(standing, Stopped)
        assert standing.reason == "budget.calls"
        await bench.check()

    go(story())


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(tokens=1_500), "budget.tokens"),
        (Budget(turns=1), "budget.turns"),
        (Budget(seconds=0.0005), "budget.seconds"),
        (Budget(consecutive_errors=2, turns=None), "budget.errors"),
        (Budget(repeats=3), "budget.repeats"),
    ],
)
def test_limits_stop_before_the_next_request(budget: Budget, reason: str) -> None:
    async def story() -> None:
        bench = await opened(budget=budget)
        what = "breaks" if budget.consecutive_errors == 2 else "x"
        standing = await bench.run([call("look", what=what)] * 30)
        assert isinstance(standing, Stopped)
        assert standing.reason == reason
        await bench.check()

    go(story())


def test_a_money_limit_without_a_price_refuses_to_start() -> None:
    async def story() -> None:
        bench = await opened(budget=Budget(usd="0.50"))
        spec = bench.spec(["Never."])
        unpriced = replace(spec, model=ScriptedModel(["Never."], name="x"))
        unpriced.model.__class__ = _Unpriced
        with pytest.raises(InputError, match="price"):
            await bench.begin(unpriced)
        assert await bench.ledger.run(RunId("run_1")) is None

    go(story())


class _Unpriced(ScriptedModel):
    @property
    def identity(self) -> str:
        return "nobody:x"


def test_the_budget_of_a_conversation_spans_its_runs() -> None:
    async def story() -> None:
        bench = await opened(conversation="c", conversation_budget=Budget(turns=3, calls=2))
        assert isinstance(await bench.run([call("look", what="x"), "One."]), Finished)
        second = await bench.run([call("look", what="y"), "Two."], run="run_2")
        assert isinstance(second, Stopped)
        assert second.reason == "budget.turns"
        third = await bench.run(["Three."], run="run_3")
        assert isinstance(third, Stopped)
        assert (await bench.ledger.spent("conversation:t:c")).turns == 3

    go(story())


# conversations


def test_a_conversation_goes_on_from_the_bytes_of_its_last_run() -> None:
    async def story() -> None:
        bench = await opened(conversation="c")
        await bench.run([call("look", what="x").with_id("same"), "One."])
        spec = bench.spec([call("look", what="y").with_id("same"), "Two."])
        await (await bench.begin(spec, run="run_2")).drive()
        assert isinstance(spec.model, ScriptedModel)
        messages = json.loads(spec.model.requests[1])["messages"]
        assert len(messages) == 7
        ids = [
            part["id"]
            for message in messages
            if message["role"] == "assistant"
            for part in message["content"]
            if part["type"] == "tool_use"
        ]
        assert len(set(ids)) == 2

    go(story())


# people


def test_a_run_that_waits_lets_go_and_goes_on_after_a_yes() -> None:
    async def story() -> None:
        bench = await opened()
        standing = await bench.run([[call("refund", value="a"), call("look", what="x")], "Never."])
        assert isinstance(standing, Paused)
        assert [one.tool for one in standing.approvals] == ["refund"]
        assert (standing.reason, bench.shop.effects, bench.shop.reads) == ("waiting", [], ["x"])
        row = await bench.ledger.run(RunId("run_1"))
        assert row is not None
        assert (row.status, row.owner) == ("paused", None)
        assert row.expires_ms == standing.approvals[0].expires_ms
        await bench.decide("approved")
        assert isinstance(await bench.resume(["Refunded."]), Finished)
        assert bench.shop.effects == ["refund a"]
        await bench.check()

    go(story())


def test_two_that_wait_are_decided_alone_and_twice_is_once() -> None:
    async def story() -> None:
        bench = await opened()
        await bench.run([[call("refund", value="a"), call("refund", value="b")]])
        await bench.decide("approved")
        standing = await bench.resume([])
        assert isinstance(standing, Paused)
        assert (bench.shop.effects, len(standing.approvals)) == (["refund a"], 1)
        await bench.decide("denied")
        assert isinstance(await bench.resume(["One of two."]), Finished)
        assert bench.shop.effects == ["refund a"]
        await bench.check()

    go(story())


def test_a_decision_that_comes_while_the_run_goes_on_is_taken_up_at_once() -> None:
    async def story() -> None:
        bench = await opened()

        async def before(value: str) -> None:
            if value == "a":
                await bench.decide("approved")

        bench.shop.before = before
        standing = await bench.run([[call("pay", value="a"), call("refund", value="b")], "Both."])
        assert isinstance(standing, Finished)
        assert bench.shop.effects == ["pay a", "refund b"]
        await bench.check()

    go(story())


async def reached(driver: Driver, holds: Callable[[RunState], bool]) -> None:
    """Let others go on until the run is where `holds` says."""
    for _ in range(100_000):
        if holds(driver.state):
            return
        await asyncio.sleep(0)
    raise AssertionError("the run never came there")


def test_what_expired_is_not_denied_and_the_model_is_told() -> None:
    async def story() -> None:
        source = ambient.Seeded()
        with ambient.use(source):
            bench = await opened()
            await bench.run([call("refund", value="a")])
            source.advance(90_000)
            spec_turns = ["It expired."]
            driver = await bench.take_up(spec_turns)
            standing = await driver.drive()
            assert isinstance(standing, Finished)
            outcome = (await bench.outcomes())["1.0"]  # type: ignore[index]
            assert "expired" in str(getattr(outcome, "code", ""))
            assert [row.state for row in await bench.ledger.approvals()] == ["expired"]
            assert bench.shop.effects == []
            await bench.check()

    go(story())


def test_a_question_holds_and_its_answer_goes_back() -> None:
    async def story() -> None:
        bench = await opened()
        standing = await bench.run([[call("ask_user", question="Which?"), call("append", value="mail")]])
        assert isinstance(standing, Paused)
        assert (len(standing.questions), bench.shop.effects) == (1, [])
        await bench.decide("answered", by="alice", answer='"the first"')
        model = ScriptedModel(["Sent."])
        assert isinstance(await bench.resume([], model=model), Finished)
        assert bench.shop.effects == ["append mail"]
        assert b"the first" in model.requests[0]
        await bench.check()

    go(story())


# on_wait="answer"


def test_the_model_may_be_answered_with_a_receipt_and_the_outcome_comes_later() -> None:
    async def story() -> None:
        bench = await opened(on_wait="answer", conversation="c")
        spec = bench.spec([[call("refund", value="a"), call("append", value="b")], "It is submitted."])
        standing = await (await bench.begin(spec)).drive()
        assert isinstance(standing, Paused)
        assert standing.answer_so_far == "It is submitted."
        assert isinstance(spec.model, ScriptedModel)
        receipt = results_of(spec.model.requests[1])
        assert "not done" in receipt
        assert standing.approvals[0].id in receipt
        held = (await bench.outcomes())["1.1"]  # type: ignore[index]
        assert isinstance(held, NotRun)
        assert held.code == "waiting"
        conversation = await bench.ledger.conversation(bench_conversation(bench), tenant=bench.principal.tenant)
        assert conversation is not None
        assert conversation.holder is None
        await bench.decide("approved")
        ended = await bench.resume([])
        assert isinstance(ended, Finished)
        assert (ended.answer, bench.shop.effects) == ("It is submitted.", ["refund a"])
        later = bench.spec(["So it is."])
        await (await bench.begin(later, run="run_2", text="and?")).drive()
        assert isinstance(later.model, ScriptedModel)
        assert "done a" in results_of(later.model.requests[0])
        third = bench.spec(["Yes."])
        await (await bench.begin(third, run="run_3", text="sure?")).drive()
        assert isinstance(third.model, ScriptedModel)
        assert "done a" not in results_of(third.model.requests[0])

    go(story())


def bench_conversation(bench: Bench) -> object:
    return bench.conversation


# cancelling


def test_cancelling_a_run_that_waits_closes_what_waits() -> None:
    async def story() -> None:
        bench = await opened()
        await bench.run([[call("refund", value="a"), call("append", value="b")]])
        await bench.cancel()
        assert isinstance(await bench.resume([]), Cancelled)
        assert bench.shop.effects == []
        assert {type(one) for one in (await bench.outcomes()).values()} == {NotRun}
        assert [row.state for row in await bench.ledger.approvals()] == ["void"]
        await bench.check()

    go(story())


def test_cancelling_awaits_a_running_write_and_starts_nothing_else() -> None:
    async def story() -> None:
        bench = await opened()
        going = asyncio.Event()

        async def before(value: str) -> None:
            del value
            await bench.cancel()
            driver = bench.last
            assert driver is not None
            await reached(driver, lambda state: state.cancelled is not None)
            going.set()

        bench.shop.before = before
        standing = await bench.run([[call("append", value="a"), call("append", value="b")], "Never."])
        assert isinstance(standing, Cancelled)
        assert going.is_set()
        assert bench.shop.effects == ["append a"]
        outcomes = await bench.outcomes()
        assert isinstance(outcomes["1.0"], Succeeded)  # type: ignore[index]
        assert isinstance(outcomes["1.1"], NotRun)  # type: ignore[index]
        await bench.check()

    go(story())


def test_cancelling_abandons_a_request_in_flight() -> None:
    async def story() -> None:
        bench = await opened()

        async def never(body: dict[str, Json]) -> str:
            del body
            await bench.cancel()
            await asyncio.Event().wait()
            return ""

        standing = await bench.run([never])
        assert isinstance(standing, Cancelled)
        assert await bench.kinds() == [
            "run.started",
            "message.appended",
            "model.requested",
            "run.cancel_requested",
            "run.ended",
        ]

    go(story())


# owners


def test_an_abandoned_run_is_taken_up_where_its_journal_ends() -> None:
    async def story() -> None:
        bench = await opened()

        async def never(body: dict[str, Json]) -> str:
            del body
            await asyncio.Event().wait()
            return ""

        driver = await bench.begin(bench.spec([call("pay", value="a"), never]))
        driving = asyncio.ensure_future(driver.drive())
        await reached(driver, lambda state: state.turn == 2 and state.requested)
        await driver.abandon()
        assert driving.cancelled()
        assert isinstance(await bench.resume(["Paid."]), Finished)
        assert bench.shop.effects == ["pay a"]
        asked = [one.event.attempt for one in await bench.events() if isinstance(one.event, ModelRequested)]
        assert asked == [1, 1, 2]
        await bench.check()

    go(story())


def test_lost_requests_are_bounded() -> None:
    async def story() -> None:
        bench = await opened()

        async def never(body: dict[str, Json]) -> str:
            del body
            await asyncio.Event().wait()
            return ""

        driver = await bench.begin(bench.spec([never]))
        for attempt in range(1, 5):
            driving = asyncio.ensure_future(driver.drive())
            await reached(driver, lambda state, attempt=attempt: state.attempt == attempt)
            await driver.abandon()
            await asyncio.wait({driving})
            assert driving.cancelled()
            driver = await bench.take_up([never])
        standing = await driver.drive()
        assert isinstance(standing, Escalated)
        assert standing.reason == "model.lost"

    go(story())


def test_an_ended_run_takes_a_settlement_and_keeps_its_end() -> None:
    from remit.types.delivery import Settlement

    async def story() -> None:
        bench = await opened()
        standing = await bench.run([call("pay", value="breaks"), "I do not know."])
        operation = standing.open_operations[0]  # type: ignore[union-attr]
        settlement = Settlement(operation=operation, attempt=1, happened=True, by="bob", reason="seen")
        await bench.ledger.post(RunId("run_1"), settlement)
        await bench.take_up([])
        events = await bench.events()
        assert [one.event.kind for one in events][-2:] == ["operation.moved", "operation.settled"]
        assert len([one for one in events if isinstance(one.event, RunEnded)]) == 1
        assert await bench.ledger.inbox(RunId("run_1")) == []
        assert fold(events).open_operations == ()
        row = await bench.ledger.run(RunId("run_1"))
        assert row is not None
        assert (row.status, row.owner) == ("ended", None)

    go(story())


def test_a_run_of_a_live_owner_is_not_taken(tmp_path: object) -> None:
    async def story() -> None:
        first = await opened(ledger=SqliteLedger(f"{tmp_path}/a.db"))
        second = await opened(ledger=SqliteLedger(f"{tmp_path}/a.db"))
        try:
            await first.begin(first.spec(["Hello."]))
            with pytest.raises(RunOwned):
                await second.take_up(["Hello."])
        finally:
            await first.ledger.aclose()
            await second.ledger.aclose()

    go(story())
