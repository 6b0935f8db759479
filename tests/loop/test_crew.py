"""The tasks of one run: who does what, what ends them, and what is known of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable

from remit.errors import RemitError
from remit.loop.crew import Crew

Work = Callable[[], Awaitable[None]]


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.Event().wait()


async def goes_on() -> None:
    await asyncio.Event().wait()


async def do(work: Work) -> None:
    await work()


def crew_of(*work: Work) -> tuple[Crew[Work], deque[Work]]:
    queue = deque(work)
    crew = Crew(queue, do, asyncio.Event())
    crew.call()
    return crew, queue


async def begun() -> None:
    """Whatever was called for has a task, and that has begun."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_task_that_ended_cancelled_although_nobody_here_cancelled_it_has_failed() -> None:
    async def story() -> None:
        crew, _ = crew_of(cancels_itself)
        await begun()
        await crew.settle()
        assert isinstance(crew.failure, RemitError)
        assert crew.failure.code == "run.interrupted"

    asyncio.run(story())


def test_a_task_that_was_cancelled_here_has_not_failed() -> None:
    async def story() -> None:
        tasks: list[asyncio.Task[None]] = []

        async def waits() -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.append(task)  # type: ignore[arg-type]
            await goes_on()

        crew, _ = crew_of(waits)
        crew.watch(goes_on())
        await begun()
        crew.cancel(tasks[0])
        await crew.settle()
        await crew.leave()
        crew.cancel(tasks[0])
        assert tasks[0].cancelled()
        assert crew.failure is None

    asyncio.run(story())


def test_what_follows_from_a_task_is_done_by_it_and_what_is_left_over_at_once_by_others() -> None:
    async def story() -> None:
        by: list[tuple[str, object]] = []

        def note(name: str) -> None:
            by.append((name, asyncio.current_task()))

        async def second() -> None:
            note("second")

        async def first() -> None:
            note("first")
            await asyncio.sleep(0)
            queue.append(second)
            crew.call()

        async def waits() -> None:
            note("waits")
            queue.append(beside)
            crew.call()
            await goes_on()

        async def beside() -> None:
            note("beside")

        crew, queue = crew_of(first)
        await begun()
        await crew.settle()
        queue.append(waits)
        crew.call()
        await begun()
        assert [name for name, _ in by] == ["first", "second", "waits", "beside"]
        tasks = [task for _, task in by]
        assert tasks[0] is tasks[1]
        assert tasks[2] is not tasks[3]
        await crew.leave()

    asyncio.run(story())


def test_a_task_that_does_not_let_itself_be_interrupted_takes_nothing_more() -> None:
    async def story() -> None:
        by: list[object] = []

        async def insists() -> None:
            by.append(asyncio.current_task())
            with contextlib.suppress(asyncio.CancelledError):
                await goes_on()

        async def after() -> None:
            by.append(asyncio.current_task())

        crew, queue = crew_of(insists)
        await begun()
        crew.cancel(by[0])  # type: ignore[arg-type]
        queue.append(after)
        crew.call()
        await begun()
        assert len(by) == 2
        assert by[0] is not by[1]
        assert crew.failure is None
        await crew.leave()

    asyncio.run(story())


def test_nothing_is_started_after_it_was_left() -> None:
    async def story() -> None:
        done: list[str] = []

        async def late() -> None:
            done.append("late")

        crew, queue = crew_of(late)
        await crew.leave()
        queue.append(late)
        crew.call()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert done == []

    asyncio.run(story())
