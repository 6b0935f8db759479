"""A workflow that failed: taking back is begun once, each undo is made at most once, and what remains done is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from remit.testing.explorer.books import Attempt
from remit.testing.explorer.check.record import Record, Story
from remit.types.event import CallConsidered, CallEnded, Contradicted, OperationMoved, RunEnded, RunStarted, UndoBegun
from remit.types.ident import CallId, RunId
from remit.types.outcome import Succeeded
from remit.types.tree import ChildStarted

__all__ = ["taken_back"]

_Place = tuple[RunId, CallId]


def taken_back(record: Record) -> list[str]:
    """Where a workflow's way back was begun, made or told otherwise than once."""
    found = [f"the function of run {run} was called after taking back had begun" for run in record.played.books.called_late]
    contradicted = {event.operation for story in record.stories for event in story.of(Contradicted)}
    places = [(_place(record, one.of), one.of) for one in record.played.books.effects if one.of.operation not in contradicted]
    for story in record.stories:
        started = next(story.of(RunStarted), None)
        if started is not None and started.protocol == "workflow":
            found += _order(story)
            found += _undos(record, story, places)
            found += _remains(story, places)
    return found


def _place(record: Record, attempt: Attempt) -> _Place:
    """The run that nothing is above of, and its call under which this happened."""
    run, call = attempt.run, attempt.call
    while (story := record.story(run)) is not None and story.row.parent is not None:
        above = record.story(story.row.parent)
        started = [] if above is None else [event for event in above.of(ChildStarted) if event.child == run]
        if not started:
            break
        run, call = story.row.parent, started[0].call
    return run, call


def _order(story: Story) -> Iterator[str]:
    """No step of the function is new after its way back has begun."""
    known: set[CallId] = set()
    begun = False
    for one in story.recorded:
        match one.event:
            case UndoBegun():
                if begun:
                    yield f"taking back in run {story.row.id} was begun twice"
                begun = True
            case CallConsidered(call=call) | CallEnded(call=call) | OperationMoved(call=call) | ChildStarted(call=call):
                if begun and call.startswith("step:") and call not in known:
                    yield f"{call} of run {story.row.id} is new, after taking back had begun"
                known.add(call)
            case _:
                pass


def _undos(record: Record, story: Story, places: list[tuple[_Place, Attempt]]) -> Iterator[str]:
    """Each undo at most once, and only of a step that was done."""
    run = story.row.id
    begun = next(story.of(UndoBegun), None)
    planned = {} if begun is None else {undo.call: undo.step for undo in begun.undos}
    order = [call for (of, call), _ in places if of == run]
    made = Counter(call for call in order if call.startswith("undo:"))
    yield from (f"{call} of run {run} happened {count} times" for call, count in made.items() if count > 1)
    yield from (f"{call} of run {run} happened, and was never planned" for call in made if call not in planned)
    answers = {event.call: event for event in story.of(CallEnded)}
    for call, step in planned.items():
        ended = answers.get(step)
        if ended is None or not isinstance(ended.outcome, Succeeded):
            yield f"{call} of run {run} takes back what was not done"
            continue
        tool = record.played.stage.tool(ended.tool)
        if call in made and tool is not None and tool.effect.kind == "write" and step not in order[: order.index(call)]:
            yield f"{call} of run {run} happened, and what it takes back had not"


def _remains(story: Story, places: list[tuple[_Place, Attempt]]) -> Iterator[str]:
    """After a failure, what was done is taken back or named."""
    ended = next(story.of(RunEnded), None)
    if ended is None or ended.how == "finished":
        return
    run = story.row.id
    begun = next(story.of(UndoBegun), None)
    happened = {call for (of, call), _ in places if of == run}
    answers = {event.call: event.outcome for event in story.of(CallEnded)}
    taken: set[CallId] = set()
    for undo in () if begun is None else begun.undos:
        outcome = answers.get(undo.call)
        if undo.call in happened or (isinstance(outcome, Succeeded) and outcome.repeat):
            taken.add(undo.step)
    named = (ended.explanation or "").partition("not taken back: ")[2]
    for (of, call), attempt in places:
        if of != run or not call.startswith("step:") or call in taken or attempt.operation in ended.open_operations:
            continue
        if f"step {call.removeprefix('step:')!r}" not in named:
            where = f"{attempt.tool} happened as {call} of run {run}"
            yield f"{where}, which ended as {ended.how}, and is neither taken back nor named"
