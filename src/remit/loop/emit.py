"""Which commands a state calls for, and have not been given.

Pure. Invariant: a command is given once; that it was is in the state that comes back.
"""

from __future__ import annotations

from dataclasses import replace

from remit.loop import guard
from remit.loop.command import (
    AppendResults,
    Ask,
    Backoff,
    Cancel,
    CheckAnswer,
    Command,
    Consider,
    Correct,
    Deny,
    End,
    HoldBack,
    Pause,
    Reconsider,
    Recover,
    Start,
)
from remit.loop.phase import CallStatus, Phase
from remit.loop.schedule import Moves
from remit.loop.state import CallState, RunState
from remit.types.ident import CallId

__all__ = ["BACKOFF_CAP_S", "BACKOFF_S", "emit"]

BACKOFF_S = 0.5
"""Pause before the second attempt of a request; doubled for each further one."""
BACKOFF_CAP_S = 30.0

_NOT_STARTED: frozenset[CallStatus] = frozenset({"proposed", "ready", "joined", "awaiting", "decided"})


def emit(state: RunState) -> tuple[RunState, tuple[Command, ...]]:
    """The commands that are due, and the state that remembers them."""
    commands: list[Command] = []
    state = _of_calls(state, commands)
    if not state.commanded:
        own = _own(state)
        if own is not None:
            commands.append(own)
            state = replace(state, commanded=True)
    return state, tuple(commands)


def _own(state: RunState) -> Command | None:
    """The one command of a phase that has one."""
    match state.phase:
        case Phase.CHECK_BUDGETS:
            return _ask(state)
        case Phase.RETURN_RESULTS:
            return AppendResults(state.turn, tuple(call.id for call in state.current if call.status != "ended"))
        case Phase.VALIDATE_FINAL:
            return CheckAnswer(state.turn)
        case Phase.RETURN_CORRECTION if state.checked is not None:
            return Correct(state.checked.message)
        case Phase.WAIT:
            asked = tuple(call.approval for call in state.unanswered if call.approval is not None)
            return Pause(asked, state.text if state.closing else "")
        case Phase.STOP | Phase.ESCALATE if state.ending is not None and not state.unanswered:
            return End(state.ending.how, state.ending.reason, state.ending.explanation)
        case _:
            return None


def _ask(state: RunState) -> Command:
    """The model that replied last goes on. One that failed waits its time, unless another has not failed yet."""
    model = state.model or (state.started.model if state.started is not None else "")
    if state.attempt == 0:
        return Ask(state.turn + 1, 1, model)
    attempt = state.attempt + 1
    if state.failure is None:
        return Ask(state.turn, attempt, model)
    fresh = guard.unblocked(state)
    if fresh is not None:
        return Ask(state.turn, attempt, fresh)
    name, free_ms = min(state.blocked, key=lambda one: one[1])
    rounds = (state.attempt - 1) // len(state.blocked)
    least_s = max(0.0, (free_ms - state.at_ms) / 1000)
    return Backoff(state.turn, attempt, name, min(BACKOFF_CAP_S, BACKOFF_S * 2**rounds), least_s)


def _of_calls(state: RunState, commands: list[Command]) -> RunState:
    """Commands for calls: all of them when the run ends early, else by the phase; those of earlier turns always."""
    if state.phase in (Phase.STOP, Phase.ESCALATE) or (state.phase is Phase.RETURN_DENIAL and state.cancelled):
        return _wind_up(state, state.unanswered, commands)
    earlier = tuple(call for call in state.unanswered if call.turn != state.turn)
    state = _go_on(state, earlier, commands)
    for turn in guard.earlier_turns(state):
        state = _by_schedule(state, guard.moves(state, turn), commands)
    match state.phase:
        case Phase.VALIDATE_CALLS:
            return _consider_next(state, commands)
        case Phase.RECOVER_CALLS:
            return _recover(state, state.current, commands)
        case Phase.EXECUTE_CALLS:
            state = _go_on(state, state.current, commands)
            return _by_schedule(state, guard.moves(state), commands)
        case Phase.RETURN_DENIAL:
            return _deny(state, commands)
        case _:
            return state


def _consider_next(state: RunState, commands: list[Command]) -> RunState:
    """One at a time, in the model's order."""
    state = _give_up(state, state.current, commands)
    current = state.current
    if any(call.status == "considering" for call in current):
        return state
    call = next((call for call in current if call.status == "proposed"), None)
    if call is None:
        return state
    commands.append(Consider(call.id))
    return state.marked(frozenset({call.id}), "considering")


def _go_on(state: RunState, calls: tuple[CallState, ...], commands: list[Command]) -> RunState:
    """What needs no place in an order: recover, hear what people decided, answer what shared an operation."""
    state = _give_up(state, calls, commands)
    calls = tuple(call for call in calls if not _is_given_up(state, call))
    state = _recover(state, calls, commands)
    again = [call for call in calls if call.status == "joined" and guard.holder_ended(state, call)]
    again += [call for call in calls if call.status == "proposed"]
    commands += [Consider(call.id) for call in again]
    state = state.marked(frozenset(call.id for call in again), "considering")
    decided = [call for call in calls if call.status == "decided"]
    commands += [Reconsider(call.id, call.approval) for call in decided if call.approval is not None]
    return state.marked(frozenset(call.id for call in decided), "deciding")


def _give_up(state: RunState, calls: tuple[CallState, ...], commands: list[Command]) -> RunState:
    """A read that was under way whenever a process ended may be why: it is not started for ever."""
    lost = [call.id for call in calls if _is_given_up(state, call)]
    commands += [Deny(name, "tool.lost") for name in lost]
    return state.marked(frozenset(lost), "denying")


def _is_given_up(state: RunState, call: CallState) -> bool:
    return call.status == "proposed" and call.lost >= state.max_attempts


def _recover(state: RunState, calls: tuple[CallState, ...], commands: list[Command]) -> RunState:
    doubtful = [call for call in calls if call.status == "in_doubt"]
    commands += [Recover(call.id, call.operation) for call in doubtful if call.operation is not None]
    return state.marked(frozenset(call.id for call in doubtful), "recovering")


def _by_schedule(state: RunState, moves: Moves, commands: list[Command]) -> RunState:
    commands += [Start(name) for name in moves.start]
    commands += [HoldBack(name, code) for name, code in moves.hold_back]
    state = state.marked(frozenset(moves.start), "starting")
    return state.marked(frozenset(name for name, _ in moves.hold_back), "denying")


def _deny(state: RunState, commands: list[Command]) -> RunState:
    """The reply did not stop to call tools: whatever calls are in it, none runs."""
    names: set[CallId] = set()
    for call in state.current:
        if call.status == "proposed":
            commands.append(Deny(call.id, _denial(state, call)))
            names.add(call.id)
    return state.marked(frozenset(names), "denying")


def _denial(state: RunState, call: CallState) -> str:
    if state.stop in ("refusal", "filter"):
        return "model.refused"
    return "arguments.truncated" if call.cut or state.stop in ("length", "context") else "model.not_stopped"


def _wind_up(state: RunState, calls: tuple[CallState, ...], commands: list[Command]) -> RunState:
    """The run ends: what was dispatched is settled, what was not does not start."""
    state = _recover(state, calls, commands)
    names = [call.id for call in calls if call.status in _NOT_STARTED]
    commands += [Cancel(name) for name in names]
    return state.marked(frozenset(names), "denying")
