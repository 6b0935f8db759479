"""`Subprocess`: a handler in a process of its own, with limits, and nothing of this one's but what was declared.

Knows processes; no tool. Invariant: an attempt has a fresh process and an empty folder, and both are gone when it has ended.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from remit.errors import DefinitionError
from remit.sandbox.child import BOOTSTRAP
from remit.sandbox.limit import Limits, can_forbid_processes
from remit.sandbox.process import Command, Ended, converse
from remit.types.given import is_count, is_number
from remit.types.ident import Json
from remit.types.sandbox import End, Place, Work, found_at, place_of

__all__ = ["Subprocess", "interpreter"]

_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Subprocess:
    """A process with limits, killed at the tool's timeout. Against mistakes; it sees the files and the network of the machine.

    Args:
        cpu_s: seconds of CPU, rounded up to whole ones.
        memory_mb: of address space, the interpreter's own included; at least 128.
        file_mb: the largest file that may be written.
        files: how many may be open at once.
        processes: whether it may start others. Without that the kernel refuses it, so that nothing can outlive the attempt.
        environment: all of its environment.
        answer_mb: how much may be given back.

    Raises:
        DefinitionError: `definition.sandbox`: a limit that is none.
    """

    cpu_s: float = 10.0
    memory_mb: int = 512
    file_mb: int = 16
    files: int = 64
    processes: bool = False
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    answer_mb: int = 4

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not is_number(self.cpu_s) or self.cpu_s <= 0:
            raise _wrong(name, "cpu_s", "a number of seconds above 0")
        for limit, least in (("memory_mb", 128), ("file_mb", 0), ("files", 16), ("answer_mb", 1)):
            if not is_count(getattr(self, limit), least):
                raise _wrong(name, limit, f"a whole number of at least {least}")
        if not isinstance(self.processes, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _wrong(name, "processes", "True or False")
        if not _is_environment(self.environment):
            raise _wrong(name, "environment", "a dict of names to texts")

    def unfit(self, handler: Callable[..., object], effect: str) -> str | None:
        """Why the handler can never run in it: another process must find it by its name."""
        del effect
        place = place_of(handler)
        return None if isinstance(place, Place) else f"cannot be found by another process: {place}"

    async def absent(self) -> str | None:
        """Why it cannot be used here."""
        if not sys.platform.startswith("linux"):
            return "it needs Linux"
        if not self.processes and not can_forbid_processes():
            return f"starting processes cannot be forbidden on {os.uname().machine}; say processes=True"
        return None

    async def run(self, work: Work) -> End:
        """Do the work in a new process."""
        loop = asyncio.get_running_loop()
        place = found_at(work.handler)
        if isinstance(place, str):
            return End("start", place)
        try:
            folder = Path(tempfile.mkdtemp(prefix="remit-sandbox-"))
        except OSError as error:
            return End("start", str(error))
        try:
            command = Command(
                arguments=lambda speak, _: interpreter(speak),
                job=self.job(work, place, parent=os.getpid()),
                answer_bytes=self.answer_mb * _MEGABYTE,
                environment=self.environment,
                folder=folder,
            )
            return self.told(await converse(command, work.hear))
        finally:
            await asyncio.shield(loop.run_in_executor(None, _remove, folder))

    def job(self, work: Work, place: Place, *, parent: int | None, processes: int = 0) -> bytes:
        """What the process is to do, as it reads it."""
        limits = Limits(
            cpu_s=math.ceil(self.cpu_s),
            memory_bytes=self.memory_mb * _MEGABYTE,
            file_bytes=self.file_mb * _MEGABYTE,
            files=self.files,
            forbids_processes=not self.processes,
            processes=processes,
            parent=parent,
        )
        job: dict[str, Json] = {
            "path": [str(Path(one).absolute()) for one in sys.path],
            "environment": dict(self.environment),
            "limits": asdict(limits),
            "entry": work.entry,
            "place": asdict(place),
            "request": work.request,
        }
        return json.dumps(job).encode()

    def told(self, ended: Ended) -> End:
        """Which limit ended it, if one did."""
        if ended.end.over is None:
            return ended.end
        printed = f"; it printed last: {ended.printed}" if ended.printed else ""
        status = ended.status if ended.status <= 128 else 128 - ended.status
        if ended.end.over != "exited":
            return End(ended.end.over, f"{ended.end.detail}{printed}")
        if status == -signal.SIGXCPU or (status == -signal.SIGKILL and ended.cpu_s >= self.cpu_s):
            return End("cpu", f"it had all of its {math.ceil(self.cpu_s)} s{printed}")
        if status < 0:
            return End("killed", f"by {_signal(-status)}{printed}")
        return End("exited", f"with status {status}{printed}")


def interpreter(speak: int) -> Sequence[str]:
    """The command that starts the inside: isolated from the environment, nothing cached."""
    return [sys.executable, "-I", "-B", "-X", "utf8", "-c", BOOTSTRAP, str(speak)]


def _remove(folder: Path) -> None:
    """Remove all of it that can be. `rm`, because a handler may nest folders deeper than this process has descriptors."""
    try:
        folder.rmdir()
    except OSError:
        with suppress(OSError):
            subprocess.run(["rm", "-rf", "--", folder], check=False, capture_output=True)  # wherever it is


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _is_environment(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    given = cast("Mapping[object, object]", value)
    return all(
        isinstance(name, str) and isinstance(text, str) and bool(name) and not {"=", "\0"} & set(name) and "\0" not in text
        for name, text in given.items()
    )


def _wrong(sandbox: str, option: str, must: str) -> DefinitionError:
    return DefinitionError(f"{option}= of {sandbox} must be {must}", code="definition.sandbox", option=option)
