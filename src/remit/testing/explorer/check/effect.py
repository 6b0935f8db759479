"""At most once: effects per operation and per key, and no attempt that the ledger did not know of before it began."""

from __future__ import annotations

from collections import Counter

from remit.testing.explorer.check.record import Record
from remit.types.event import Contradicted

__all__ = ["effects"]


def effects(record: Record) -> list[str]:
    """Where something happened twice, or happened before the ledger knew that it might."""
    books = record.played.books
    contradicted = {event.operation for story in record.stories for event in story.of(Contradicted)}
    named = [one.of for one in books.effects if one.of.operation not in contradicted]
    found = [
        f"{tool} had {count} effects under operation {operation}"
        for (tool, operation), count in Counter((one.tool, one.operation) for one in named).items()
        if count > 1
    ]
    found += [
        f"{tool} had {count} effects for one key, under different operations"
        for (tool, _), count in Counter((one.tool, one.key) for one in {one.operation: one for one in named}.values()).items()
        if count > 1
    ]
    for one in books.attempts:
        if not one.durable:
            found.append(f"attempt {one.attempt} of {one.tool} began before its dispatch was durable ({one.operation})")
        if not one.consumed:
            found.append(f"attempt {one.attempt} of {one.tool} began before its approval was used up ({one.operation})")
        row = record.operations.get(one.operation)
        if row is None:
            found.append(f"{one.tool} ran under operation {one.operation}, of which the ledger knows nothing")
        elif row.arguments_digest != one.digest:
            found.append(f"{one.tool} ran with other arguments than operation {one.operation} has")
    return found
