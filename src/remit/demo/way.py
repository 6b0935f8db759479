"""The four ways to ask for the same refund, each run in processes of its own against fresh books.

Knows how to start, kill and start again; it does not know what the loops do. Invariant: what is
counted is read from the billing service's own books, after every process that could refund has ended.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from remit.demo.billing import Fault
from remit.demo.model import REQUEST, SCRIPT, served

__all__ = ["WAYS", "Loop", "Way", "billing", "refunds"]

Loop = Literal["plain", "remit"]
_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way in which a refund is asked for more than once.

    Args:
        script: which of the model's scripts is played.
        fault: what befalls the first refund's reply, once it is in the books.
        lose_final: the model's first final reply is lost on the way.
        killed: the loop's process is killed as soon as the refund is in the books.
        again: how the application comes back: not at all, with a new request, or started again with the same one.
    """

    name: str
    story: str
    script: str
    fault: Fault = "none"
    lose_final: bool = False
    killed: bool = False
    again: Literal["no", "new", "same"] = "no"


WAYS = (
    Way(
        name="lost_reply",
        story="final reply lost, request sent again",
        script="once",
        lose_final=True,
        again="new",
    ),
    Way(
        name="killed",
        story="killed after the refund, started again",
        script="once",
        fault="no_reply",
        killed=True,
        again="same",
    ),
    Way(name="twice_in_one_response", story="asked for twice in one response", script="twice"),
    Way(
        name="timeout_new_call_id",
        story="timed out after the refund, new call id",
        script="again",
        fault="slow",
    ),
)


@contextmanager
def billing(books: Path, fault: Fault = "none") -> Generator[str]:
    """A billing service in a process of its own; the value is its address. `fault` befalls its first refund."""
    command = [sys.executable, "-m", "remit.demo.billing", "--books", str(books)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            request = urllib.request.Request(f"{url}/fault", json.dumps({"next": fault}).encode())
            with urllib.request.urlopen(request, timeout=10):
                yield url
        finally:
            process.kill()


def refunds(way: Way, loop: Loop, place: Path) -> int:
    """Go one way with one loop, in the empty folder `place`; how many refunds the books then hold.

    Raises:
        RuntimeError: a process through Remit did not end well, or the one to be killed was too fast.
    """
    books = place / "books.db"
    with billing(books, way.fault) as service, served(SCRIPT[way.script], lose_final=way.lose_final) as model:
        stage = _Stage(loop, model, service, place / "remit.db")
        if way.killed:
            _kill_when_booked(stage.command("request-1"), books)
        else:
            _run(stage.command("request-1"), may_fail=loop == "plain")
        if way.again != "no":
            _run(stage.command("request-1" if way.again == "same" else "request-2"), may_fail=loop == "plain")
    return _booked(books)


@dataclass(frozen=True, slots=True)
class _Stage:
    loop: Loop
    model: str
    service: str
    ledger: Path

    def command(self, request_id: str) -> list[str]:
        if self.loop == "plain":
            return [sys.executable, "-m", "remit.demo.plain", self.model, self.service, REQUEST]
        return [sys.executable, "-m", "remit.demo.agent", self.model, self.service, str(self.ledger), request_id]


def _run(command: list[str], *, may_fail: bool) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    if done.returncode and not may_fail:
        raise RuntimeError(done.stderr)


def _kill_when_booked(command: list[str], books: Path) -> None:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for _ in range(round(_LIMIT_S / 0.02)):
            if _booked(books) or process.poll() is not None:
                break
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.02)
        process.kill()
    if process.returncode != -signal.SIGKILL:
        raise RuntimeError("the process ended before it could be killed")


def _booked(books: Path) -> int:
    with closing(sqlite3.connect(books, timeout=10)) as db:
        return db.execute("select count(*) from refunds").fetchone()[0]
