"""Which rows of the table of effects a play took, and which these tools could take at all.

Knows the table and what tools declare. Invariant: a row counts as taken where an event of a ledger says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from remit.testing.explorer.check.record import Record
from remit.tool import Tool
from remit.types.event import OperationMoved
from remit.types.ident import OperationId
from remit.types.operation import MOVES, Move, OperationState

__all__ = ["Row", "reachable", "taken"]

Row = tuple[OperationState | None, Move]
"""Where an operation stood, and what moved it."""


def taken(record: Record) -> set[Row]:
    """The rows that the operations of a play went through."""
    found: set[Row] = set()
    stands: dict[OperationId, OperationState] = {}
    for story in record.stories:
        for event in story.of(OperationMoved):
            found.add((stands.get(event.operation), event.on))
            stands[event.operation] = event.state
    return found


_ALWAYS: set[Row] = {
    (None, "allowed"),
    (None, "requested"),
    ("awaiting_approval", "approved"),
    ("awaiting_approval", "denied"),
    ("awaiting_approval", "expired"),
    ("awaiting_approval", "cancelled"),
    ("awaiting_approval", "withdrawn"),
    ("awaiting_approval", "edited"),
    ("awaiting_approval", "recheck_refused"),
    ("awaiting_approval", "recheck_stricter"),
    ("awaiting_approval", "contract_changed"),
    ("dispatched", "returned"),
    ("dispatched", "no_effect"),
    ("dispatched", "in_doubt"),
}
_IN_DOUBT: set[Row] = {
    ("unknown", "late_success"),
    ("unknown", "late_no_effect"),
    ("unknown", "settled_yes"),
    ("unknown", "settled_no"),
}
_KEYED: set[Row] = {("awaiting_approval", "key_repeat"), ("awaiting_approval", "key_conflict")}
_BY_RECOVERY: dict[str, set[Row]] = {
    "idempotent": {("unknown", "resent"), ("succeeded", "late_success")},
    "reconcile": {
        ("unknown", "resent"),
        ("unknown", "reconciled_yes"),
        ("unknown", "reconciled_no"),
        ("succeeded", "late_success"),
    },
    "transactional": {("unknown", "resent"), ("unknown", "reconciled_no")},
    "manual": set(),
}
"""What a truthful world can bring about. The rest of the table needs a party that is wrong: a reconciler or a person that
denied what had happened, or a handler that contradicts itself."""


def reachable(tools: Iterable[Tool]) -> set[Row]:
    """The rows that a truthful world can bring an operation of these tools to."""
    found: set[Row] = set()
    for tool in tools:
        recovery = tool.effect.recovery
        if tool.effect.kind == "write" and recovery is not None:
            late = set[Row]() if recovery.kind == "transactional" else _IN_DOUBT
            found |= _ALWAYS | late | _BY_RECOVERY.get(recovery.kind, set())
            if tool.operation_scope == "key":
                found |= _KEYED
    return found & set(MOVES)
