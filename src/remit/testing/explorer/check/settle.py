"""Settled, or named as unknown; and what the ledger says of an effect is what the books say."""

from __future__ import annotations

from collections.abc import Iterator

from remit.testing.explorer.check.record import Record
from remit.testing.explorer.world import now
from remit.types.event import Contradicted, RunEnded
from remit.types.ident import RunId
from remit.types.operation import Operation

__all__ = ["settled"]


def settled(record: Record) -> list[str]:
    """Operations that are nowhere, or of which the ledger says another thing than the books; runs that did not end."""
    found = list(record.faults)
    found += [f"run {story.row.id} is {story.row.status} in the end" for story in record.stories if story.row.status != "ended"]
    found += [
        f"what run {story.row.id} was told is not journaled" for story in record.stories if now(_inbox(record, story.row.id))
    ]
    contradicted = {event.operation for story in record.stories for event in story.of(Contradicted)}
    for row in record.operations.values():
        found += _of_row(record, row, contradicted=row.id in contradicted)
    return found


async def _inbox(record: Record, run: RunId) -> bool:
    return bool(await record.played.store.inbox(run))


def _of_row(record: Record, row: Operation, *, contradicted: bool) -> Iterator[str]:
    where, books = f"{row.tool} ({row.id})", record.played.books
    happened = books.happened(row.id)
    match row.state:
        case "succeeded" if not happened:
            yield f"{where} is recorded as done, and it did not happen"
        case "failed" | "closed" if happened and not contradicted:
            yield f"{where} is recorded as {row.state}, and it happened"
        case "unknown":
            if record.played.schedule.mode("settle") != "leave":
                yield f"{where} is unknown, although everybody was asked"
            elif not _named(record, row):
                yield f"{where} is unknown, and its run's end does not name it"
        case "dispatched" | "awaiting_approval":
            yield f"{where} is {row.state} in the end"
        case _:
            pass
    answered = [one for one in books.answered if one.operation == row.id and one.process not in record.played.crashed]
    if answered and row.state != "succeeded" and not contradicted:
        yield f"{where} gave its result, and is {row.state}: the outcome was dropped"
    elif answered and (row.settled_by or "").startswith("by:"):
        yield f"{where} gave its result, and a person had to settle it: the outcome was dropped"


def _named(record: Record, row: Operation) -> bool:
    story = record.story(row.run)
    ends = [] if story is None else list(story.of(RunEnded))
    return bool(ends) and row.id in ends[-1].open_operations
