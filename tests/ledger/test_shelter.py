"""Work that goes on where whoever waits for it is cancelled."""

from __future__ import annotations

import asyncio
import gc

import pytest

from remit.ledger.shelter import shelter


class Work:
    """Waits for a gate a few times, in every way that a coroutine can, then ends as it is told."""

    def __init__(self, end: Exception | str = "done") -> None:
        self.gate = asyncio.Event()
        self.over = asyncio.Event()
        self.steps: list[str] = []
        self.end = end

    async def __call__(self) -> str:
        self.steps.append("begun")
        try:
            await asyncio.sleep(0)
            self.steps.append("passed")
            await self.gate.wait()
            self.steps.append("open")
            await asyncio.sleep(0)
            if isinstance(self.end, Exception):
                raise self.end
            return self.end
        finally:
            self.steps.append("over")
            self.over.set()


WHOLE = ["begun", "passed", "open", "over"]


def unhandled(loop: asyncio.AbstractEventLoop) -> list[object]:
    """What the loop complains of from now on."""
    said: list[object] = []
    loop.set_exception_handler(lambda _, context: said.append(context))
    return said


def test_its_value_and_its_error_are_the_works() -> None:
    async def story() -> None:
        for end in ("done", ValueError("no")):
            work = Work(end)
            work.gate.set()
            if isinstance(end, str):
                assert await shelter(work()) == "done"
            else:
                with pytest.raises(ValueError, match="no"):
                    await shelter(work())
            assert work.steps == WHOLE

    asyncio.run(story())


def test_it_begins_at_once_in_the_callers_task_and_makes_no_other() -> None:
    async def story() -> None:
        work = Work()
        work.gate.set()
        waiting = asyncio.create_task(shelter(work()))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        assert work.steps == ["begun"]
        assert asyncio.all_tasks() == {waiting, asyncio.current_task()}
        assert await waiting == "done"

    asyncio.run(story())


@pytest.mark.parametrize("passes", [1, 2, 3], ids=["before its next turn", "waiting", "waiting on"])
@pytest.mark.parametrize("end", ["done", ValueError("nobody hears of it")], ids=["well", "badly"])
def test_who_waits_is_cancelled_at_once_and_the_work_goes_on_to_its_end(passes: int, end: Exception | str) -> None:
    async def story() -> None:
        said = unhandled(asyncio.get_running_loop())
        work = Work(end)
        waiting = asyncio.create_task(shelter(work()))  # type: ignore[arg-type]
        for _ in range(passes):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert "over" not in work.steps
        work.gate.set()
        await work.over.wait()
        assert work.steps == WHOLE
        for _ in range(3):
            await asyncio.sleep(0)
        gc.collect()
        assert said == []

    asyncio.run(story())


def test_a_time_limit_of_the_caller_ends_the_wait_alone() -> None:
    async def story() -> None:
        work = Work()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await shelter(work())
        work.gate.set()
        await work.over.wait()
        assert work.steps == WHOLE

    asyncio.run(story())


@pytest.mark.parametrize("cancelled", [True, False])
def test_the_end_of_the_loop_ends_it_without_a_word(cancelled: bool, caplog: pytest.LogCaptureFixture) -> None:
    steps: list[str] = []

    async def story() -> None:
        work = Work()
        work.steps = steps
        waiting = asyncio.create_task(shelter(work()))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if cancelled:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(story())
    gc.collect()
    assert steps == ["begun", "passed", "over"]
    assert caplog.records == []
