"""Budgets are kept, and what the ledger has booked is what the events add up to."""

from __future__ import annotations

from collections.abc import Iterator

from remit.budget import Tally, budget_from_json
from remit.testing.explorer.check.record import Record, Story
from remit.types.budget import Budget
from remit.types.event import ApprovalRequested, CallEnded, Replied, RunStarted
from remit.types.outcome import NotRun, Refused

__all__ = ["budgets"]


def budgets(record: Record) -> list[str]:
    """Where more was used than may be, or than is booked."""
    return [found for story in record.stories for found in _of_story(story)]


def _of_story(story: Story) -> Iterator[str]:
    started = next(story.of(RunStarted), None)
    if started is None:
        return
    tally = Tally()
    for one in story.recorded:
        tally = tally.count(one)
    yield from _kept(story, budget_from_json(started.budget), tally)
    if story.row.status != "ended" or story.row.parent is not None or story.row.host:  # a host's are counted from its events
        return
    own = {"turns": tally.turns, "calls": tally.calls, "approvals": tally.approvals, "tokens": tally.tokens}
    booked = story.spent
    for name, amount in own.items():
        if getattr(booked, name) < amount:
            yield f"run {story.row.id} used {amount} {name}, and {getattr(booked, name)} are booked"


def _kept(story: Story, budget: Budget, tally: Tally) -> Iterator[str]:
    admitted = [event for event in story.of(CallEnded) if not _is_over(event) and not event.call.startswith("undo:")]
    replies = list(story.of(Replied))
    last = 0 if not replies else replies[-1].usage.input_tokens + replies[-1].usage.output_tokens
    used = {
        "turns": (tally.turns, budget.turns),
        "calls": (len(admitted), budget.calls),
        "approvals": (sum(1 for _ in story.of(ApprovalRequested)), budget.approvals),
        "tokens": (tally.usage.input_tokens + tally.usage.output_tokens - last, budget.tokens),
    }
    for name, (amount, limit) in used.items():
        if limit is not None and amount > limit:
            yield f"run {story.row.id} used {amount} {name} of {limit}"


def _is_over(event: CallEnded) -> bool:
    """Whether the call was not let in: it was over the budget, or the run was over."""
    outcome = event.outcome
    return isinstance(outcome, NotRun) or (isinstance(outcome, Refused) and outcome.code.startswith("budget."))
