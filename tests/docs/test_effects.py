"""The table of effects that the docs show is the one that every ledger keeps: each legal move, and each that is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from remit import MemoryLedger, SqliteLedger
from remit.errors import Conflict, KeyTaken, NotFound
from remit.types.change import Change, Create, MoveOperation, OpenOperation
from remit.types.ident import CallId, Digest, OperationId, OwnerId, RunId
from remit.types.ledger import Append, Ledger
from remit.types.operation import MOVES, Move, Operation, OperationState
from remit.types.run import RunRow

RUN, OPERATION = RunId("run_1"), OperationId("op_1")
STATES: tuple[OperationState, ...] = get_args(OperationState)
KINDS = ["memory", "sqlite"]
Commit = Callable[[Change], Awaitable[None]]


def path_to(state: OperationState) -> list[Move]:
    """The shortest way from a proposal to a state."""
    reached: dict[OperationState | None, list[Move]] = {None: []}
    while state not in reached:
        for (start, on), (to, _) in MOVES.items():
            if start in reached and to not in reached:
                reached[to] = [*reached[start], on]
    return reached[state]


def operation(state: OperationState, *, id: OperationId = OPERATION, attempt: int = 0) -> Operation:
    return Operation(
        id=id,
        tenant="acme",
        subject="alice",
        run=RUN,
        root=RUN,
        call=CallId("1.0"),
        conversation=None,
        tool="refund",
        contract=Digest("c"),
        once_per="key:(charge_id)",
        key=Digest("k"),
        recovery="reconcile",
        atomic=False,
        window_s=None,
        attempts=3,
        settle_s=1,
        timeout_s=1,
        arguments="{}",
        arguments_digest=Digest("a"),
        state=state,
        attempt=attempt,
    )


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[tuple[Ledger, Commit]]:
    """A ledger with one run, and a way to commit one change to it."""
    ledger = MemoryLedger() if kind == "memory" else SqliteLedger(folder / "effects.db")
    await ledger.open()
    row = RunRow(
        id=RUN,
        root=RUN,
        agent="support",
        tenant="acme",
        subject="alice",
        conversation=None,
        request_id=None,
        request_digest=None,
        status="active",
    )
    where = await ledger.commit(Append(run=RUN, create=Create(row, "{}")))

    async def commit(change: Change) -> None:
        nonlocal where
        where = await ledger.commit(Append(run=RUN, epoch=where.epoch, sequence=where.sequence, changes=(change,)))

    try:
        yield ledger, commit
    finally:
        await ledger.aclose()


async def go(ledger: Ledger, commit: Commit, on: Move, *, settled_by: str = "reconciler") -> Operation:
    """Make one move of the operation, whatever it is and wherever it stands."""
    now = await ledger.operation(OPERATION)
    if now is None:
        await commit(OpenOperation(operation("dispatched", attempt=1) if on == "allowed" else operation("awaiting_approval")))
    else:
        await commit(
            MoveOperation(
                operation=OPERATION,
                on=on,
                state=now.state,
                attempt=now.attempt,
                owner=OwnerId("owner_1"),
                settled_by=settled_by,
            )
        )
    found = await ledger.operation(OPERATION)
    assert found is not None
    return found


async def walk(kind: str, folder: Path, moves: list[Move], *, settled_by: str = "reconciler") -> Operation:
    async with opened(kind, folder) as (ledger, commit):
        for on in moves:
            found = await go(ledger, commit, on, settled_by=settled_by)
        return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("state", "on"), [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in MOVES])
def test_every_row_of_the_table_is_a_move_that_the_ledger_makes(
    state: OperationState | None, on: Move, kind: str, tmp_path: Path
) -> None:
    found = asyncio.run(walk(kind, tmp_path, [*(path_to(state) if state else []), on]))
    assert (found.state, found.closed) == _expected(state, on)


def _expected(state: OperationState | None, on: Move) -> tuple[OperationState, str | None]:
    to, closed = MOVES[state, on]
    if to == "closed" and closed is None:
        return to, MOVES["awaiting_approval", path_to("closed")[-1]][1]
    return to, closed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("state", "on"),
    [
        pytest.param(state, on, id=f"{state}-{on}")
        for state, on in product(STATES, get_args(Move))
        if (state, on) not in MOVES and on not in {"allowed", "requested"}
    ],
)
def test_every_other_move_is_an_error_and_leaves_the_operation_where_it_was(
    state: OperationState, on: Move, kind: str, tmp_path: Path
) -> None:
    async def main() -> tuple[str, Operation | None]:
        async with opened(kind, tmp_path) as (ledger, commit):
            for step in path_to(state):
                before = await go(ledger, commit, step)
            with pytest.raises(Conflict) as error:
                await go(ledger, commit, on)
            assert await ledger.operation(OPERATION) == before
            return error.value.code, before

    code, _ = asyncio.run(main())
    assert code == "operation.illegal_move"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", [state for state in STATES if state not in {"dispatched", "awaiting_approval"}])
def test_a_proposal_cannot_begin_anywhere_else(state: OperationState, kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(kind, tmp_path) as (ledger, commit):
            with pytest.raises(Conflict):
                await commit(OpenOperation(operation(state)))
            assert await ledger.operation(OPERATION) is None

    asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("on", get_args(Move))
def test_what_was_never_proposed_cannot_be_moved(on: Move, kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(kind, tmp_path) as (_, commit):
            with pytest.raises(NotFound):
                await commit(MoveOperation(operation=OPERATION, on=on, state="dispatched", attempt=1))

    asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_a_late_success_does_not_overrule_the_handlers_own_word(kind: str, tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="its own handler"):
        asyncio.run(walk(kind, tmp_path, ["allowed", "no_effect", "late_success"], settled_by="handler"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", STATES)
def test_a_key_is_held_by_exactly_the_states_that_the_docs_say(state: OperationState, kind: str, tmp_path: Path) -> None:
    async def main() -> bool:
        async with opened(kind, tmp_path) as (ledger, commit):
            for step in path_to(state):
                await go(ledger, commit, step)
            holder = await ledger.held(Digest("k"))
            try:
                await commit(OpenOperation(operation("dispatched", id=OperationId("op_2"), attempt=1)))
            except KeyTaken:
                return holder is not None
            return False

    assert asyncio.run(main()) == (state in {"dispatched", "unknown", "succeeded"})
