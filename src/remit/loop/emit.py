"""Which commands a state calls for, and have not been given.

Notes in the draft that it is given which commands were, and nothing else. Invariant: a command is given once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from remit.loop import guard
from remit.loop.choice import next_ask
from remit.loop.command import (
    AppendResults,
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
    Rejoin,
    Start,
)
from remit.loop.phase import CallStatus, Phase
from remit.loop.state import MAX_ATTEMPTS, CallState, Draft, RunState, put_statuses

__all__ = ["emit"]

_GOING_ON: frozenset[CallStatus] = frozenset({"proposed", "joined", "decided", "in_doubt"})
_NOT_STARTED: frozenset[CallStatus] = frozenset({"proposed", "ready", "joined", "awaiting", "decided"})
_LEFT: frozenset[CallStatus] = frozenset({*_NOT_STARTED, "in_doubt"})


def emit(draft: Draft) -> tuple[Command, ...]:
    """The commands that are due; the draft remembers them."""
    commands = _of_calls(draft) if draft.is_open else []
    if not draft.commanded:
        own = _OWN.get(draft.phase, _nothing)(draft)
        if own is not None:
            draft.commanded = True
            commands.append(own)
    return tuple(commands)


# the one command of a phase that has one


def _nothing(state: RunState) -> None:
    del state


def _append_results(state: RunState) -> Command:
    return AppendResults(state.turn, tuple(call.id for call in state.current if call.status != "ended"))


def _check_answer(state: RunState) -> Command:
    return CheckAnswer(state.turn)


def _correct(state: RunState) -> Command | None:
    return None if state.checked is None else Correct(state.checked.message)


def _pause(state: RunState) -> Command:
    return Pause(state.asked, state.text if state.closing else "")


def _end(state: RunState) -> Command | None:
    ending = state.ending
    return None if ending is None or state.is_open else End(ending.how, ending.reason, ending.explanation)


_OWN: Mapping[Phase, Callable[[RunState], Command | None]] = {
    Phase.CHECK_BUDGETS: next_ask,
    Phase.RETURN_RESULTS: _append_results,
    Phase.VALIDATE_FINAL: _check_answer,
    Phase.RETURN_CORRECTION: _correct,
    Phase.WAIT: _pause,
    Phase.STOP: _end,
    Phase.ESCALATE: _end,
}


# commands for calls


def _of_calls(draft: Draft) -> list[Command]:
    """All of them when the run ends early, else by the phase; those of earlier turns always."""
    if draft.phase in (Phase.STOP, Phase.ESCALATE) or (draft.phase is Phase.RETURN_DENIAL and draft.cancelled):
        return _given(draft, draft.calls, _wound_up) if draft.any_call(_LEFT) else []
    commands: list[Command] = []
    earlier = guard.earlier_turns(draft)
    if earlier:
        commands += _given(draft, [call for call in draft.calls if call.turn != draft.turn], _gone_on)
    for turn in earlier:
        commands += _by_schedule(draft, turn)
    match draft.phase:
        case Phase.VALIDATE_CALLS:
            commands += _consider_next(draft)
        case Phase.RECOVER_CALLS:
            commands += _given(draft, draft.current, _recovered) if draft.any_call({"in_doubt"}) else []
        case Phase.EXECUTE_CALLS:
            commands += _given(draft, draft.current, _gone_on) if draft.any_call(_GOING_ON) else []
            commands += _by_schedule(draft, draft.turn)
        case Phase.RETURN_DENIAL:
            commands += _given(draft, draft.current, _denied) if draft.any_call({"proposed"}) else []
        case _:
            pass
    return commands


_Due = tuple[Command, CallStatus] | None
"""The command that is due for a call, and the call's status once it is given."""


def _given(draft: Draft, calls: Iterable[CallState], due: Callable[[RunState, CallState], _Due]) -> list[Command]:
    """What is due for each of these calls."""
    commands: list[Command] = []
    statuses: list[tuple[CallState, CallStatus]] = []
    for call in calls:
        found = due(draft, call)
        if found is not None:
            commands.append(found[0])
            statuses.append((call, found[1]))
    put_statuses(draft, statuses)
    return commands


def _consider_next(draft: Draft) -> list[Command]:
    """One at a time, in the model's order."""
    commands: list[Command] = []
    for place in range(draft.considered, len(draft.calls)):
        call = draft.calls[place]
        if call.turn == draft.turn and call.status == "proposed":
            commands += _given(draft, (call,), _gone_on)
        if draft.calls[place].status == "considering":
            draft.considered = place
            break
    return commands


def _given_up(call: CallState) -> _Due:
    """A read that was under way whenever a process ended may be why: it is not started for ever."""
    if call.status == "proposed" and call.lost >= MAX_ATTEMPTS:
        return Deny(call.id, "tool.lost"), "denying"
    return None


def _recovered(state: RunState, call: CallState) -> _Due:
    del state
    if call.status != "in_doubt":
        return None
    if call.child is not None:
        return Rejoin(call.id), "recovering"
    return None if call.operation is None else (Recover(call.id, call.operation), "recovering")


def _gone_on(state: RunState, call: CallState) -> _Due:
    """What needs no place in an order: recover, hear what people decided, answer what shared an operation."""
    match call.status:
        case "proposed":
            return _given_up(call) or (Consider(call.id), "considering")
        case "joined" if guard.holder_ended(state, call):
            return Consider(call.id), "considering"
        case "decided" if call.approval is not None:
            return Reconsider(call.id, call.approval), "deciding"
        case _:
            return _recovered(state, call)


def _by_schedule(draft: Draft, turn: int) -> list[Command]:
    """What may start now, and what will not start at all."""
    moves = guard.moves(draft, turn)
    if not moves:
        return []
    held = dict(moves.hold_back)

    def due(state: RunState, call: CallState) -> _Due:
        del state
        if call.id in moves.start:
            return Start(call.id), "starting"
        return (HoldBack(call.id, held[call.id]), "denying") if call.id in held else None

    names = (*moves.start, *held)
    return _given(draft, [draft.calls[place] for place in sorted([draft.places[name] for name in names])], due)


def _denied(state: RunState, call: CallState) -> _Due:
    """The reply did not stop to call tools: whatever calls are in it, none runs."""
    return (Deny(call.id, _denial(state, call)), "denying") if call.status == "proposed" else None


def _denial(state: RunState, call: CallState) -> str:
    if state.stop in ("refusal", "filter"):
        return "model.refused"
    return "arguments.truncated" if call.cut or state.stop in ("length", "context") else "model.not_stopped"


def _wound_up(state: RunState, call: CallState) -> _Due:
    """The run ends: what was dispatched is settled, what was not does not start, and a child is cancelled."""
    if call.child is not None and call.status in _LEFT:
        return Rejoin(call.id, stop=True), "recovering"
    return (Cancel(call.id), "denying") if call.status in _NOT_STARTED else _recovered(state, call)
