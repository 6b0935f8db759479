"""`gate.call`: one call under somebody else's loop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gate.stage import ALICE, BOB, opened, turn, until, verified
from remit import ambient
from remit.canonical import encode
from remit.errors import Conflict, NotFound, RunOwned
from remit.gate import Gate
from remit.ledger import MemoryLedger, SqliteLedger
from remit.tool import (
    CALL,
    READ,
    Catalogue,
    Context,
    Happened,
    Tool,
    ask_user,
    idempotent,
    manual,
    never,
    reconcile,
    tool,
    when,
    write,
)
from remit.types.budget import Budget
from remit.types.delivery import CancelRun, Decision, Settlement
from remit.types.ident import RunId
from remit.types.label import TRUSTED
from remit.types.ledger import Ledger
from remit.types.outcome import Awaiting, NotRun, Refused, Succeeded, Unknown
from remit.types.principal import Principal


class Books:
    def __init__(self) -> None:
        self.refunds: list[str] = []
        self.reads = 0
        self.gate: asyncio.Event | None = None
        self.fail: list[Exception] = []

    async def refund(self, id: str) -> str:
        self.refunds.append(id)
        if self.gate is not None:
            await self.gate.wait()
        if self.fail:
            raise self.fail.pop()
        return f"refunded {id}"

    async def find(self, arguments: object, ctx: Context[object]) -> object:
        return Happened("found")


def tools(books: Books, *, timeout_s: float = 5.0) -> list[Tool]:
    @tool(
        effect=write(once_per="id", recovery=reconcile(books.find)),
        approve=when(lambda a: a.cents > 100),
        timeout_s=timeout_s,
        label=TRUSTED,
    )
    async def refund(id: str, cents: int = 1) -> str:
        """Refund.

        Args:
            id: which
            cents: how much
        """
        return await books.refund(id)

    @tool(effect=write(once_per=CALL, recovery=manual), approve=never, label=TRUSTED)
    async def note(text: str) -> str:
        """Note.

        Args:
            text: what
        """
        return await books.refund(text)

    @tool(effect=READ, label=TRUSTED)
    async def look(id: str) -> str:
        """Look.

        Args:
            id: which
        """
        books.reads += 1
        return id

    return [refund, note, look, ask_user]


def gate_of(ledger: Ledger, books: Books, **more: object) -> Gate:
    timeout_s = float(more.pop("timeout_s", 5.0))  # type: ignore[arg-type]
    return Gate(tools=Catalogue(tools(books, timeout_s=timeout_s)), ledger=ledger, **more)  # type: ignore[arg-type]


async def ask(gate: Gate, name: str, arguments: object, call: str | None = "c1", **more: object) -> object:
    options: dict[str, object] = {"principal": ALICE, "run": "thread", "label": TRUSTED, **more}
    return await gate.call(name, arguments, call=call, **options)  # type: ignore[arg-type]


def test_a_call_is_made_once_however_often_it_is_asked_for() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            first = await ask(gate, "refund", {"id": "a"})
            assert isinstance(first, Succeeded)
            assert await ask(gate, "refund", {"id": "a"}) == first
            assert await ask(gate, "refund", '{"id": "a", "cents": 1.0}') == first
            other = await ask(gate, "refund", {"id": "b"})
            assert isinstance(other, Refused)
            assert other.code == "conflict"
            assert isinstance(await ask(gate, "look", {"id": "a"}), Refused)
            assert books.refunds == ["a"]
            repeat = await ask(gate, "refund", {"id": "a"}, call="c2")
            assert isinstance(repeat, Succeeded)
            assert repeat.repeat
            fresh = gate_of(ledger, books)
            assert await ask(fresh, "refund", {"id": "a"}) == first
            await verified(ledger)

    asyncio.run(go())


def test_what_people_say_is_recorded_without_declared_secrets() -> None:
    async def go() -> None:
        async with opened() as ledger:
            gate = gate_of(ledger, Books(), secrets=["hunter2"])
            waiting = await ask(gate, "refund", {"id": "a", "cents": 900})
            assert isinstance(waiting, Awaiting)
            await ledger.decide(Decision(approval=waiting.approval, verdict="denied", by="bob", reason="not with hunter2"))
            assert isinstance(await ask(gate, "refund", {"id": "a", "cents": 900}), Refused)
            await ledger.post(RunId("thread"), CancelRun(by="alice", reason="hunter2 is out"))
            await ask(gate, "look", {"id": "a"}, call="c2")
            said = [getattr(one.event, "reason", "") for one in await ledger.read(RunId("thread"))]
            assert [one for one in said if "not with" in one or "is out" in one] == ["not with [redacted]", "[redacted] is out"]

    asyncio.run(go())


def test_a_write_is_two_commits_a_read_one_and_the_run_is_free_between_calls(tmp_path: Path) -> None:
    async def go() -> None:
        books = Books()
        async with opened(SqliteLedger(tmp_path / "l.db")) as ledger:
            assert isinstance(ledger, SqliteLedger)
            gate = gate_of(ledger, books)
            before = ledger.commits
            await ask(gate, "refund", {"id": "a"})
            assert ledger.commits - before == 2
            before = ledger.commits
            await ask(gate, "refund", {"id": "b"}, call="c2")
            assert ledger.commits - before == 2
            before = ledger.commits
            await ask(gate, "look", {"id": "b"}, call="c3")
            assert ledger.commits - before == 1
            before = ledger.commits
            await ask(gate, "refund", {"id": "b"}, call="c2")
            assert ledger.commits == before
            row = await ledger.run(RunId("thread"))
            assert row is not None
            assert (row.owner, row.status, row.host) == (None, "paused", True)
            await verified(ledger)

    asyncio.run(go())


def test_an_untrusted_context_is_the_default_and_a_write_then_waits() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            waiting = await gate.call("refund", {"id": "a"}, principal=ALICE, run="thread", call="c1")
            assert isinstance(waiting, Awaiting)
            assert waiting.kind == "awaiting"
            assert waiting.operation is not None
            assert isinstance(await gate.call("look", {"id": "a"}, principal=ALICE, run="thread", call="c2"), Succeeded)
            assert books.refunds == []

    asyncio.run(go())


def test_after_a_decision_the_same_call_goes_on_in_any_process() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            for call, verdict in (("c1", "approved"), ("c2", "denied")):
                waiting = await ask(gate, "refund", {"id": call, "cents": 900}, call=call)
                assert isinstance(waiting, Awaiting)
                assert waiting.preview
                assert await ask(gate, "refund", {"id": call, "cents": 900}, call=call) == waiting
                await ledger.decide(Decision(approval=waiting.approval, verdict=verdict, by="bob"))  # type: ignore[arg-type]
            async with opened(MemoryLedger(store=ledger)) as other:  # type: ignore[arg-type]
                there = gate_of(other, books)
                done = await ask(there, "refund", {"id": "c1", "cents": 900})
                assert isinstance(done, Succeeded)
                denied = await ask(there, "refund", {"id": "c2", "cents": 900}, call="c2")
                assert isinstance(denied, Refused)
                assert denied.code == "denied"
            assert await ask(gate, "refund", {"id": "c1", "cents": 900}) == done
            assert books.refunds == ["c1"]
            await verified(ledger)

    asyncio.run(go())


def test_edited_arguments_run_and_the_host_is_told() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            waiting = await ask(gate, "refund", {"id": "a", "cents": 900})
            assert isinstance(waiting, Awaiting)
            edited = encode({"id": "a", "cents": 200})
            await ledger.decide(Decision(approval=waiting.approval, verdict="approved", by="bob", edited=edited))
            done = await ask(gate, "refund", {"id": "a", "cents": 900})
            assert isinstance(done, Succeeded)
            assert '"cents": 200' in (done.shown or "")
            assert await ask(gate, "refund", {"id": "a", "cents": 900}) == done
            await verified(ledger)

    asyncio.run(go())


def test_a_decision_that_came_too_late_is_expired() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            assert isinstance(await ask(gate, "refund", {"id": "a", "cents": 900}), Awaiting)
            await ambient.sleep(100_000)
            late = await ask(gate, "refund", {"id": "a", "cents": 900})
            assert isinstance(late, Refused)
            assert late.code == "expired"
            assert isinstance(await ask(gate, "refund", {"id": "a", "cents": 900}, call="c2"), Awaiting)
            await verified(ledger)

    with ambient.use(ambient.Seeded()):
        asyncio.run(go())


def test_a_question_is_answered_by_a_person() -> None:
    async def go() -> None:
        async with opened() as ledger:
            gate = gate_of(ledger, Books())
            waiting = await ask(gate, "ask_user", {"question": "Which?"})
            assert isinstance(waiting, Awaiting)
            assert waiting.operation is None
            await ledger.decide(Decision(approval=waiting.approval, verdict="answered", by="alice", answer='"that one"'))
            assert await ask(gate, "ask_user", {"question": "Which?"}) == Succeeded(value="that one")

    asyncio.run(go())


def test_without_a_stable_id_what_is_once_per_call_is_refused_and_keys_still_hold() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            refused = await ask(gate, "note", {"text": "x"}, call=None)
            assert isinstance(refused, Refused)
            assert refused.code == "call.id_missing"
            for _ in range(2):
                assert isinstance(await ask(gate, "refund", {"id": "a"}, call=None), Succeeded)
            assert books.refunds == ["a"]
            assert isinstance(await ask(gate, "note", {"text": "x"}), Succeeded)

    asyncio.run(go())


def test_calls_at_once_in_one_process_share_the_run_and_one_call_asked_twice_is_one() -> None:
    async def go() -> None:
        books = Books()
        books.gate = asyncio.Event()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            asked = [asyncio.ensure_future(ask(gate, "refund", {"id": str(n)}, call=f"c{n}")) for n in range(8)]
            twice = [asyncio.ensure_future(ask(gate, "refund", {"id": "0"}, call="c0")) for _ in range(3)]
            await until(lambda: len(books.refunds) == 8)
            books.gate.set()
            outcomes = await asyncio.gather(*asked, *twice)
            assert all(isinstance(one, Succeeded) for one in outcomes)
            assert all(outcomes[n] == outcomes[0] for n in (8, 9, 10))
            assert sorted(books.refunds) == [str(n) for n in range(8)]
            row = await ledger.run(RunId("thread"))
            assert row is not None
            assert row.owner is None
            await verified(ledger)

    asyncio.run(go())


def test_cancelling_the_caller_does_not_interrupt_the_call() -> None:
    async def go() -> None:
        books = Books()
        books.gate = asyncio.Event()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            asked = asyncio.ensure_future(ask(gate, "refund", {"id": "a"}))
            await until(lambda: bool(books.refunds))
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            books.gate.set()
            assert isinstance(await ask(gate, "refund", {"id": "a"}), Succeeded)
            assert books.refunds == ["a"]
            await verified(ledger)

    asyncio.run(go())


def test_while_another_process_is_at_it_the_call_waits_and_then_says_so() -> None:
    async def go() -> None:
        books = Books()
        books.gate = asyncio.Event()
        async with opened() as first, opened(MemoryLedger(store=first)) as second:  # type: ignore[arg-type]
            here, there = gate_of(first, books), gate_of(second, books, timeout_s=0.1)
            asked = asyncio.ensure_future(ask(here, "refund", {"id": "a"}))
            await until(lambda: bool(books.refunds))
            busy = await ask(there, "refund", {"id": "a"})
            assert isinstance(busy, Unknown)
            assert busy.code == "in_progress"
            with pytest.raises(RunOwned):
                await ask(there, "refund", {"id": "b"}, call="c2")
            patient = asyncio.ensure_future(ask(gate_of(second, books), "refund", {"id": "a"}))
            await turn()
            books.gate.set()
            assert isinstance(await asked, Succeeded)
            assert await patient == await asked
            assert isinstance(await ask(there, "refund", {"id": "b"}, call="c2"), Succeeded)
            assert books.refunds == ["a", "b"]
            await verified(first)

    asyncio.run(go())


def test_after_a_crash_the_call_is_settled_and_not_made_again() -> None:
    async def go() -> None:
        books = Books()
        books.gate = asyncio.Event()
        first = MemoryLedger()
        await first.open()
        asked = asyncio.ensure_future(ask(gate_of(first, books), "refund", {"id": "a"}))
        await until(lambda: bool(books.refunds))
        first.abandon()
        async with opened(MemoryLedger(store=first)) as second:
            outcome = await ask(gate_of(second, books), "refund", {"id": "a"})
            assert outcome == Succeeded(value="found", operation=outcome.operation)  # type: ignore[attr-defined]
            assert books.refunds == ["a"]
            books.gate.set()
            with pytest.raises(RunOwned):  # its run is somebody else's: the outcome goes there as a late report
                await asked
            assert await second.wait_inbox(RunId("thread"), after=0, timeout_s=5)
            assert await ask(gate_of(second, books), "refund", {"id": "a"}) == outcome
            assert isinstance(await ask(gate_of(second, books), "look", {"id": "a"}, call="c2"), Succeeded)
            assert await second.inbox(RunId("thread")) == []
            await verified(second)

    asyncio.run(go())


def test_a_person_may_settle_what_a_host_was_told_is_unknown() -> None:
    async def go() -> None:
        books = Books()
        books.fail = [ConnectionError()]
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            lost = await ask(gate, "note", {"text": "x"})
            assert isinstance(lost, Unknown)
            assert lost.operation is not None
            blind = await ask(gate, "note", {"text": "x"}, call="c2")
            assert isinstance(blind, Awaiting)
            settlement = Settlement(operation=lost.operation, attempt=1, happened=True, by="bob", reason="seen")
            await ledger.post(RunId("thread"), settlement)
            assert isinstance(await ask(gate, "note", {"text": "y"}, call="c3"), Succeeded)
            assert await ask(gate, "note", {"text": "x"}) == lost
            row = await ledger.operation(lost.operation)
            assert row is not None
            assert row.state == "succeeded"
            await verified(ledger)

    asyncio.run(go())


def test_a_run_belongs_to_one_principal_and_agent() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            await ask(gate, "look", {"id": "a"})
            for principal in (BOB, Principal("alice", "other")):
                with pytest.raises(Conflict) as foreign:
                    await ask(gate, "look", {"id": "a"}, call="c2", principal=principal)
                assert foreign.value.code == "run.foreign"
            with pytest.raises(Conflict):
                await ask(gate_of(ledger, books, agent="other"), "look", {"id": "a"}, call="c2")

    asyncio.run(go())


def test_the_agents_budget_holds_over_the_calls_of_a_run() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            for number in range(4):
                gate = gate_of(ledger, books, budget=Budget(calls=3))
                outcome = await ask(gate, "look", {"id": str(number)}, call=f"c{number}")
                assert isinstance(outcome, Refused if number == 3 else Succeeded)
            assert books.reads == 3

    asyncio.run(go())


def test_a_closed_run_takes_no_more_calls_and_what_waited_is_void() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            with pytest.raises(NotFound):
                await gate.close("thread")
            done = await ask(gate, "refund", {"id": "a"})
            waiting = await ask(gate, "refund", {"id": "b", "cents": 900}, call="c2")
            assert isinstance(waiting, Awaiting)
            await gate.close("thread")
            await gate.close("thread")
            approval = await ledger.approval(waiting.approval)
            assert approval is not None
            assert approval.state == "void"
            row = await ledger.run(RunId("thread"))
            assert row is not None
            assert (row.status, row.owner) == ("ended", None)
            assert await ask(gate, "refund", {"id": "a"}) == done
            assert isinstance(await ask(gate, "refund", {"id": "b", "cents": 900}, call="c2"), NotRun)
            with pytest.raises(Conflict) as closed:
                await ask(gate, "look", {"id": "a"}, call="c3")
            assert closed.value.code == "run.closed"
            await verified(ledger)

    asyncio.run(go())


def test_a_cancelled_run_starts_nothing_more() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            gate = gate_of(ledger, books)
            await ask(gate, "look", {"id": "a"})
            await ledger.post(RunId("thread"), CancelRun(by="alice"))
            outcome = await ask(gate, "refund", {"id": "a"}, call="c2")
            assert isinstance(outcome, NotRun)
            assert books.refunds == []

    asyncio.run(go())


def test_an_idempotent_call_is_sent_again_within_the_one_call() -> None:
    async def go() -> None:
        seen: list[object] = []

        @tool(effect=write(once_per="id", recovery=idempotent(60)), approve=never, label=TRUSTED)
        async def pay(id: str, ctx: Context[object]) -> str:
            """Pay.

            Args:
                id: which
            """
            seen.append(ctx.operation_id)
            if len(seen) == 1:
                raise ConnectionError
            return "paid"

        async with opened() as ledger:
            gate = Gate(tools=Catalogue([pay]), ledger=ledger)
            assert isinstance(await ask(gate, "pay", {"id": "a"}), Succeeded)
            assert len(seen) == 2
            assert len(set(seen)) == 1
            await verified(ledger)

    with ambient.use(ambient.Seeded()):
        asyncio.run(go())


_CHILD = """
import asyncio, json, sys
from pathlib import Path
from remit.gate import Gate
from remit.ledger import SqliteLedger
from remit.tool import CANNOT_TELL, Catalogue, Happened, never, reconcile, tool, write
from remit.types.label import TRUSTED
from remit.types.principal import Principal

