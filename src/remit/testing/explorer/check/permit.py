"""Authorized and, where needed, approved: for every dispatch there is a yes before it, to exactly what ran.

Whether a person was needed is found out here once more: by the tool's own rule, and by the label of the proposal.
"""

from __future__ import annotations

from collections.abc import Iterator

from remit.policy import Request
from remit.testing.explorer.check.record import Record, Story
from remit.tool import Arguments
from remit.types.approval import Approval
from remit.types.event import ApprovalDecided, ApprovalRequested, CallConsidered, OperationMoved
from remit.types.ident import ApprovalId, is_of_request
from remit.types.operation import Operation

__all__ = ["permits"]


def permits(record: Record) -> list[str]:
    """Dispatches that nothing allowed, and approvals that were used otherwise than once."""
    found: list[str] = []
    for story in record.stories:
        found += _of_story(record, story)
    found += _uses(record)
    return found


def _of_story(record: Record, story: Story) -> Iterator[str]:
    considered: dict[str, CallConsidered] = {}
    asked: dict[str, ApprovalRequested] = {}
    decided: dict[str, ApprovalDecided] = {}
    for event in (one.event for one in story.recorded):
        match event:
            case CallConsidered():
                considered[event.call] = event
            case ApprovalRequested():
                asked[event.approval] = event
            case ApprovalDecided():
                decided[event.approval] = event
            case OperationMoved(state="dispatched", on="allowed" | "approved") if not is_of_request(event.call):
                row = record.operations.get(event.operation)
                if row is not None:
                    yield from _dispatched(record, row, considered.get(event.call), event, asked, decided)
            case _:
                pass


def _dispatched(
    record: Record,
    row: Operation,
    considered: CallConsidered | None,
    event: OperationMoved,
    asked: dict[str, ApprovalRequested],
    decided: dict[str, ApprovalDecided],
) -> Iterator[str]:
    where = f"{row.tool} ({row.id})"
    if considered is None or considered.verdict != "ready":
        yield f"{where} was dispatched, and no event says that its call was ready"
    elif considered.digest != row.arguments_digest:
        yield f"{where} was dispatched with other arguments than were considered"
    if event.approval is None:
        if considered is not None and _needs_person(record, row, considered):
            yield f"{where} was dispatched without the approval that it needed"
        return
    yes, request = decided.get(event.approval), asked.get(event.approval)
    if request is None or yes is None or yes.verdict != "approved":
        yield f"{where} was dispatched on approval {event.approval}, which nobody had granted"
    elif row.arguments_digest != (yes.edited or request.digest):
        yield f"{where} was dispatched with other arguments than were approved"


def _needs_person(record: Record, row: Operation, considered: CallConsidered) -> bool:
    tool = record.played.stage.tool(row.tool)
    if tool is None:
        return False
    if not considered.label.trusted:
        return True
    return tool.approve is not None and tool.approve.wants(
        Arguments(row.arguments),
        Request(
            tool=tool.name,
            effect="write",
            arguments=Arguments(row.arguments),
            principal=record.played.principal,
            facts=record.played.scenario.facts.get(tool.name, True),
            label=considered.label,
            conversation=row.conversation,
            run=row.run,
        ),
    )


def _uses(record: Record) -> Iterator[str]:
    used: dict[ApprovalId, list[Operation]] = {}
    for row in record.operations.values():
        if row.attempt > 0 and row.approval is not None:
            used.setdefault(row.approval, []).append(row)
    for name, rows in used.items():
        approval = record.approvals.get(name)
        if approval is None or approval.state != "consumed":
            yield f"{rows[0].tool} ran on approval {name}, which is not used up"
        if len(rows) > 1:
            yield f"approval {name} was used for {len(rows)} operations"
    yield from (f"approval {one.id} is used up, and nothing ran on it" for one in _lost(record, set(used)))


def _lost(record: Record, used: set[ApprovalId]) -> Iterator[Approval]:
    for one in record.approvals.values():
        if one.state != "consumed" or one.kind == "question" or one.id in used or one.operation is None:
            continue
        yield one
