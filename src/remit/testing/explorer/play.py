"""One schedule, played: processes that die and come back, over one store, in one world, until everything stands still.

Knows processes and what befalls them; judges nothing. Invariant: the same schedule and seed make the same play.
"""

from __future__ import annotations

from asyncio import events
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from remit import ambient
from remit.gate import Runner
from remit.ledger import MemoryLedger
from remit.owner import Remit
from remit.testing.explorer.books import Books
from remit.testing.explorer.clock import Then
from remit.testing.explorer.handle import Handle
from remit.testing.explorer.loop import Loop
from remit.testing.explorer.people import People
from remit.testing.explorer.process import Process
from remit.testing.explorer.room import Room
from remit.testing.explorer.scenario import Scenario
from remit.testing.explorer.schedule import Schedule, Trouble
from remit.testing.explorer.speaker import Speaker
from remit.testing.explorer.stage import Mood, Stage
from remit.testing.explorer.world import World, now
from remit.types.ledger import Ledger
from remit.types.model import ProtocolName
from remit.types.principal import Principal

__all__ = ["Cast", "Play", "Played", "WrapLedger"]

_STEPS = 60_000
_TIME_S = 6 * 3_600.0
WrapLedger = Callable[[Ledger], Ledger]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """What all schedules of a scenario share.

    Args:
        wrap: puts something around the ledger of each process.
        runner: in the place of the one that calls handlers.
        deps: makes what handlers find in `ctx.deps`, for each schedule anew.
        known: requests and transcripts that keep the provider's rules.
        log: what was logged since the schedule began.
    """

    scenario: Scenario
    stage: Stage
    principal: Principal
    wrap: WrapLedger | None = None
    runner: Runner | None = None
    deps: Callable[[], object] | None = None
    protocol: ProtocolName = "anthropic"
    seed: int = 0
    known: set[int] = field(default_factory=set[int])
    log: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What there is to judge when it is over.

    Args:
        faults: what the processes themselves were told that they should not have been.
        steps, writes: how many there were, for schedules to come.
        tried: how often each tool was.
    """

    schedule: Schedule
    scenario: Scenario
    stage: Stage
    store: MemoryLedger
    books: Books
    speaker: Speaker
    faults: tuple[str, ...]
    crashed: frozenset[int]
    steps: int
    writes: int
    protocol: ProtocolName
    known: set[int]
    logged: tuple[str, ...]
    tried: Counter[str]
    principal: Principal


class Play:
    """Plays one schedule.

    Args:
        payload: which order the untrusted results give.
    """

    def __init__(self, cast: Cast, schedule: Schedule, *, payload: int | None = None) -> None:
        self._cast = cast
        self._schedule = schedule
        self._room = Room(order=schedule.amount("order"))
        self._store = MemoryLedger()
        self._world = World(self._room, self._store, schedule, cast.scenario, payload)
        self._protocol: ProtocolName = cast.protocol
        self._speaker = Speaker(cast.scenario, schedule, cast.protocol, cast.known)
        self._mood = Mood()
        self._people = People(
            self._room, cast.scenario, schedule.mode("person"), self._mood, principal=cast.principal, payload=payload
        )
        self._processes: list[Process] = []
        self._starting = 0
        self._altered = False
        self._writes = 0
        self._step0 = self._write0 = 0
        self._stepping: Process | None = None
        placed = [one for one in schedule.troubles if one.at is not None]
        self._armed = [one for one in placed if one.at is not None and not one.at.since_start]
        self._later = [one for one in placed if one.at is not None and one.at.since_start]
        self._faults: list[str] = []
        self._crashed: set[int] = set()
        self._deps = None if cast.deps is None else cast.deps()

    def play(self) -> Played:
        """Play it to its end."""
        stage = self._cast.stage
        self._cast.log.clear()
        stage.world, stage.mood = self._world, self._mood
        before = events._get_running_loop()  # pyright: ignore
        with ambient.use(Then(self._room, self._cast.seed)):
            try:
                now(self._store.open())
                self._start()
                self._drive()
                self._close_up()
            finally:
                events._set_running_loop(before)
                for process in self._processes:
                    process.loop.end()
        return Played(
            schedule=self._schedule,
            scenario=self._cast.scenario,
            stage=stage,
            store=self._store,
            books=self._world.books,
            speaker=self._speaker,
            faults=tuple(self._faults),
            crashed=frozenset(self._crashed),
            steps=self._room.steps,
            writes=self._writes,
            protocol=self._protocol,
            known=self._cast.known,
            logged=tuple(self._cast.log),
            tried=self._world.tried,
            principal=self._cast.principal,
        )

    # processes

    def _start(self, then: Callable[[Remit], object] | None = None) -> None:
        number = len(self._processes) + 1
        loop = Loop(self._room, number)
        handle = Handle(self._store, partial(self._wrote, number), self._world)
        ledger: Ledger = handle if self._cast.wrap is None else self._cast.wrap(handle)
        subject = self._cast.stage.altered if self._altered else self._cast.stage.subject
        process = Process(
            loop,
            handle,
            ledger,
            subject=subject,
            scenario=self._cast.scenario,
            people=self._people,
            model=self._speaker.model(),
            runner=self._cast.runner,
        )
        self._processes.append(process)
        self._room.loops.append(loop)
        self._step0, self._write0 = self._room.steps, self._writes
        process.start(then, deps=self._deps)

    def _start_later(self) -> None:
        self._starting += 1

        def begin() -> None:
            self._starting -= 1
            self._start()

        self._room.later(float(self._schedule.amount("pause")), begin)

    def _kill(self, process: Process) -> None:
        if process.handle.dead:
            return
        process.handle.kill()
        self._crashed.add(process.loop.process)
        self._arm()
        self._start_later()

    def _bury(self, process: Process) -> None:
        """It is dead or has ended: nothing of it is heard any more."""
        self._faults += process.faults
        self._faults += [f"process {process.loop.process}: {one}" for one in process.loop.errors]
        process.faults, process.loop.errors = [], []
        process.loop.end()
        if process.loop in self._room.loops:
            self._room.loops.remove(process.loop)

    # troubles

    def _arm(self) -> None:
        """What counts from the start of the next process, up to the next crash."""
        self._armed = [one for one in self._armed if one.at is not None and not one.at.since_start]
        crash = next((place for place, one in enumerate(self._later, start=1) if one.kind == "crash"), len(self._later))
        self._armed += self._later[:crash]
        self._later = self._later[crash:]

    def _due(self, *, write: bool, after: bool = False) -> list[Trouble]:
        """The troubles that are due now, each once."""
        if not self._armed:
            return []
        due: list[Trouble] = []
        for one in self._armed:
            at = one.at
            if at is None or at.write != write or at.after != after:
                continue
            count = self._writes if write else self._room.steps
            base = 0 if not at.since_start else (self._write0 if write else self._step0)
            if count - base == at.number:
                due.append(one)
        self._armed = [one for one in self._armed if one not in due]
        return due

    def _wrote(self, number: int, side: Literal["before", "after"]) -> None:
        if side == "before":
            self._writes += 1
        process = self._processes[number - 1]
        for one in self._due(write=True, after=side == "after"):
            self._befall(one, process)

    def _befall(self, one: Trouble, process: Process) -> None:
        match one.kind:
            case "crash":
                self._kill(process)
            case "cancel":
                process.cancel()
            case "again":
                process.again()
            case "second":
                self._start()
            case "unlock":
                process.handle.abandon()
                self._start()
            case "clock":
                self._room.skew_s += one.amount
            case _:
                pass

    # time goes on

    def _drive(self) -> None:
        room = self._room
        while self._starting or any(not process.over for process in self._processes):
            loop = room.next_loop()
            if loop is None:
                self._faults.append("stuck: nothing is under way, and not everything has ended")
                return
            process = self._processes[loop.process - 1]
            room.steps += 1
            for one in self._due(write=False):
                self._befall(one, process)
            if not process.handle.dead:
                events._set_running_loop(loop)
                loop.step()
                events._set_running_loop(None)
            if process.over:
                self._bury(process)
                self._replace(process)
            if room.steps > _STEPS or room.now_s > _TIME_S:
                self._faults.append(f"stuck: not everything has ended after {room.steps} steps and {room.now_s:.0f} s")
                return

    def _replace(self, process: Process) -> None:
        leaves, process.leaves = process.leaves, None
        if leaves is not None:
            self._altered = self._altered or leaves.altered
            self._start_later()

    # the end

    def _close_up(self) -> None:
        """What is left when nobody asks any more: a last process recovers what it can, and a person settles the rest."""
        self._armed, self._later = [], []
        if any(fault.startswith("stuck") for fault in self._faults):
            return
        self._world.calm_down()
        self._people.become_plain()
        if not self._room.quiet or now(self._is_open()):
            self._start(self._last)
            self._drive()

    async def _is_open(self) -> bool:
        """Whether something is not settled, ended or journaled."""
        if await self._store.operations(state=("awaiting_approval", "dispatched", "unknown"), limit=1):
            return True
        runs = await self._store.runs(limit=None)
        if any(run.status != "ended" for run in runs):
            return True
        for run in runs:
            if await self._store.inbox(run.id):
                return True
        return False

    async def _last(self, remit: Remit) -> None:
        for _ in range(3):
            while not self._room.quiet:
                await ambient.sleep(1.0)
            await ambient.sleep(0.2)
            await self._people.serve(remit)
        unknown = await remit.recover()
        if self._schedule.mode("settle") != "leave":
            happened = {str(one.id): self._world.books.happened(one.id) for one in unknown}
            self._faults += await self._people.settle(remit, happened)
