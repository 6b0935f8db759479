"""Rows by id, or by the beginning of one where only one fits; else the ids that come near."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from remit.errors import InputError, NotFound
from remit.types.approval import Approval
from remit.types.ident import ApprovalId, OperationId, RunId
from remit.types.ledger import Ledger
from remit.types.operation import Operation
from remit.types.run import RunRow

__all__ = ["approval", "operation", "run"]

_FAR = 100_000
_SHOWN = 5


class _Row(Protocol):
    @property
    def id(self) -> str: ...


_R = TypeVar("_R", bound=_Row)


async def run(ledger: Ledger, named: str) -> RunRow:
    """The run of that id, or whose id begins so."""
    return await ledger.run(RunId(named)) or await _only("run", named, lambda: ledger.runs(limit=_FAR))


async def approval(ledger: Ledger, named: str) -> Approval:
    """The approval or question of that id, or whose id begins so."""
    return await ledger.approval(ApprovalId(named)) or await _only("approval", named, lambda: ledger.approvals(limit=_FAR))


async def operation(ledger: Ledger, named: str) -> Operation:
    """The operation of that id, or whose id begins so."""
    return await ledger.operation(OperationId(named)) or await _only("operation", named, lambda: ledger.operations(limit=_FAR))


async def _only(what: str, named: str, every: Callable[[], Awaitable[Sequence[_R]]]) -> _R:
    rows = await every()
    fitting = [row for row in rows if named and row.id.startswith(named)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        some = ", ".join(row.id for row in fitting[:_SHOWN])
        raise InputError(f"{named!r} is the beginning of {len(fitting)} {what}s: {some}", code=f"{what}.ambiguous")
    near = difflib.get_close_matches(named, [row.id for row in rows], n=3)
    instead = f"; did you mean {' or '.join(near)}?" if near else f"; `remit {what}s` lists them"
    raise NotFound(f"there is no {what} {named!r}{instead}", code=f"{what}.not_found")
