"""The tasks of one run: what ends them, and what is known of it."""

from __future__ import annotations

import asyncio

from remit.errors import RemitError
from remit.loop.crew import Crew


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.Event().wait()


async def goes_on() -> None:
    await asyncio.Event().wait()


def test_a_task_that_ended_cancelled_although_nobody_here_cancelled_it_has_failed() -> None:
    async def story() -> None:
        crew = Crew(asyncio.Event())
        crew.spawn(cancels_itself())
        await crew.settle()
        assert isinstance(crew.failure, RemitError)
        assert crew.failure.code == "run.interrupted"

    asyncio.run(story())


def test_a_task_that_was_cancelled_here_has_not_failed() -> None:
    async def story() -> None:
        crew = Crew(asyncio.Event())
        task = crew.spawn(goes_on())
        crew.watch(goes_on())
        crew.cancel(task)
        await crew.settle()
        await crew.leave()
        crew.cancel(task)
        assert task.cancelled()
        assert crew.failure is None

    asyncio.run(story())
