"""A run as a pure function: `(state, event) -> (state, commands)`.

No socket, clock or randomness; time is the event's. Streaming, approval, cancellation, resume and
retry are events like all others. Invariant: the state follows from the events alone, so a fold of a
journal, cut anywhere, and `Resumed` give a state whose commands finish the run. What is set on the way is
set in one draft, made here; the state that was given stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable

from remit.loop.command import Command, Tell
from remit.loop.emit import emit
from remit.loop.ending import ending_of
from remit.loop.facts import add
from remit.loop.phase import Phase
from remit.loop.state import Draft, Ending, RunState
from remit.loop.table import BUDGET_REFUSED, TABLE, Edge
from remit.types.event import CallEnded, Event, Recorded

__all__ = ["fold", "stop", "take_edges", "transition"]

_EDGES = {(edge.phase, edge.on): tuple(one for one in TABLE if (one.phase, one.on) == (edge.phase, edge.on)) for edge in TABLE}

_LAST = frozenset({Phase.STOP, Phase.ESCALATE})


def transition(state: RunState | None, recorded: Recorded) -> tuple[RunState, tuple[Command, ...]]:
    """The state after one more event, and what is to be done now.

    Args:
        state: None before the first event.
    """
    before = state or RunState(run=recorded.run)
    after = before.draft()
    add(after, recorded)
    take_edges(after, recorded.event.kind)
    return after, _news(before, recorded.event) + emit(after)


def stop(state: RunState, ending: Ending) -> tuple[RunState, tuple[Command, ...]]:
    """The next request is not made: end. Nothing is recorded before `RunEnded`; a fold comes here again."""
    after = state.draft()
    if take_edges(after, BUDGET_REFUSED):
        after.ending = ending
    return after, emit(after)


def fold(events: Iterable[Recorded]) -> RunState:
    """The state that these events add up to; what they called for is forgotten.

    Raises:
        ValueError: there are no events.
    """
    state: RunState | None = None
    for recorded in events:
        state, _ = transition(state, recorded)
    if state is None:
        raise ValueError("a run has at least one event")
    return state


def _news(before: RunState, event: Event) -> tuple[Command, ...]:
    """A call that the model knows as submitted has ended."""
    if not isinstance(event, CallEnded):
        return ()
    call = before.call(event.call)
    return (Tell(event.call),) if call is not None and call.receipted and call.status != "ended" else ()


def take_edges(draft: Draft, trigger: str) -> list[Edge]:
    """Follow the table: one edge that the trigger takes, then those that are taken at once. Returns the edges taken."""
    taken: list[Edge] = []
    on: str | None = trigger
    while True:
        for edge in _EDGES.get((draft.phase, on), ()):
            if edge.when(draft):
                _enter(draft, edge)
                taken.append(edge)
                break
        else:
            if on is None:
                return taken
        on = None


def _enter(draft: Draft, edge: Edge) -> None:
    if edge.to in _LAST:
        draft.ending = ending_of(draft, origin=edge.phase)
    elif edge.to is Phase.EXECUTE_CALLS and edge.phase is Phase.INSPECT_STOP_REASON:
        draft.closing = True
    draft.phase = edge.to
    draft.commanded = False
