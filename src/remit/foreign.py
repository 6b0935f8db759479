"""The edge where the application's own code is called: whatever it raises stays its own failure.

Knows nothing of what is called. Invariant: out of a `contained` block comes an `Exception`, or the
cancellation of the very task that runs it; never a `SystemExit`, a `KeyboardInterrupt`, or a
`CancelledError` that nobody meant for us.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ["ForeignError", "contained", "origin"]


class ForeignError(Exception):
    """What foreign code raised, where that is no `Exception`; `raised` is the thing itself."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(type(raised).__name__)
        self.raised = raised


def origin(error: BaseException) -> BaseException:
    """What foreign code raised itself, also where it left as a `ForeignError`."""
    return error.raised if isinstance(error, ForeignError) else error


class contained:  # noqa: N801  # used as a statement: `with contained():`
    """Run foreign code in the block; what it raises leaves as an `Exception`.

    Args:
        awaiting: the block awaits, so that a cancellation of its own task, or the end of its coroutine, may reach
            it there. A block that does not await is never interrupted by either.
    """

    def __init__(self, *, awaiting: bool = False) -> None:
        self._awaiting = awaiting
        self._task: asyncio.Task[object] | None = None

    def __enter__(self) -> None:
        self._task = _here() if self._awaiting else None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or isinstance(error, Exception) or self._is_ours(error):
            return
        raise ForeignError(error) from error

    def _is_ours(self, error: BaseException) -> bool:
        if not self._awaiting:
            return False
        if isinstance(error, asyncio.CancelledError):
            return self._task is not None and self._task.cancelling() > 0
        return isinstance(error, GeneratorExit) and (self._task is None or _here() is not self._task)


def _here() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return None
