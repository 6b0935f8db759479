"""The tasks of one run: who does what, what ends them, and what is known of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from itertools import pairwise

from remit.errors import RemitError
from remit.loop.workers import Workers

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


def workers_of(*work: Work) -> Workers[Work]:
    workers: Workers[Work] = Workers()
    for one in work:
        workers.put(one)
    workers.start(do, beside=goes_on())
    return workers


async def begun() -> None:
    """Whatever was called for has a task, and that has begun."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_task_that_ended_cancelled_although_nobody_here_cancelled_it_has_failed() -> None:
    async def story() -> None:
        workers = workers_of(cancels_itself)
        await begun()
        await workers.settle()
        assert isinstance(workers.failure, RemitError)
        assert workers.failure.code == "run.interrupted"

    asyncio.run(story())


def test_a_task_that_was_cancelled_here_has_not_failed() -> None:
    async def story() -> None:
        tasks: list[asyncio.Task[None]] = []

        async def waits() -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.append(task)  # type: ignore[arg-type]
            await goes_on()

        workers = workers_of(waits)
        await begun()
        workers.cancel(tasks[0])
        await workers.settle()
        await workers.leave()
        workers.cancel(tasks[0])
        assert tasks[0].cancelled()
        assert workers.failure is None

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
            workers.put(second)

        async def waits() -> None:
            note("waits")
            workers.put(beside)
            await goes_on()

        async def beside() -> None:
            note("beside")

        workers = workers_of(first)
        await begun()
        await workers.settle()
        workers.put(waits)
        await begun()
        assert [name for name, _ in by] == ["first", "second", "waits", "beside"]
        tasks = [task for _, task in by]
        assert tasks[0] is tasks[1]
        assert tasks[2] is not tasks[3]
        await workers.leave()

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

        workers = workers_of(insists)
        await begun()
        workers.cancel(by[0])  # type: ignore[arg-type]
        workers.put(after)
        await begun()
        assert len(by) == 2
        assert by[0] is not by[1]
        assert workers.failure is None
        await workers.leave()

    asyncio.run(story())


def test_nothing_is_started_after_it_was_left() -> None:
    async def story() -> None:
        done: list[str] = []

        async def late() -> None:
            done.append("late")

        workers = workers_of(late)
        await workers.leave()
        workers.put(late)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert done == []

    asyncio.run(story())


def test_a_task_that_never_waits_lets_others_go_on_again_and_again() -> None:
    async def story() -> None:
        began = 0
        seen: list[int] = []

        async def never_waits() -> None:
            nonlocal began
            began += 1
            if began < 100:
                workers.put(never_waits)

        async def looks_on() -> None:
            while began < 100:
                seen.append(began)
                await asyncio.sleep(0)

        workers = workers_of(never_waits)
        await looks_on()
        await workers.settle()
        await workers.leave()
        assert max(after - before for before, after in pairwise(seen)) <= 8

    asyncio.run(story())


def test_what_a_task_left_when_it_was_interrupted_between_two_things_is_done_by_another() -> None:
    async def story() -> None:
        began = 0
        tasks: list[asyncio.Task[None]] = []

        async def never_waits() -> None:
            nonlocal began
            began += 1
            task = asyncio.current_task()
            assert task is not None
            tasks.append(task)  # type: ignore[arg-type]
            if began < 100:
                workers.put(never_waits)

        workers = workers_of(never_waits)
        await begun()
        assert not tasks[-1].done()
        workers.cancel(tasks[-1])
        await workers.settle()
        await workers.leave()
        assert (began, workers.failure) == (100, None)
        assert len(set(tasks)) > 1

    asyncio.run(story())
