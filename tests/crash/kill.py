"""Kills processes at random moments, many times, and then compares the outside service's books with the ledger.

Usage: python tests/crash/kill.py --kills 200 --workers 1 --seed 7 --store postgres. SIGKILL is for real: of worker
processes with eight runs at once, and now and then of the process in which people decide. Each is started again on the same
ledger at once, so that it is also killed while it recovers. In the end nothing new is asked for, everything is decided,
`recover` is called, and nothing is settled by hand. Prints its figures, and ends with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crash import load
from crash.books import Books, compare
from crash.service import Service
from crash.store import put

SERVICE = Path(__file__).with_name("service.py")


@dataclass
class Child:
    """A forked process that says when it has opened the ledger."""

    pid: int
    heard: int
    ended_by_itself: bool = False

    def kill(self) -> bool:
        """Whether it had opened the ledger by then."""
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        opened = bool(os.read(self.heard, 1))
        os.close(self.heard)
        self.ended_by_itself = os.waitstatus_to_exitcode(status) != -signal.SIGKILL
        return opened


@dataclass
class Story:
    """One seed: what is killed when."""

    folder: Path
    socket: str
    seed: int
    workers: int
    lives: int = 0
    killed: Counter[str] = field(default_factory=Counter)

    def begin(self, role: str) -> Child:
        """A process of this role, in its next life."""
        self.lives += 1
        life = self.lives
        heard, tell = os.pipe()
        pid = os.fork()
        if pid:
            os.close(tell)
            return Child(pid, heard)
        world = load.World(self.folder, Service(self.socket), random.Random(f"{self.seed}/{life}"))
        run(self.folder, lambda: load.work(world, life, lambda: _tell(tell)) if role == "worker" else load.people(world))
        os._exit(0)

    def tell(self, kills: int) -> None:
        """So many kills of workers, each at a random moment of one process's life."""
        source = random.Random(self.seed)
        going = [self.begin(role) for role in ["people", *["worker"] * self.workers]]
        try:
            while self.killed.total() - self.killed[_PEOPLE] < kills:
                signal.sigtimedwait([], source.choice([0.05, 0.3, 1.0, 1.5, 2.0]) * source.random() + 0.005)
                place = 0 if source.random() < 0.08 else 1 + source.randrange(self.workers)
                opened = going[place].kill()
                if going[place].ended_by_itself:
                    load.wrong(self.folder, "a process ended before it was killed")
                self.killed[_WHAT[place == 0, opened]] += 1
                going[place] = self.begin("worker" if place else "people")
        finally:
            for one in going:
                one.kill()

    def end(self) -> list[str]:
        """The last process; the operations that `recover` leaves unknown."""
        world = load.World(self.folder, Service(self.socket), random.Random(self.seed))
        return asyncio.run(load.end(world))


_PEOPLE = "people's processes, beside"
_WHAT = {
    (False, True): "workers under load",
    (False, False): "workers while they open and recover",
    (True, True): _PEOPLE,
    (True, False): _PEOPLE,
}


def _tell(handle: int) -> None:
    os.write(handle, b"!")


def run(folder: Path, job: Callable[[], object]) -> None:
    """In the child: whatever ends it is written down."""
    logging.basicConfig(filename=folder / "log", level=logging.WARNING, format=f"{os.getpid()} %(message)s")
    try:
        asyncio.run(job())  # type: ignore[arg-type]
    except BaseException:
        load.wrong(folder, f"a process ended by itself: {traceback.format_exc()[-1500:]}")
        os._exit(1)


def story(folder: Path, *, kills: int, workers: int, seed: int) -> tuple[Books, Counter[str]]:
    """Kill, end, compare."""
    with tempfile.TemporaryDirectory() as short:  # the name of a socket must be short
        socket = f"{short}/service"
        command = [sys.executable, str(SERVICE), socket, str(folder / "books")]
        service = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            assert service.stdout is not None
            assert service.stdout.readline() == b"ready\n"
            told = Story(folder, socket, seed, workers)
            told.tell(kills)
            left = told.end()
            deduped = int(str(Service(socket).ask_sync(do="count")["deduped"]))
        finally:
            service.kill()
            service.communicate()
    found = asyncio.run(compare(folder, left))
    found.figures["sent again and known to the service"] = deduped
    return found, told.killed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--keep", type=Path, help="a folder that is left behind")
    given = parser.parse_args()
    logging.getLogger("remit").addHandler(logging.NullHandler())
    print(f"seed {given.seed}, {given.kills} kills, {given.workers} worker process(es) with {load.MANY} runs at once")
    with tempfile.TemporaryDirectory() as kept:
        folder = given.keep or Path(kept)
        folder.mkdir(exist_ok=True)
        put(folder, given.store)
        began_s = time.monotonic()
        found, killed = story(folder, kills=given.kills, workers=given.workers, seed=given.seed)
        for name, count in sorted(killed.items()):
            print(f"  killed {name}: {count}")
        for name, value in found.figures.items():
            print(f"  {name}: {value}")
        print(f"  seconds: {time.monotonic() - began_s:.0f}")
    for what in found.wrong:
        print(f"WRONG {what}")
    print("wrong" if found.wrong else "the books of the service equal the ledger's")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
