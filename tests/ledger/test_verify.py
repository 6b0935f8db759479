"""The audit: an honest ledger has no faults, and each kind of tampering is named with its place."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace

import apsw
import pytest

from ledger.support import APPROVAL, OPERATION, RUN, Pen, Store, approval, ask, ended, moved, operation, requested, said
from remit.canonical import digest
from remit.errors import LedgerError
from remit.ledger import MemoryLedger, SqliteLedger
from remit.types.change import AskPerson, ConsumeApproval, KeepBlob, MoveOperation, OpenOperation
from remit.types.codec import encode_outcome
from remit.types.delivery import Decision
from remit.types.event import ApprovalDecided, ChildStarted, OperationMoved, RunStarted
from remit.types.ident import CallId, Digest, OperationId, RunId, Wording, child_of
from remit.types.label import TRUSTED
from remit.types.operation import settler
from remit.types.outcome import Succeeded

OUTCOME = Succeeded(value={"refund": "re_1"}, operation=OPERATION)
YES = Decision(approval=APPROVAL, verdict="approved", by="bob")


def started() -> RunStarted:
    return RunStarted(
        agent="support",
        agent_digest=Digest("d"),
        model="scripted:x",
        protocol="anthropic",
        head=Wording("{}"),
        tools=(),
        tenant="acme",
        subject="alice",
        scopes=(),
        root=RUN,
        label=TRUSTED,
        budget="{}",
    )


async def honest(pen: Pen) -> None:
    """A run in which an approved write succeeded, and another run that sent an operation of it again."""
    await pen.start(started())
    waiting = operation(state="awaiting_approval", attempt=0, approval=APPROVAL)
    asked = approval(operation=OPERATION)
    await pen.write(moved(waiting, "requested"), requested(asked), changes=(OpenOperation(waiting), AskPerson(asked)))
    await pen.ledger.decide(YES)
    (told,) = await pen.ledger.inbox(RUN)
    decided = ApprovalDecided(approval=APPROVAL, call=CallId("1.0"), verdict="approved", by="bob")
    dispatched = moved(waiting, "approved", state="dispatched", attempt=1, approval=APPROVAL)
    move = MoveOperation(operation=OPERATION, on="approved", state="awaiting_approval", attempt=0)
    await pen.write(decided, dispatched, changes=(ConsumeApproval(APPROVAL), move), taken=(told.id,))
    done = moved(waiting, "returned", state="succeeded", attempt=1, outcome=OUTCOME, by="handler")
    settle = MoveOperation(
        operation=OPERATION,
        on="returned",
        state="dispatched",
        attempt=1,
        outcome=encode_outcome(OUTCOME),
        settled_by="handler",
    )
    await pen.write(done, said("after"), changes=(settle,))


async def resent(pen: Pen, other: Pen) -> OperationId:
    """An operation of one run in doubt, that another run sends again."""
    doubtful = operation(id=OperationId("op_2"), key=Digest("b" * 64))
    await pen.write(moved(doubtful, "allowed"), changes=(OpenOperation(doubtful),))
    doubt = MoveOperation(operation=doubtful.id, on="in_doubt", state="dispatched", attempt=1)
    await pen.write(moved(doubtful, "in_doubt", state="unknown"), changes=(doubt,))
    await other.start()
    again = MoveOperation(operation=doubtful.id, on="resent", state="unknown", attempt=1)
    await other.write(moved(doubtful, "resent", attempt=2), changes=(again,))
    return doubtful.id


def test_an_honest_ledger_has_no_faults(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen, other = Pen(ledger), Pen(ledger, RunId("run_2"))
        await honest(pen)
        await resent(pen, other)
        await pen.write(changes=(KeepBlob(BYTES, b"bytes"),))
        await pen.write(ended(), status="ended", release=True)
        for run in (None, RUN, RunId("run_2")):
            assert await ledger.verify(run) == []
        assert await ledger.verify(RunId("no")) == ["run no: there is no such run"]

    store.tell(story)


def test_a_person_is_no_part_of_the_machine_whatever_the_name(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        lost = operation()
        await pen.start(started())
        await pen.write(moved(lost, "allowed"), changes=(OpenOperation(lost),))
        doubt = MoveOperation(operation=lost.id, on="in_doubt", state="dispatched", attempt=1)
        await pen.write(moved(lost, "in_doubt", state="unknown"), changes=(doubt,))
        by = settler("settled_no", "handler")
        no = MoveOperation(operation=lost.id, on="settled_no", state="unknown", attempt=1, settled_by=by)
        await pen.write(moved(lost, "settled_no", state="failed", by="handler"), changes=(no,))
        row = await pen.ledger.operation(lost.id)
        assert row is not None
        assert row.settled_by not in (None, "handler")
        assert await pen.ledger.verify() == []

    store.tell(story)


def test_a_decision_that_nobody_has_journaled_yet_is_no_fault(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await ask(pen)
        assert await pen.ledger.verify() == []
        await pen.ledger.decide(YES)
        assert await pen.ledger.verify() == []

    store.tell(story)


BYTES = Digest(hashlib.sha256(b"bytes").hexdigest())
HASH = "(SELECT hash FROM remit_page WHERE run = 'run_1' AND last = 1)"
TAMPERED: dict[str, tuple[str, str]] = {
    "a payload": (
        "UPDATE remit_payload SET text = replace(text, 'after', 'afters') WHERE text LIKE '%after%'",
        "run run_1, events 6 to 7: the payload was altered",
    ),
    "a salt": ("UPDATE remit_payload SET salt = x'00' WHERE page = 1", "run run_1, event 1: the payload was altered"),
    "a kind": (
        "UPDATE remit_page SET kinds = 'operation.moved run.ended' WHERE run = 'run_1' AND last = 7",
        "run run_1, events 6 to 7: does not follow",
    ),
    "a time": (
        "UPDATE remit_page SET times = '1 2' WHERE run = 'run_1' AND last = 3",
        "run run_1, events 2 to 3: happened before",
    ),
    "a time that is none": (
        "UPDATE remit_page SET times = 'x ' WHERE run = 'run_1' AND last = 3",
        "run run_1, events 2 to 3: happened before",
    ),
    "a commitment": (
        "UPDATE remit_page SET commitment = x'00' WHERE run = 'run_1' AND last = 3",
        "run run_1, events 2 to 3: does not follow",
    ),
    "a removed event": (
        "UPDATE remit_page SET kinds = 'operation.moved' WHERE run = 'run_1' AND last = 3",
        "run run_1: event 2 is missing",
    ),
    "a removed commit": ("DELETE FROM remit_page WHERE run = 'run_1' AND last = 3", "run run_1: event 2 is missing"),
    "a removed payload": ("DELETE FROM remit_payload WHERE page = 2", "run run_1, events 2 to 3: the payload is missing"),
    "a removed line": (
        "UPDATE remit_payload SET text = substr(text, 1, instr(text, char(10)) - 1) WHERE page = 2",
        "run run_1, events 2 to 3: the payload was altered",
    ),
    "a line more": (
        "UPDATE remit_payload SET text = text || char(10) || text WHERE page = 2",
        "run run_1, events 2 to 3: the payload was altered",
    ),
    "a removed commit's payload": (
        "DELETE FROM remit_page WHERE run = 'run_1' AND last = 3",
        "payload 2: its events are missing",
    ),
    "two commits swapped": (
        "UPDATE remit_page SET last = -last WHERE run = 'run_1' AND last IN (3, 5);"
        "UPDATE remit_page SET last = 8 + last WHERE run = 'run_1' AND last < 0",
        "run run_1, events 2 to 3: does not follow",
    ),
    "two payloads swapped": (
        "UPDATE remit_payload SET page = -page WHERE page IN (2, 3);UPDATE remit_payload SET page = 5 + page WHERE page < 0",
        "run run_1, events 4 to 5: the payload was altered",
    ),
    "a link": (
        f"UPDATE remit_page SET hash = {HASH} WHERE run = 'run_1' AND last = 5",
        "run run_1, events 6 to 7: does not follow",
    ),
    "the last commit cut off": (
        "DELETE FROM remit_page WHERE run = 'run_1' AND last = 7",
        "run run_1: its row stands at event 7, the chain at 5",
    ),
    "the run's head": ("UPDATE remit_run SET head = 'ff' WHERE id = 'run_1'", "run run_1: its row stands at event 7"),
    "the run's tenant": (
        "UPDATE remit_run SET tenant = 'other' WHERE id = 'run_1'",
        "run run_1: its row names another tenant than its first event",
    ),
    "the run's status": ("UPDATE remit_run SET status = 'ended' WHERE id = 'run_1'", "run run_1: its row says ended"),
    "a removed run": ("DELETE FROM remit_run WHERE id = 'run_1'", "run run_1: has events and no row"),
    "an operation's state": (
        "UPDATE remit_operation SET state = 'failed' WHERE id = 'op_1'",
        "operation op_1: the row says failed, attempt 1; its last event says succeeded",
    ),
    "an operation's attempt": (
        "UPDATE remit_operation SET attempt = 0 WHERE id = 'op_1'",
        "operation op_1: the row says succeeded",
    ),
    "an operation's key": ("UPDATE remit_operation SET key = 'k' WHERE id = 'op_1'", "operation op_1: the row has another key"),
    "an operation's arguments": (
        "UPDATE remit_operation SET arguments = '{\"charge_id\":\"ch_2\"}' WHERE id = 'op_1'",
        "operation op_1: the row's arguments do not match their digest",
    ),
    "an operation's digest": (
        "UPDATE remit_operation SET arguments_digest = 'd' WHERE id = 'op_1'",
        "operation op_1: the row has another arguments digest",
    ),
    "an operation's outcome": (
        "UPDATE remit_operation SET outcome = replace(outcome, 're_1', 're_2') WHERE id = 'op_1'",
        "operation op_1: the row has another outcome",
    ),
    "an operation's settler": (
        "UPDATE remit_operation SET settled_by = 'reconciler' WHERE id = 'op_1'",
        "operation op_1: the row says that somebody else settled it",
    ),
    "an operation's outcome, made unreadable": (
        "UPDATE remit_operation SET outcome = '{}' WHERE id = 'op_1'",
        "operation op_1: the row has another outcome",
    ),
    "an operation's outcome, removed": (
        "UPDATE remit_operation SET outcome = NULL WHERE id = 'op_1'",
        "operation op_1: the row has lost",
    ),
    "a removed operation": (
        "DELETE FROM remit_operation WHERE id = 'op_1'",
        "operation op_1: is in the journal and has no row",
    ),
    "an operation of nobody": (
        "UPDATE remit_operation SET id = 'op_9' WHERE id = 'op_1'",
        "operation op_9: has a row and no event",
    ),
    "an approval of nobody": (
        "UPDATE remit_approval SET id = 'apr_9' WHERE id = 'apr_1'",
        "approval apr_9: has a row and no event",
    ),
    "a removed approval": ("DELETE FROM remit_approval WHERE id = 'apr_1'", "approval apr_1: is in the journal and has no row"),
    "an approval's state": (
        "UPDATE remit_approval SET state = 'denied' WHERE id = 'apr_1'",
        "approval apr_1: the row says denied",
    ),
    "an approval undecided": (
        "UPDATE remit_approval SET state = 'pending' WHERE id = 'apr_1'",
        "approval apr_1: the row says pending, its event says approved",
    ),
    "an approval's arguments": (
        "UPDATE remit_approval SET arguments = '{}' WHERE id = 'apr_1'",
        "approval apr_1: the row has other arguments than were asked about",
    ),
    "an approval's sentence": (
        "UPDATE remit_approval SET preview = 'Refund ch_2' WHERE id = 'apr_1'",
        "approval apr_1: the row has another sentence or expiry",
    ),
    "an approval's call": (
        "UPDATE remit_approval SET call = '9.9' WHERE id = 'apr_1'",
        "approval apr_1: the row is about another call",
    ),
    "an approval's person": (
        "UPDATE remit_approval SET decided_by = 'mallory' WHERE id = 'apr_1'",
        "approval apr_1: the row names another person",
    ),
    "an approval's edit": (
        "UPDATE remit_approval SET edited = '{}' WHERE id = 'apr_1'",
        "approval apr_1: the row has other edited arguments than the decision",
    ),
    "an approval used up": (
        "UPDATE remit_approval SET state = 'approved' WHERE id = 'apr_1'",
        "approval apr_1: the row says approved, and something was dispatched with it already",
    ),
    **{
        f"an approval's {column}": (
            f"UPDATE remit_approval SET {column} = {value} WHERE id = 'apr_1'",
            "approval apr_1: the row says other things than were declared when it was made",
        )
        for column, value in {"requester": "'m'", "scope": "'m'", "two_person": "1 - two_person", "tool": "'t'"}.items()
    },
    **{
        f"an operation's {column}": (
            f"UPDATE remit_operation SET {column} = {value} WHERE id = 'op_1'",
            "operation op_1: the row says other things than were declared when it was made",
        )
        for column, value in {
            "recovery": "'idempotent'",
            "attempts": "99",
            "window_s": "1e9",
            "settle_s": "0.5",
            "timeout_s": "0.5",
            "tool": "'t'",
            "contract": "'c'",
            "call": "'9.9'",
            "subject": "'m'",
        }.items()
    },
    **{
        f"an operation's {column}": (
            f"UPDATE remit_operation SET {column} = {value} WHERE id = 'op_1'",
            f"operation op_1: the row has another {column} than its events",
        )
        for column, value in {"owner": "'o'", "not_after_ms": "7"}.items()
    },
    "the order of two pages among all": (
        "UPDATE remit_page SET number = number + 1000 WHERE last = (SELECT min(last) FROM remit_page)",
        "does not follow from the event before it",
    ),
    "whose run it is": ("UPDATE remit_run SET host = 1 - host", "its row names another host"),
    "whose call it answers": ("UPDATE remit_run SET parent = 'run_x'", "its row names another parent"),
    "what was asked": ("UPDATE remit_run SET request_digest = 'd'", "its row names another request_digest"),
    "an operation's evidence": (
        "UPDATE remit_operation SET evidence = '[' WHERE id = 'op_1'",
        "operation op_1: the row cannot be read",
    ),
    "an approval's reasons": (
        "UPDATE remit_approval SET reasons = 'why' WHERE id = 'apr_1'",
        "approval apr_1: the row cannot be read",
    ),
    "a delivery": ("INSERT INTO remit_inbox (run, text) VALUES ('run_1', '{}')", "the row cannot be read"),
    "bytes": ("UPDATE remit_blob SET data = x'00'", "were altered"),
}


def tamper(store: Store, sql: str) -> None:
    db = apsw.Connection(str(store.path))
    db.execute(sql)
    assert db.total_changes() > 0
    db.close()


@pytest.mark.parametrize("what", TAMPERED)
def test_tampering_is_named_with_its_place(file: Store, what: str) -> None:
    sql, expected = TAMPERED[what]

    async def story() -> None:
        ledger = await file.open()
        pen = Pen(ledger)
        await honest(pen)
        await pen.write(changes=(KeepBlob(BYTES, b"bytes"),))
        assert await ledger.verify() == []
        tamper(file, sql)
        faults = await ledger.verify()
        assert any(expected in fault for fault in faults), faults

    file.tell(story)


def test_a_text_that_is_none_is_said_to_be_damage_and_not_shown(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        await honest(Pen(ledger))
        tamper(file, "UPDATE remit_payload SET text = CAST(x'63616E617279FF' AS TEXT)")
        for read in (ledger.verify, lambda: ledger.read(RUN)):
            with pytest.raises(LedgerError) as caught:
                await read()
            assert caught.value.code == "ledger.corrupt"
            assert "canary" not in str(caught.value)

    file.tell(story)


def test_a_yes_that_nobody_gave_is_named(file: Store) -> None:
    async def story() -> None:
        pen = Pen(await file.open())
        await pen.start()
        await ask(pen)
        tamper(file, "UPDATE remit_approval SET state = 'approved', decided_by = 'bob' WHERE id = 'apr_1'")
        assert await pen.ledger.verify() == ["approval apr_1: the row says approved, and nobody's decision is recorded"]

    file.tell(story)


def test_one_fault_does_not_hide_another(file: Store) -> None:
    async def story() -> None:
        pen = Pen(await file.open())
        await honest(pen)
        tamper(file, "UPDATE remit_payload SET text = '{}' || substr(text, instr(text, char(10))) WHERE page IN (2, 4)")
        faults = await pen.ledger.verify()
        assert [fault for fault in faults if fault.endswith("the payload was altered")] == [
            "run run_1, events 2 to 3: the payload was altered",
            "run run_1, events 6 to 7: the payload was altered",
        ]
        assert [fault for fault in faults if "the payload is no" in fault] == [
            "run run_1, event 2: the payload is no operation.moved",
            "run run_1, event 6: the payload is no operation.moved",
        ]

    file.tell(story)


def test_one_runs_audit_sees_what_another_run_did_to_its_operation(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        pen, other = Pen(ledger), Pen(ledger, RunId("run_2"))
        await honest(pen)
        name = await resent(pen, other)
        tamper(file, f"UPDATE remit_operation SET attempt = 7 WHERE id = '{name}'")
        assert await ledger.verify(RUN) == [
            f"operation {name}: the row says dispatched, attempt 7; its last event says dispatched, attempt 2"
        ]

    file.tell(story)


def test_the_digest_of_arguments_is_the_one_that_tools_are_called_by() -> None:
    assert operation().arguments_digest == digest("remit.arguments", operation().arguments)
    assert isinstance(replace(moved(operation(), "allowed")), OperationMoved)


def test_a_chain_that_starts_with_another_runs_hash_is_found(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        assert isinstance(ledger, SqliteLedger)
        await Pen(ledger).start()
        await Pen(ledger, RunId("run_2")).start()
        tamper(
            file,
            "UPDATE remit_page SET run = 'run_x' WHERE run = 'run_1'; UPDATE remit_run SET id = 'run_x' WHERE id = 'run_1'",
        )
        assert any("run run_x, event 1: does not follow" in fault for fault in await ledger.verify())

    file.tell(story)


def test_a_run_that_says_it_answers_a_call_which_nobody_has_announced_is_named() -> None:
    async def story() -> None:
        ledger = MemoryLedger()
        await ledger.open()
        call, child = CallId("1.0"), child_of(RUN, CallId("1.0"))
        parent = Pen(ledger)
        await parent.start(started())
        begun = replace(started(), parent=RUN, parent_call=call)
        await Pen(ledger, child).start(begun, parent=RUN, root=RUN)
        (fault,) = await ledger.verify()
        assert "whose events do not say so" in fault
        await parent.write(ChildStarted(call=call, child=child))
        assert await ledger.verify() == []

    asyncio.run(story())
