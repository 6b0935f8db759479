"""One attempt of a transactional handler: what it writes and what the ledger says of it are one commit.

Knows the journal; not what follows from a roll-back. Invariant: the outcome is worked out whole (redacted, shortened) before
anything is committed, and whatever is not committed has not happened in the ledger's database.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from remit import ambient
from remit.errors import LedgerError
from remit.foreign import contained, origin
from remit.gate.desk import Desk
from remit.gate.handler import Ending, raised
from remit.gate.note import Moved, moved
from remit.gate.result import Shaped, shape
from remit.gate.scene import Scene
from remit.tool import Arguments, Context, Tool
from remit.types.change import Change
from remit.types.connection import Connection
from remit.types.event import Event
from remit.types.operation import Operation

__all__ = ["OUTSIDE", "Kept", "transact"]

OUTSIDE = "it was rolled back here, but something outside the ledger may have happened"
"""Evidence of an operation that no roll-back explains: only a person can say what became of it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """It is committed: the move that is in the same commit, and the success that it says."""

    step: Moved
    shaped: Shaped


@dataclass(frozen=True, slots=True)
class _Work:
    """What is done with the connection, in a thread."""

    desk: Desk
    operation: Operation
    tool: Tool
    context: Context[object]

    def do(self, connection: Connection) -> Ending:
        deadline_s = ambient.monotonic_s() + self.tool.timeout_s
        context = replace(self.context, transaction=connection, deadline_s=deadline_s)
        try:
            with contained():
                begin = self.tool.prepare(Arguments(self.operation.arguments), context)
        except Exception as error:  # typed arguments are built by the application's own classes
            return Ending("not_started", error=origin(error))
        try:
            value = begin()
        except BaseException as error:  # the handler is foreign code: not even SystemExit may take the report with it
            return raised(error)
        return Ending("returned", shape(self.desk.redaction, self.tool, value, operation=self.operation.id))


async def transact(
    desk: Desk,
    scene: Scene,
    operation: Operation,
    tool: Tool,
    *,
    context: Context[object],
    evidence: Callable[[str | None], str | None],
) -> Kept | Ending:
    """Run the handler in a transaction, and commit it with its outcome; how it ended where nothing was committed.

    Args:
        evidence: what is kept for the operator, beside what is said.

    Raises:
        LedgerError: the transaction could not be begun, or whether it was committed is not known here.
        RunOwned, Conflict: the run is somebody else's now. Nothing happened.
    """
    how: list[Kept | Ending] = []

    def outcome(ending: Ending) -> tuple[tuple[Event, ...], tuple[Change, ...]] | None:
        how.append(ending)
        if not isinstance(ending.value, Shaped):
            return None
        shaped = ending.value
        step = moved(operation, "returned", outcome=shaped.outcome, by="handler", evidence=evidence(shaped.detail))
        how.append(Kept(step, shaped))
        return (step.event,), (step.change, *shaped.changes)

    here = (operation.id, operation.attempt)
    work = _Work(desk, operation, tool, context)

    async def whole() -> None:
        desk.at_work.running.add(here)
        try:
            await scene.journal.transact(work.do, outcome, timeout_s=tool.timeout_s)
        finally:
            desk.at_work.running.discard(here)

    try:
        await desk.shielded(whole())
    except TimeoutError:
        return Ending("timeout")
    except LedgerError as error:
        if error.code != "transaction.rolled_back":
            raise
        return Ending("raised", error=error.__cause__ or error)
    return how[-1]
