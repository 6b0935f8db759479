"""What the loop needs of an agent beside what its run recorded.

Knows no agent. Invariant: nothing in here is read by the fold, so a journal folds alike under every version of the agent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from remit.types.event import Recorded
from remit.types.ident import Json
from remit.types.model import Model

__all__ = ["Check", "RunSpec"]

Check = Callable[[str], tuple[Json, str | None]]
"""The answer in a final text, and None; or None and what is wrong with it, for the model to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """The agent of now, as far as the loop uses it. All else (head, tools, budgets, cap) is in `RunStarted`.

    Args:
        model: who is asked. Its wire must speak the run's recorded protocol.
        fallbacks: who is asked, in this order, where `model` does not answer; of the same protocol.
        streams: asked before each request whether anybody may hear the reply while it is written.
        answer: reads the final text; None takes the text itself as the answer.
        done: true, or false, or a sentence that says what is not yet true of the outside world; async or not.
        polls: names of tools whose repeats count only while their result stays equal.
        log: told every event as it is folded; it must not raise. What it was told may yet be lost with the process.
        context_tokens: size of the models' context, where it is not that of the price list: a request that would pass it
            is not sent.
    """

    model: Model
    fallbacks: tuple[Model, ...] = ()
    streams: Callable[[], bool] | None = None
    answer: Check | None = None
    done: Callable[[], object] | None = None
    polls: frozenset[str] = frozenset()
    log: Callable[[Recorded], None] | None = None
    context_tokens: int | None = None
