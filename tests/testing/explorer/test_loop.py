"""The explorer's event loop: time is a number, and equal steps are equal runs."""

from __future__ import annotations

import asyncio
from asyncio import events
from collections.abc import Coroutine

from remit.testing.explorer.loop import Loop
from remit.testing.explorer.room import Room


def play(room: Room, *works: Coroutine[object, object, object]) -> list[asyncio.Task[object]]:
    """Run each in a loop of its own until nothing more can happen."""
    loops = [Loop(room, number) for number in range(1, len(works) + 1)]
    room.loops += loops
    tasks = [loop.create_task(work) for loop, work in zip(loops, works, strict=True)]
    while (loop := room.next_loop()) is not None:
        events._set_running_loop(loop)
        loop.step()
        events._set_running_loop(None)
    return tasks


def test_sleeping_takes_virtual_time_only_and_wakes_in_order() -> None:
    room, woken = Room(), list[str]()

    async def sleeper(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append(name)

    async def main() -> None:
        await asyncio.gather(sleeper("late", 7_200), sleeper("soon", 1), sleeper("next", 60))

    play(room, main())
    assert woken == ["soon", "next", "late"]
    assert room.now_s == 7_200


def test_a_timeout_ends_what_waits_for_ever() -> None:
    async def main() -> str:
        try:
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        except TimeoutError:
            return "over"
        return "never"

    [task] = play(Room(), main())
    assert task.result() == "over"


def test_two_loops_take_turns_by_the_seed_of_the_order() -> None:
    def orders(seed: int) -> str:
        said = list[str]()

        async def speak(word: str) -> None:
            for _ in range(12):
                said.append(word)
                await asyncio.sleep(0)

        play(Room(order=seed), speak("a"), speak("b"))
        return "".join(said)

    assert orders(0) == "a" * 12 + "b" * 12
    assert orders(3) == orders(3)
    assert len({orders(seed) for seed in range(1, 6)}) > 1


def test_what_is_suspended_when_a_loop_ends_says_nothing_more() -> None:
    said = list[str]()

    async def main() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            said.append("sync")
            await asyncio.sleep(0)
            said.append("after an await")

    room = Room()
    loop = Loop(room)
    room.loops.append(loop)
    loop.create_task(main())
    events._set_running_loop(loop)
    loop.step() if loop.ready else None
    events._set_running_loop(None)
    loop.end()
    assert said == ["sync"]
    assert loop.ready == 0


def test_what_a_callback_raises_is_kept() -> None:
    room = Room()
    loop = Loop(room)

    def fails() -> None:
        raise ValueError("x")

    loop.call_soon(fails)
    assert loop.ready == 1
    loop.step()
    assert len(loop.errors) == 1
    assert loop.errors[0].endswith("ValueError")
