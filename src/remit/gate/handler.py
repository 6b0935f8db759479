"""One attempt of a handler: in a task or a thread, up to its timeout, and whatever it does after that.

Knows no operation. Invariant: an attempt has exactly one `Ending` for whoever waits, and what it does
after that goes to `late`, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, cast

from remit.foreign import contained, origin
from remit.gate.box import NotStarted, in_sandbox
from remit.gate.thread import Worker
from remit.tool import Arguments, Context, NoEffect, Tool
from remit.tool.effect import is_in_doubt

__all__ = ["Ending", "attempt", "raised"]

How = Literal["returned", "no_effect", "in_doubt", "raised", "not_started", "timeout"]
Late = Callable[["Ending"], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended. `not_started`: it failed before the handler's first line."""

    how: How
    value: object = None
    error: BaseException | None = None


def _ignore(ending: Ending) -> None:
    del ending


async def attempt(
    tool: Tool,
    arguments: Arguments,
    context: Context[object],
    *,
    late: Late | None = None,
    gone: Callable[[], None] | None = None,
) -> Ending:
    """Run the handler once, for at most the tool's timeout.

    Args:
        late: told how it ended, if that was after this returned or was cancelled; from a thread if the handler is sync.
            None: what it does then is of no interest, and leaving early interrupts it (a read).
        gone: called when the handler no longer runs, before anybody is told.
    """
    try:
        with contained():
            boxed = None if tool.sandbox is None else in_sandbox(tool.sandbox, tool, arguments, context)
            begin = boxed or tool.prepare(arguments, context)
    except Exception as error:  # typed arguments are built by the application's own classes
        if gone is not None:
            gone()
        return Ending("not_started", error=origin(error))
    if boxed is not None or tool.is_async:
        return await _task(cast("Callable[[], Awaitable[object]]", begin), tool.timeout_s, late, gone)
    return await _thread(begin, tool, late, gone)


async def _task(
    begin: Callable[[], Awaitable[object]], timeout_s: float, late: Late | None, gone: Callable[[], None] | None
) -> Ending:
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout_s
    task = loop.create_task(_awaited(begin))
    if gone is not None:
        task.add_done_callback(lambda _: gone())
    try:
        await _ended(task, until)
    except asyncio.CancelledError:
        if late is None:
            task.cancel()
        else:
            loop.call_at(until, task.cancel)
            task.add_done_callback(lambda done: _tell_late(done, late))
        raise
    if task.done():
        return _ending(task)
    task.cancel()
    task.add_done_callback(lambda done: _tell_late(done, late or _ignore))
    return Ending("timeout")


async def _ended(task: asyncio.Task[Ending], until: float) -> None:
    """Return when the task has ended, or at that moment of the event loop's clock."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def wake(_: object = None) -> None:
        if not waiter.done():
            waiter.set_result(None)

    task.add_done_callback(wake)
    timer = loop.call_at(until, wake)
    try:
        await waiter
    finally:
        timer.cancel()


async def _awaited(begin: Callable[[], Awaitable[object]]) -> Ending:
    try:
        with contained(awaiting=True):
            return Ending("returned", await begin())
    except Exception as error:  # the handler is foreign code: not even SystemExit may take the process with it
        return raised(origin(error))


def raised(error: BaseException) -> Ending:
    """What a handler says by what it raises. Of several at once, one that is in doubt decides."""
    if isinstance(error, NotStarted):
        return Ending("not_started", error=error.__cause__ or error)
    if is_in_doubt(error):
        return Ending("in_doubt", error=error)
    return Ending("no_effect" if isinstance(error, NoEffect) else "raised", error=error)


def _ending(task: asyncio.Task[Ending]) -> Ending:
    return Ending("raised", error=asyncio.CancelledError()) if task.cancelled() else task.result()


def _tell_late(task: asyncio.Task[Ending], late: Late) -> None:
    if not task.cancelled():
        late(task.result())


async def _thread(begin: Callable[[], object], tool: Tool, late: Late | None, gone: Callable[[], None] | None) -> Ending:
    def call() -> Ending:
        try:
            return Ending("returned", begin())
        except BaseException as error:  # not even SystemExit may take the report with it
            return raised(error)
        finally:
            if gone is not None:
                gone()

    try:
        worker = Worker(call, late or _ignore, f"remit-{tool.name}")
    except RuntimeError as error:
        if gone is not None:
            gone()
        return Ending("not_started", error=error)
    try:
        await asyncio.wait({worker.future}, timeout=tool.timeout_s)
    except asyncio.CancelledError:
        if not worker.abandon():
            worker.future.add_done_callback(lambda done: (late or _ignore)(done.result()))
        raise
    if worker.future.done() or not worker.abandon():
        return await worker.future
    return Ending("timeout")