path, books, hang, ids = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "hang", json.loads(sys.argv[4])

async def find(arguments, ctx):
    return Happened("found") if f"{arguments.id}\\n" in books.read_text() else CANNOT_TELL

@tool(effect=write(once_per="id", recovery=reconcile(find)), approve=never, timeout_s=20)
async def refund(id: str) -> str:
    '''Refund.

    Args:
        id: which
    '''
    with books.open("a") as file:
        file.write(f"{id}\\n")
    if hang:
        print("effect", flush=True)
        await asyncio.Event().wait()
    return "refunded"

async def main():
    ledger = SqliteLedger(path)
    await ledger.open()
    gate = Gate(tools=Catalogue([refund]), ledger=ledger)
    alice = Principal("alice", "acme", frozenset({"use"}))
    outcomes = await asyncio.gather(*(
        gate.call("refund", {"id": one}, principal=alice, run="thread", call=call, label=TRUSTED) for call, one in ids
    ))
    print(json.dumps([one.kind for one in outcomes]), flush=True)
    await ledger.aclose()

asyncio.run(main())
"""


def _child(tmp_path: Path, mode: str, ids: list[tuple[str, str]]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _CHILD, str(tmp_path / "l.db"), str(tmp_path / "books"), mode, json.dumps(ids)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_process_killed_between_the_effect_and_its_record_is_settled_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "books").write_text("")
    with _child(tmp_path, "hang", [("c1", "a")]) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "effect\n"
        os.kill(first.pid, signal.SIGKILL)
    with _child(tmp_path, "go", [("c1", "a"), ("c2", "b")]) as second:
        told, _ = second.communicate(timeout=30)
    assert json.loads(told) == ["succeeded", "succeeded"]
    assert (tmp_path / "books").read_text() == "a\nb\n"


def test_two_processes_serve_one_run_and_each_effect_happens_once(tmp_path: Path) -> None:
    (tmp_path / "books").write_text("")
    ids = [(f"c{n}", f"r{n}") for n in range(6)]
    with _child(tmp_path, "go", ids) as one, _child(tmp_path, "go", list(reversed(ids))) as other:
        for child in (one, other):
            told, _ = child.communicate(timeout=60)
            assert json.loads(told) == ["succeeded"] * 6
    assert sorted((tmp_path / "books").read_text().split()) == [one for _, one in ids]


def test_a_call_that_a_cancelled_run_refused_gets_the_same_answer_when_it_is_asked_for_again() -> None:
    async def go() -> None:
        async with opened() as ledger:
            gate = gate_of(ledger, Books())
            await ask(gate, "look", {"id": "a"})
            await ledger.post(RunId("thread"), CancelRun(by="op"))
            first = await ask(gate, "refund", {"id": "a"}, call="c2")
            assert isinstance(first, NotRun)
            assert await ask(gate, "refund", {"id": "a"}, call="c2") == first
            other = await ask(gate, "refund", {"id": "b"}, call="c2")
            assert isinstance(other, Refused)
            assert other.code == "conflict"
            await verified(ledger)

    asyncio.run(go())


async def left_in_dispatch(ledger: MemoryLedger, books: Books) -> asyncio.Task[object]:
    """A call whose owner dies while its handler runs; the effect has happened."""
    books.gate = asyncio.Event()
    owner = MemoryLedger(store=ledger)
    await owner.open()
    task = asyncio.ensure_future(ask(gate_of(owner, books), "refund", {"id": "a"}))
    await until(lambda: books.refunds == ["a"])
    owner.abandon()
    return task


async def put_away(task: asyncio.Task[object], books: Books) -> None:
    assert books.gate is not None
    books.gate.set()
    await asyncio.wait({task})
    task.exception()


def test_another_call_of_the_same_run_recovers_what_a_dead_owner_had_dispatched() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            assert isinstance(ledger, MemoryLedger)
            task = await left_in_dispatch(ledger, books)
            gate = gate_of(ledger, books)
            both = await asyncio.gather(ask(gate, "refund", {"id": "a"}, call="c2"), ask(gate, "refund", {"id": "a"}))
            assert [type(one) for one in both] == [Succeeded, Succeeded]
            assert books.refunds == ["a"]
            await put_away(task, books)
            await verified(ledger)

    asyncio.run(go())


def test_closing_a_run_answers_the_call_that_a_dead_owner_had_dispatched() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            assert isinstance(ledger, MemoryLedger)
            task = await left_in_dispatch(ledger, books)
            gate = gate_of(ledger, books)
            await gate.close("thread")
            kinds = [one.event.kind for one in await ledger.read(RunId("thread"))]
            assert kinds.count("call.considered") == kinds.count("call.ended") == 1
            done = await ask(gate, "refund", {"id": "a"})
            assert isinstance(done, Succeeded)
            assert books.refunds == ["a"]
            await put_away(task, books)
            await verified(ledger)

    asyncio.run(go())


def wider(books: Books) -> Tool:
    """`refund` of a newer release: one more optional parameter."""

    @tool(effect=write(once_per="id", recovery=manual), approve=when(lambda a: a.cents > 100), label=TRUSTED)
    async def refund(id: str, cents: int = 1, note: str = "") -> str:
        """Refund.

        Args:
            id: which
            cents: how much
            note: why
        """
        return await books.refund(f"{id} {note}".strip())

    return refund


def test_a_settled_call_stands_after_its_tools_schema_has_changed_or_it_is_gone() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            first = await ask(gate_of(ledger, books), "refund", {"id": "a"})
            assert isinstance(first, Succeeded)
            newer = Gate(tools=Catalogue([wider(books)]), ledger=ledger)
            gone = Gate(tools=Catalogue([]), ledger=ledger)
            for gate in (newer, gone):
                assert await ask(gate, "refund", {"id": "a"}) == first
                other = await ask(gate, "refund", {"id": "b"})
                assert isinstance(other, Refused)
                assert other.code == "conflict"
            assert books.refunds == ["a"]
            await verified(ledger)

    asyncio.run(go())


def test_an_approval_is_void_once_the_tools_contract_has_changed_and_a_person_is_asked_anew() -> None:
    async def go() -> None:
        books = Books()
        async with opened() as ledger:
            waiting = await ask(gate_of(ledger, books), "refund", {"id": "a", "cents": 900})
            assert isinstance(waiting, Awaiting)
            await ledger.decide(Decision(approval=waiting.approval, verdict="approved", by="bob"))
            newer = Gate(tools=Catalogue([wider(books)]), ledger=ledger)
            anew = await ask(newer, "refund", {"id": "a", "cents": 900})
            assert isinstance(anew, Awaiting)
            assert anew.approval != waiting.approval
            assert [row.closed for row in await ledger.operations(state=("closed",))] == ["superseded"]
            assert books.refunds == []
            await verified(ledger)

    asyncio.run(go())


class PutBack(ambient.Seeded):
    """A clock that can be put back; its monotonic one cannot."""

    back_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() - self.back_ms


def test_a_clock_that_is_put_back_brings_no_deadline_before_the_runs_last_event() -> None:
    async def go(clock: PutBack) -> None:
        async with opened() as ledger:
            gate = gate_of(ledger, Books())
            await ask(gate, "look", {"id": "a"})
            last_ms = (await ledger.read(RunId("thread")))[-1].at_ms
            clock.back_ms = 3_600_000
            await ask(gate, "refund", {"id": "a"}, call="c2")
            waiting = await ask(gate, "refund", {"id": "b", "cents": 900}, call="c3")
            assert isinstance(waiting, Awaiting)
            [row] = await ledger.operations(state=("succeeded",))
            assert row.not_after_ms is not None
            assert row.not_after_ms >= last_ms + 5_000
            asked = await ledger.approval(waiting.approval)
            assert asked is not None
            assert asked.expires_ms is not None
            assert asked.expires_ms > last_ms + 60_000

    with ambient.use(PutBack()) as clock:
        assert isinstance(clock, PutBack)
        asyncio.run(go(clock))


def test_a_clock_that_is_put_back_does_not_reopen_the_window_of_an_idempotent_write() -> None:
    sent: list[str] = []
    clock = PutBack()

    @tool(effect=write(once_per="id", recovery=idempotent(window_s=60)), approve=never, label=TRUSTED)
    async def pay(id: str) -> str:
        """Pay.

        Args:
            id: which
        """
        sent.append(id)
        clock.advance(3_600)
        raise KeyError(id)

    async def go() -> None:
        async with opened() as ledger:
            gate = Gate(tools=Catalogue([pay]), ledger=ledger)
            assert isinstance(await ask(gate, "pay", {"id": "a"}), Unknown)
            clock.back_ms = 3_600_000
            assert isinstance(await ask(gate, "pay", {"id": "a"}, call="c2"), Unknown)

    with ambient.use(clock):
        asyncio.run(go())
    assert sent == ["a"]
