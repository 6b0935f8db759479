"""What the events say of runs that answer another run's calls, and of workflows that take back what they did.

Part of the closed list in `remit.types.event`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.types.ident import ApprovalId, CallId, RunId

__all__ = ["ChildReturned", "ChildStarted", "ChildWaiting", "Share", "Undo", "UndoBegun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A run higher up in the tree, and its budget as JSON text: whatever a run below takes is taken from it as well."""

    run: RunId
    budget: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStarted:
    """Another agent answers this call: in this run, which is about to begin. What was used so far is told to the ledger with
    it, so that the child's share is what is left."""

    call: CallId
    child: RunId
    kind: Literal["child.started"] = "child.started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildWaiting:
    """The run that answers this call waits for people: about these, until `expires_ms` at the earliest."""

    call: CallId
    child: RunId
    approvals: tuple[ApprovalId, ...] = ()
    expires_ms: int | None = None
    kind: Literal["child.waiting"] = "child.waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildReturned:
    """The run that answers this call, and that had waited, has ended: the call is looked at again."""

    call: CallId
    child: RunId
    kind: Literal["child.returned"] = "child.returned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """What takes back a step of a workflow that is done: a call like any other. `arguments` is JSON text."""

    step: CallId
    call: CallId
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoBegun:
    """A workflow failed: from now on its function is not called any more, and these are made, in this order.

    Args:
        reason: the stable code of what failed.
        message: the same for people.
        step: the step that failed, where one did.
        undos: of the steps that are done, the last one first.
        stuck: steps that may have happened and that nothing here takes back.
    """

    reason: str
    message: str
    step: CallId | None = None
    undos: tuple[Undo, ...] = ()
    stuck: tuple[CallId, ...] = ()
    kind: Literal["workflow.undo_begun"] = "workflow.undo_begun"
