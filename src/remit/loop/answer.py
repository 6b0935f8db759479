"""The final answer: whether it has its type, and whether the outside world is as promised.

Knows the agent's two checks, not what they ask. Invariant: a check that raises counts as not done,
and what it said is shown to nobody.
"""

from __future__ import annotations

from remit.loop.command import CheckAnswer
from remit.loop.live import Live
from remit.loop.phase import Phase
from remit.types.event import AnswerChecked
from remit.types.ident import Json

__all__ = ["check_answer", "read_answer"]

_NOT_DONE = "What was asked for is not yet true. Do what is missing, or say plainly that it is not done."
_NOT_CHECKED = "It could not be checked whether what was asked for is true. Do not claim that it is done."


def read_answer(live: Live) -> tuple[Json, str | None]:
    """The answer in the last text, and None; or None and what is wrong with it."""
    text = live.state.text
    return (text, None) if live.spec.answer is None else live.spec.answer(text)


async def check_answer(live: Live, command: CheckAnswer) -> None:
    """Check the last text and the world, and note what was found."""
    _, wrong = read_answer(live)
    if wrong is None:
        event = await _checked(live, command.turn)
    else:
        event = AnswerChecked(turn=command.turn, valid=False, done=False, message=wrong, code="answer.invalid")
    if live.state.phase is Phase.VALIDATE_FINAL:
        live.journal.note(event)


async def _checked(live: Live, turn: int) -> AnswerChecked:
    if live.spec.done is None:
        return AnswerChecked(turn=turn, valid=True, done=True)
    try:
        verdict = await live.spec.done()
    except Exception:
        return AnswerChecked(turn=turn, valid=True, done=False, message=_NOT_CHECKED, code="done.error")
    if verdict is True:
        return AnswerChecked(turn=turn, valid=True, done=True)
    message = verdict if isinstance(verdict, str) and verdict.strip() else _NOT_DONE
    return AnswerChecked(turn=turn, valid=True, done=False, message=message, code="done.not")
