"""The final answer: whether it has its type, and whether the outside world is as promised.

Knows the agent's two checks, not what they ask. Invariant: a check that raises, or does not end in time, counts as not
done, and what it said is shown to the operator only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from remit import ambient
from remit.gate.inquire import inquire
from remit.loop.command import CheckAnswer
from remit.loop.live import Live
from remit.loop.phase import Phase
from remit.types.event import AnswerChecked
from remit.types.ident import Json

__all__ = ["check_answer", "read_answer"]

_MOST_S = 300.0
"""How long a check may take; less where the run has less time left."""
_LEAST_S = 1.0
"""How long one may take even where the run's time is over: what was reached in time is not thrown away."""

_NOT_DONE = "What was asked for is not yet true. Do what is missing, or say plainly that it is not done."
_NOT_CHECKED = "It could not be checked whether what was asked for is true. Do not claim that it is done."
_NOT_READ = "The answer could not be checked. Give it again, in the form that was asked for."


async def read_answer(live: Live) -> tuple[Json, str | None]:
    """The answer in the last text, and None; or None and what is wrong with it.

    Raises:
        Exception: what the agent's check raised; `TimeoutError`.
    """
    text, check = live.state.text, live.spec.answer
    return (text, None) if check is None else cast("tuple[Json, str | None]", await _asked(live, check, text))


async def check_answer(live: Live, command: CheckAnswer) -> None:
    """Check the last text and the world, and note what was found."""
    event = await _checked(live, command.turn)
    if live.state.phase is Phase.VALIDATE_FINAL:
        live.journal.note(event)


async def _checked(live: Live, turn: int) -> AnswerChecked:
    try:
        _, wrong = await read_answer(live)
    except Exception as error:  # the agent's own classes
        return _failed(live, turn, error, message=_NOT_READ, code="answer.error")
    if wrong is not None:
        return AnswerChecked(turn=turn, valid=False, done=False, message=wrong, code="answer.invalid")
    if live.spec.done is None:
        return AnswerChecked(turn=turn, valid=True, done=True)
    try:
        verdict = await _asked(live, live.spec.done)
    except Exception as error:  # the application's own function
        return _failed(live, turn, error, message=_NOT_CHECKED, code="done.error")
    if verdict is True:
        return AnswerChecked(turn=turn, valid=True, done=True)
    message = verdict if isinstance(verdict, str) and verdict.strip() else _NOT_DONE
    return AnswerChecked(turn=turn, valid=True, done=False, message=message, code="done.not")


async def _asked(live: Live, check: Callable[..., object], *given: object) -> object:
    left_s = live.limits.left_s(live.state, ambient.now_ms())
    limit_s = _MOST_S if left_s is None else max(_LEAST_S, min(left_s, _MOST_S))
    return await inquire(check, *given, timeout_s=limit_s)


def _failed(live: Live, turn: int, error: Exception, *, message: str, code: str) -> AnswerChecked:
    detail = live.gate.describe(error)
    return AnswerChecked(turn=turn, valid=code == "done.error", done=False, message=message, code=code, detail=detail)
