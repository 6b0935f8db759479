"""Rows of approvals and operations against what the events say of them, each member on its own."""

from __future__ import annotations

import apsw
import pytest

from ledger.support import APPROVAL, Pen, Store, approval, moved, operation, requested
from remit.types.change import AskPerson, MoveOperation, OpenOperation
from remit.types.delivery import Decision
from remit.types.event import ApprovalDecided
from remit.types.ident import CallId, OwnerId

ASKED = "approval apr_1: the row is about another call, operation or kind than was asked"
SHOWN = "approval apr_1: the row has another sentence or expiry than was asked"
DECIDED = "approval apr_1: the row names another person or answer than the decision"
TAMPERED = {
    "call": ("'9.9'", ASKED),
    "operation": ("'op_9'", ASKED),
    "kind": ("'approval'", ASKED),
    "preview": ("'Refund ch_2'", SHOWN),
    "expires_ms": ("expires_ms + 86400000", SHOWN),
    "decided_by": ("'mallory'", DECIDED),
    "answer": ("'\"red\"'", DECIDED),
}


@pytest.mark.parametrize("column", TAMPERED)
@pytest.mark.parametrize("journaled", [False, True])
def test_each_thing_that_a_row_says_of_a_question_and_its_answer_is_compared(file: Store, column: str, journaled: bool) -> None:
    value, fault = TAMPERED[column]

    async def story() -> None:
        pen = Pen(await file.open())
        await pen.start()
        asked = approval(kind="question", expires_ms=9_000_000_000_000)
        await pen.write(requested(asked), changes=(AskPerson(asked),))
        await pen.ledger.decide(Decision(approval=APPROVAL, verdict="answered", by="bob", answer='"blue"'))
        if journaled:
            [told] = await pen.ledger.inbox(pen.run)
            decided = ApprovalDecided(approval=APPROVAL, call=CallId("1.0"), verdict="answered", by="bob", answer='"blue"')
            await pen.write(decided, taken=(told.id,))
        assert await pen.ledger.verify() == []
        db = apsw.Connection(str(file.path))
        db.execute(f"UPDATE remit_approval SET {column} = {value}")
        db.close()
        assert fault in await pen.ledger.verify()

    file.tell(story)


def test_two_moves_of_one_commit_both_count(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        sent = operation(owner=OwnerId("owner_1"), not_after_ms=7)
        doubt = MoveOperation(operation=sent.id, on="in_doubt", state="dispatched", attempt=1)
        await pen.write(
            moved(sent, "allowed", owner=sent.owner, not_after_ms=7),
            moved(sent, "in_doubt", state="unknown"),
            changes=(OpenOperation(sent), doubt),
        )
        assert await pen.ledger.verify() == []

    store.tell(story)
