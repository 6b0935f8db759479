"""The inside of a sandbox: one process, one attempt, and what is said of it as lines of JSON on a descriptor of its own.

Knows no tool; it calls the function that it was told. Invariant: the limits stand before that function is imported, what a
handler prints is never taken for what is said, and the process ends with its attempt, whatever threads it has left.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Protocol, cast

from remit.sandbox.inside import enter
from remit.sandbox.limit import Limits
from remit.types.ident import Json
from remit.types.sandbox import Place, Said

__all__ = ["BOOTSTRAP", "main"]

BOOTSTRAP = (
    "import json, sys; job = json.load(sys.stdin); sys.path[:] = job['path']; "
    "from remit.sandbox.child import main; main(job, int(sys.argv[1]))"
)
"""What the interpreter is started with; the job is on its standard input, the descriptor to speak on in its arguments."""

_NO_MEMORY = b'{"kind": "raised", "type": "builtins.MemoryError", "text": ""}\n'
_TEXT_CHARS = 2_000


class _Entry(Protocol):
    def __call__(self, request: Json, place: Place, say: Callable[[Said], None], /) -> None: ...


def main(job: dict[str, Json], descriptor: int) -> None:
    """Do the job and end the process."""
    mouth = _Mouth(descriptor)
    try:
        os.environ.clear()
        os.environ.update(cast("dict[str, str]", job["environment"]))
        _limits(job["limits"]).set()
        enter()
        _close_input()
        module, name = str(job["entry"]).split(":")
        entry = cast("_Entry", getattr(import_module(module), name))
        entry(json.loads(str(job["request"])), Place(**cast("dict[str, str]", job["place"])), mouth.say)
    except MemoryError:
        mouth.write(_NO_MEMORY)
    except BaseException as error:  # this process has nobody else to tell
        text = str(error)[:_TEXT_CHARS]
        mouth.say({"kind": "not_started", "type": f"{type(error).__module__}.{type(error).__qualname__}", "text": text})
    finally:
        _leave()


def _limits(told: Json) -> Limits:
    return cast("Callable[..., Limits]", Limits)(**cast("dict[str, Json]", told))


def _close_input() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _leave() -> None:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


class _Mouth:
    """Says one line at a time, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._process = descriptor, os.getpid()
        self._lock = threading.Lock()

    def say(self, said: Said) -> None:
        """Say one thing."""
        self.write(json.dumps(said, allow_nan=False).encode() + b"\n")

    def write(self, line: bytes) -> None:
        """Write one line that exists already; what a handler forks has no say in how the handler ends."""
        if os.getpid() != self._process:
            return
        with self._lock:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
