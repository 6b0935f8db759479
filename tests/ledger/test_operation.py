"""Operations: the table of effects, keys and attempts, as the ledger holds them."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from ledger.support import KEY, OPERATION, RUN, Pen, Store, moved, operation, said
from remit.errors import Conflict, KeyTaken, NotFound
from remit.types.change import MoveOperation, OpenOperation, PassEvidence
from remit.types.codec import encode_outcome
from remit.types.ident import ApprovalId, CallId, Digest, OperationId, OwnerId, RunId
from remit.types.operation import HOLDING, MOVES, Move, Operation, OperationState, settler
from remit.types.outcome import Succeeded

PATHS: dict[OperationState, tuple[Move, ...]] = {
    "awaiting_approval": ("requested",),
    "dispatched": ("allowed",),
    "unknown": ("allowed", "in_doubt"),
    "succeeded": ("allowed", "returned"),
    "failed": ("allowed", "in_doubt", "settled_no"),
    "closed": ("requested", "denied"),
}
"""A way to each state."""


async def bring(pen: Pen, state: OperationState, **other: object) -> Operation:
    """An operation in that state."""
    first, *rest = PATHS[state]
    opened = operation(state="awaiting_approval", attempt=0, **other) if first == "requested" else operation(**other)
    await pen.write(moved(opened, first), changes=(OpenOperation(opened),))
    for on in rest:
        await step(pen, on, opened.id)
    found = await pen.ledger.operation(opened.id)
    assert found is not None
    assert found.state == state
    return found


async def step(pen: Pen, on: Move, id: OperationId = OPERATION, **other: object) -> Operation:
    """One move from where the row is."""
    was = await pen.ledger.operation(id)
    assert was is not None
    by = settler(on, "bob" if on.startswith("settled") else None)
    change = MoveOperation(operation=id, on=on, state=was.state, attempt=was.attempt, settled_by=by)
    await pen.write(said(), changes=(replace(change, **other),))  # type: ignore[arg-type]
    now = await pen.ledger.operation(id)
    assert now is not None
    return now


@pytest.mark.parametrize(("was", "on"), [pair for pair in MOVES if pair[0] is not None])
def test_every_row_of_the_table_leads_where_it_says(store: Store, was: OperationState, on: Move) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        before = await bring(pen, was)
        after = await step(pen, on)
        state, closed = MOVES[was, on]
        assert (after.state, after.closed) == (state, closed or before.closed)
        dispatched = state == "dispatched" and was != "dispatched"
        assert after.attempt == before.attempt + (1 if dispatched else 0)
        assert (after.first_dispatched_ms is None) == (after.attempt == 0)
        holder = await pen.ledger.held(KEY)
        assert (holder is not None) == (state in HOLDING)

    store.tell(story)


@pytest.mark.parametrize("was", get_args(OperationState))
def test_every_move_that_is_not_in_the_table_is_refused_and_changes_nothing(store: Store, was: OperationState) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        before = await bring(pen, was)
        for on in get_args(Move):
            if (was, on) in MOVES:
                continue
            with pytest.raises(Conflict) as refused:
                await step(pen, on)
            assert refused.value.code == "operation.illegal_move"
        assert await pen.ledger.operation(OPERATION) == before

    store.tell(story)


def test_a_row_that_is_elsewhere_is_a_conflict_that_says_where(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await bring(pen, "unknown")
        for state, attempt in (("dispatched", 1), ("unknown", 2)):
            change = MoveOperation(operation=OPERATION, on="in_doubt", state=state, attempt=attempt)  # type: ignore[arg-type]
            with pytest.raises(Conflict) as stale:
                await pen.write(changes=(change,))
            assert stale.value.code == "operation.moved"
            assert stale.value.details["state"] == "unknown"
        with pytest.raises(NotFound):
            await pen.write(changes=(MoveOperation(operation=OperationId("no"), on="in_doubt", state="unknown", attempt=1),))

    store.tell(story)


def test_a_held_key_is_taken_and_a_released_one_is_free(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await bring(pen, "dispatched")
        second = OperationId("op_2")
        with pytest.raises(KeyTaken) as taken:
            await pen.write(changes=(OpenOperation(operation(id=second)),))
        assert taken.value.details["operation"] == OPERATION
        await step(pen, "no_effect")
        await bring(pen, "succeeded", id=second)
        holder = await pen.ledger.held(KEY)
        assert holder is not None
        assert holder.id == second

    store.tell(story)


def test_operations_that_await_approval_share_a_key_and_only_one_is_dispatched(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        second = OperationId("op_2")
        await bring(pen, "awaiting_approval")
        await bring(pen, "awaiting_approval", id=second)
        await step(pen, "approved")
        with pytest.raises(KeyTaken):
            await step(pen, "approved", second)
        closed = await step(pen, "key_conflict", second)
        assert closed.closed == "conflict"

    store.tell(story)


def test_a_late_success_cannot_take_back_a_key_that_a_newer_operation_holds(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        before = await bring(pen, "failed")
        newer = await bring(pen, "dispatched", id=OperationId("op_2"))
        with pytest.raises(KeyTaken) as taken:
            await step(pen, "late_success")
        assert taken.value.details["operation"] == newer.id
        assert await pen.ledger.operation(OPERATION) == before

    store.tell(story)


@pytest.mark.parametrize(
    ("settled_by", "legal"),
    [("handler", False), ("late", False), ("reconciler", True), (settler("settled_no", "handler"), True)],
)
def test_a_late_success_counts_only_against_a_no_that_was_not_the_handlers_own(
    store: Store, settled_by: str, legal: bool
) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await bring(pen, "unknown")
        await step(pen, "settled_no", settled_by=settled_by)
        if legal:
            assert (await step(pen, "late_success")).state == "succeeded"
        else:
            with pytest.raises(Conflict):
                await step(pen, "late_success")

    store.tell(story)


def test_a_dispatch_is_the_next_attempt_and_no_other(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await bring(pen, "unknown")
        with pytest.raises(Conflict) as refused:
            await step(pen, "resent", to_attempt=5)
        assert refused.value.code == "operation.illegal_move"
        again = await step(pen, "resent", to_attempt=2, owner=OwnerId("owner_x"), not_after_ms=99)
        assert (again.attempt, again.owner, again.not_after_ms) == (2, "owner_x", 99)

    store.tell(story)


def test_a_proposal_is_opened_as_awaiting_or_as_the_first_attempt_only(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        for state, attempt in (("succeeded", 1), ("dispatched", 2), ("awaiting_approval", 1), ("closed", 0)):
            with pytest.raises(Conflict):
                await pen.write(changes=(OpenOperation(operation(state=state, attempt=attempt)),))
        assert await pen.ledger.operations() == []

    store.tell(story)


def test_a_row_comes_back_as_it_was_declared_with_the_commits_moment(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        opened = operation(
            atomic=True, window_s=60.5, author="bob", approval=ApprovalId("a"), owner=OwnerId("o"), not_after_ms=5
        )
        done = await pen.write(said(), changes=(OpenOperation(opened),))
        at_ms = done.recorded[0].at_ms
        found = await pen.ledger.operation(OPERATION)
        assert found == replace(opened, created_ms=at_ms, updated_ms=at_ms, first_dispatched_ms=at_ms)

    store.tell(story)


def test_evidence_is_added_and_what_is_not_named_stays(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await bring(pen, "dispatched", owner=OwnerId("owner_x"))
        outcome = encode_outcome(Succeeded(value={"refund": "re_1"}, operation=OPERATION))
        await step(pen, "in_doubt", evidence='{"late":1}')
        await pen.write(changes=(PassEvidence(OPERATION, '{"late":2}'),))
        done = await step(pen, "settled_yes", outcome=outcome, settled_by="bob", evidence='{"late":3}')
        assert done.evidence == ('{"late":1}', '{"late":2}', '{"late":3}')
        assert (done.outcome, done.settled_by, done.owner, done.attempt) == (outcome, "bob", "owner_x", 1)
        with pytest.raises(NotFound):
            await pen.write(changes=(PassEvidence(OperationId("no"), "{}"),))

    store.tell(story)


def test_another_run_may_send_an_unknown_operation_again(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        first, second = Pen(ledger), Pen(ledger, RunId("run_2"))
        await first.start()
        await second.start()
        await bring(first, "unknown")
        again = await step(second, "resent", owner=ledger.owner)
        assert (again.state, again.attempt, again.run) == ("dispatched", 2, RUN)

    store.tell(story)


def test_operations_are_found_by_run_call_conversation_tool_tenant_and_state(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        for number, state in enumerate(PATHS):
            await bring(
                pen,
                state,
                id=OperationId(f"op_{number}"),
                key=Digest(str(number)),
                call=CallId(f"1.{number}"),
                tool=f"tool_{number % 2}",
                tenant="acme" if number < 4 else "other",
            )
        look = pen.ledger.operations
        assert [one.id for one in await look()] == [f"op_{number}" for number in range(6)]
        assert [one.id for one in await look(run=RUN, call=CallId("1.2"))] == ["op_2"]
        assert [one.id for one in await look(tool="tool_1", tenant="acme")] == ["op_1", "op_3"]
        assert [one.id for one in await look(state=("unknown", "dispatched"))] == ["op_1", "op_2"]
        assert await look(state=()) == []
        assert [one.id for one in await look(limit=2)] == ["op_0", "op_1"]
        assert await look(run=RunId("no")) == []

    store.tell(story)
