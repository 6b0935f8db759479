"""The steps of a run, with what takes declared secrets out of what is made of them.

Knows no run and no form. Invariant: it is the steps that it was given, to their end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType
from typing import Generic, TypeVar

from remit.trace import Redactor

__all__ = ["Steps"]

_T = TypeVar("_T")


class Steps(AsyncGenerator[_T, None], Generic[_T]):
    """An async iterator over what happens in a run.

    Args:
        steps: they.
        redactor: finds what takes out the secrets that this process declares for the run, once it has a step.
    """

    def __init__(self, steps: AsyncGenerator[_T, None], redactor: Callable[[], Awaitable[Redactor]]) -> None:
        self._steps = steps
        self.redactor = redactor

    async def asend(self, value: None) -> _T:
        return await self._steps.asend(value)

    async def athrow(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> _T:
        error = typ if isinstance(typ, BaseException) else val if isinstance(val, BaseException) else typ()
        return await self._steps.athrow(error.with_traceback(tb) if tb is not None else error)

    async def aclose(self) -> None:
        await self._steps.aclose()
