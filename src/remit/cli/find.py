"""Rows by id, or by the beginning of one where only one fits; else the ids that come near."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from remit.errors import InputError, NotFound
from remit.types.approval import Approval, ApprovalKind
from remit.types.ident import ApprovalId, OperationId, RunId
from remit.types.ledger import Ledger, Noun
from remit.types.operation import Operation
from remit.types.run import RunRow

__all__ = ["approval", "operation", "run"]

_SHOWN = 5
_COMPARED = 1_000
"""Among so many of the newest ids one that was mistyped is looked for."""

_R = TypeVar("_R")


async def run(ledger: Ledger, named: str) -> RunRow:
    """The run of that id, or whose id begins so."""
    return await _row(ledger, "run", named, lambda name: ledger.run(RunId(name)))


async def approval(ledger: Ledger, named: str, *, kind: ApprovalKind = "approval") -> Approval:
    """The approval or question of that id, or whose id begins so; where there is none, `kind` is what is said to be missing."""
    return await _row(ledger, "approval", named, lambda name: ledger.approval(ApprovalId(name)), called=kind)


async def operation(ledger: Ledger, named: str) -> Operation:
    """The operation of that id, or whose id begins so."""
    return await _row(ledger, "operation", named, lambda name: ledger.operation(OperationId(name)))


async def _row(ledger: Ledger, noun: Noun, named: str, read: Callable[[str], Awaitable[_R | None]], *, called: str = "") -> _R:
    fitting = await ledger.find(noun, named, limit=_SHOWN + 1) if named else []
    row = await read(fitting[0] if len(fitting) == 1 else named)
    if row is not None:
        return row
    if fitting:
        some = ", ".join(fitting[:_SHOWN]) + (", ..." if len(fitting) > _SHOWN else "")
        raise InputError(f"{named!r} is the beginning of several {noun}s: {some}", code=f"{noun}.ambiguous")
    near = difflib.get_close_matches(named, await ledger.find(noun, limit=_COMPARED), n=3)
    instead = f"; did you mean {' or '.join(near)}?" if near else f"; `remit {noun}s` lists them"
    raise NotFound(f"there is no {called or noun} {named!r}{instead}", code=f"{noun}.not_found")
