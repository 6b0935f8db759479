"""A run as a pure function: `(state, event) -> (state, commands)`.

No socket, clock or randomness; time is the event's. Streaming, approval, cancellation, resume and
retry are events like all others. Invariant: the state follows from the events alone, so a fold of a
journal, cut anywhere, and `Resumed` give a state whose commands finish the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from remit.loop.command import Command, Tell
from remit.loop.emit import emit
from remit.loop.ending import ending_of
from remit.loop.facts import add
from remit.loop.phase import Phase
from remit.loop.state import MAX_ATTEMPTS, Ending, RunState
from remit.loop.table import BUDGET_REFUSED, TABLE, Edge
from remit.types.event import CallEnded, Event, Recorded

__all__ = ["fold", "follow", "limit", "transition"]


def _by_phase() -> dict[Phase, tuple[Edge, ...]]:
    return {phase: tuple(edge for edge in TABLE if edge.phase is phase) for phase in Phase}


_EDGES = _by_phase()


def transition(state: RunState | None, recorded: Recorded) -> tuple[RunState, tuple[Command, ...]]:
    """The state after one more event, and what is to be done now.

    Args:
        state: None before the first event.
    """
    before = state or RunState(run=recorded.run)
    after, _ = follow(add(before, recorded), recorded.event.kind)
    after, commands = emit(after)
    return after, (*_news(before, recorded.event), *commands)


def limit(state: RunState, reason: str) -> tuple[RunState, tuple[Command, ...]]:
    """The next request does not fit: stop. Nothing is recorded before `RunEnded`; a fold comes here again."""
    state, _ = follow(state, BUDGET_REFUSED)
    return emit(replace(state, ending=Ending("stopped", reason)))


def fold(events: Iterable[Recorded], *, max_attempts: int = MAX_ATTEMPTS) -> RunState:
    """The state that these events add up to; what they called for is forgotten.

    Raises:
        ValueError: there are no events.
    """
    state: RunState | None = None
    for recorded in events:
        state = state or RunState(run=recorded.run, max_attempts=max_attempts)
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


def follow(state: RunState, trigger: str) -> tuple[RunState, tuple[Edge, ...]]:
    """Follow the table: one edge that the trigger takes, then those that are taken at once; and which these were."""
    taken: list[Edge] = []
    on: str | None = trigger
    while True:
        edge = next((one for one in _EDGES[state.phase] if one.on == on and one.when(state)), None)
        if edge is not None:
            state = _enter(state, edge)
            taken.append(edge)
        elif on is None:
            return state, tuple(taken)
        on = None


def _enter(state: RunState, edge: Edge) -> RunState:
    origin, phase = edge.phase, edge.to
    closing = state.closing or (origin is Phase.INSPECT_STOP_REASON and phase is Phase.EXECUTE_CALLS)
    ending = ending_of(state, origin=origin) if phase in (Phase.STOP, Phase.ESCALATE) else state.ending
    return replace(state, phase=phase, commanded=False, closing=closing, ending=ending)
