"""A replay, in the place of a handler: the outcome that was recorded for the call is how it ends now.

Knows outcomes; runs nothing. Invariant: where a gate recalls, no handler and no recovery of it ever starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from remit.gate.attempt import Tried, note
from remit.gate.code import fail
from remit.gate.note import Moved, moved
from remit.gate.scene import Scene
from remit.types.ident import CallId
from remit.types.operation import Operation
from remit.types.outcome import Failed, Outcome, Succeeded, Unknown

__all__ = ["recall", "recalled"]


def recalled(outcomes: Callable[[CallId], Outcome | None], call: CallId) -> Succeeded | Failed | Unknown:
    """What a handler came to then; `Failed(not_recorded)` where none had run."""
    outcome = outcomes(call)
    return outcome if isinstance(outcome, Succeeded | Failed | Unknown) else fail("not_recorded")


def recall(outcomes: Callable[[CallId], Outcome | None], scene: Scene, operation: Operation) -> Tried:
    """End the attempt of a dispatched operation as it ended then."""
    outcome = replace(recalled(outcomes, operation.call), operation=operation.id)
    return Tried(note(scene, operation, _moved(operation, outcome)), outcome)


def _moved(operation: Operation, outcome: Succeeded | Failed | Unknown) -> Moved:
    match outcome:
        case Succeeded():
            return moved(operation, "returned", outcome=replace(outcome, repeat=False), by="handler")
        case Failed():
            return moved(operation, "no_effect", outcome=outcome, by="handler")
        case Unknown():
            return moved(operation, "in_doubt", evidence="it was not known then")
