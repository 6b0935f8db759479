"""No declared secret in any recorded channel: events, rows, requests to the model, logs."""

from __future__ import annotations

from collections.abc import Iterator

from remit.testing.explorer.check.record import Record
from remit.testing.explorer.world import CANARY

__all__ = ["secrets"]


def secrets(record: Record) -> list[str]:
    """The channels in which the secret is."""
    return [f"the declared secret is in {channel}" for channel, text in _channels(record) if CANARY in text]


def _channels(record: Record) -> Iterator[tuple[str, str]]:
    for story in record.stories:
        yield f"the events of run {story.row.id}", "".join([repr(one.event) for one in story.recorded])
    yield "the rows of operations", "".join([f"{row.outcome}{row.evidence}" for row in record.operations.values()])
    yield "the rows of approvals", repr(list(record.approvals.values()))
    yield "a request to the model", "".join([body.decode() for body in record.played.speaker.bodies])
    yield "the log", "\n".join(record.played.logged)
