"""Non-interference: what a stranger's bytes may have chosen did not happen without a person.

Which proposals those are is found out here from the bytes themselves, without looking at any label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from remit.canonical import encode
from remit.testing.explorer.check.record import Record, Story
from remit.testing.explorer.scenario import MARK
from remit.tool import Arguments
from remit.types.event import CallConsidered, CallEnded, MessageAppended, OperationMoved, Replied, ResultsAppended
from remit.types.ident import CallId, call_id, is_of_request

__all__ = ["differences", "flow", "unapproved"]


def flow(record: Record) -> list[str]:
    """Writes that were proposed after a stranger's bytes were read, and that nobody approved."""
    tainted = {(story.row.id, call) for story in record.stories for call in _tainted(story)}
    found: list[str] = []
    for story in record.stories:
        for event in story.of(OperationMoved):
            row = record.operations.get(event.operation)
            ran = event.state == "dispatched" and event.on in ("allowed", "approved")
            if ran and row is not None and (story.row.id, row.call) in tainted and event.approval is None:
                found.append(f"{row.tool} ({row.id}) was proposed after a stranger's bytes were read, and nobody approved it")
    return found


def _tainted(story: Story) -> Iterator[CallId]:
    """Calls of replies that came after the mark stood in the transcript; steps that came after it stood in a result."""
    seen = False
    known: set[CallId] = set()
    for one in story.recorded:
        match one.event:
            case ResultsAppended(wording=wording) | MessageAppended(wording=wording):
                seen = seen or MARK in wording
            case CallEnded(outcome=outcome) if story.row.host:
                seen = seen or MARK in repr(outcome)
            case CallConsidered(call=call) if story.row.host:
                if seen and call not in known:
                    yield call
                known.add(call)
            case Replied(turn=turn, calls=calls) if seen:
                yield from (call_id(turn, call.position) for call in calls)
            case _:
                pass


def unapproved(record: Record) -> Counter[str]:
    """What nobody approved: the tools, with the arguments that must be trusted."""
    found: Counter[str] = Counter()
    for row in record.operations.values():
        tool = record.played.stage.tool(row.tool)
        if row.attempt == 0 or row.approval is not None or tool is None or is_of_request(row.call):
            continue
        values = {name: value for name, value in Arguments(row.arguments).items() if name not in tool.free}
        found[f"{row.tool} {encode(values)}"] += 1
    return found


def differences(swapped: Sequence[Counter[str]]) -> list[str]:
    """Where what nobody approved depends on what a stranger wrote."""
    first = swapped[0] if swapped else Counter[str]()
    return [
        f"non-interference: with other untrusted bytes (order {number}) what nobody approved differs"
        for number, one in enumerate(swapped)
        if one != first
    ]
