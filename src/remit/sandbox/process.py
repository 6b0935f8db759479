"""One process from outside: it is started, heard line by line, and surely ended.

Knows no limits but how much may be said. Invariant: when `converse` ends, by itself or cancelled, the process is reaped and
its whole group, or its whole namespace, was killed before that; its descriptors are closed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, cast

from remit.types.sandbox import End, Said

__all__ = ["Command", "Ended", "converse"]

_FINAL: Final = frozenset({"value", "no_effect", "in_doubt", "raised", "not_started"})
"""After one of these nothing more is heard."""

_CHUNK = 65_536
_KEPT = 4_000
_PIPE = 16 * _CHUNK
"""What a pipe can hold: of what was printed, no more is read after the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is started.

    Args:
        arguments: given the descriptor to speak on, and, with `tells_child`, one to tell the id of the process inside.
        job: its standard input.
        answer_bytes: how much it may say.
        tells_child: it is a wrapper, of whose child, the first process of a namespace, it tells the id.
    """

    arguments: Callable[[int, int], Sequence[str]]
    job: bytes
    answer_bytes: int
    environment: Mapping[str, str]
    folder: Path | None = None
    tells_child: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended: exit status, or the negative signal; the seconds of CPU that it had; the last that it printed."""

    end: End
    status: int = 0
    cpu_s: float = 0.0
    printed: str = ""


async def converse(command: Command, hear: Callable[[Said], None]) -> Ended:
    """Start it, hear it to its last word, and end it.

    Cancelled, it ends the process first.
    """
    try:
        talk = _Talk(command, hear)
    except OSError as error:
        return Ended(End("start", str(error)))
    try:
        end = await talk.over
    finally:
        await talk.end()
    return Ended(end, talk.status, talk.cpu_s, talk.printed.decode("utf-8", "replace"))


class _Talk:
    """A running process and the pipes to it.

    Raises:
        OSError: it cannot be started; nothing is left open then.
    """

    def __init__(self, command: Command, hear: Callable[[Said], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[End] = self._loop.create_future()
        self.status, self.cpu_s, self.printed = 0, 0.0, b""
        self._hear, self._left, self._rest = hear, command.answer_bytes, bytearray()
        self._open: list[int] = []
        self._cancelled = False
        try:
            self._start(command)
        except BaseException:
            self._close()
            raise

    def _start(self, command: Command) -> None:
        answer, speak = self._pipe()
        printed, prints = self._pipe()
        child, tell = self._pipe() if command.tells_child else (-1, -1)
        job = os.memfd_create("remit-job")
        self._open.append(job)
        with os.fdopen(os.dup(job), "wb") as file:
            file.write(command.job)
        os.lseek(job, 0, os.SEEK_SET)
        self._process = subprocess.Popen(
            command.arguments(speak, tell),
            stdin=job,
            stdout=prints,
            stderr=prints,
            pass_fds=[one for one in (speak, tell) if one >= 0],
            env=dict(command.environment),
            cwd=command.folder,
            start_new_session=True,
        )
        try:
            self._alive = os.pidfd_open(self._process.pid)
        except OSError:  # none is free, or the kernel has none: what cannot be watched must not run
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            raise
        self._open.append(self._alive)
        for one in (speak, prints, tell, job):
            self._close_one(one)
        self._answer, self._printed, self._child = answer, printed, child
        self._loop.add_reader(answer, self._on_answer)
        self._loop.add_reader(printed, self._on_printed)
        self._loop.add_reader(self._alive, self._on_exit)

    def _pipe(self) -> tuple[int, int]:
        here, there = os.pipe()
        self._open += [here, there]
        os.set_blocking(here, False)
        return here, there

    def _close_one(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)

    def _close(self) -> None:
        for one in tuple(self._open):
            self._loop.remove_reader(one)
            self._close_one(one)

    # hearing

    def _finish(self, end: End) -> None:
        if not self.over.done():
            self.over.set_result(end)

    def _on_answer(self) -> None:
        while not self.over.done():
            piece = _read(self._answer)
            if not piece:
                if piece is not None:  # it speaks no more; whether it ends is another matter
                    self._loop.remove_reader(self._answer)
                return
            self._left -= len(piece)
            if self._left < 0:
                self._finish(End("output"))
                return
            self._rest += piece
            if b"\n" not in piece:
                continue
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._on_line(line)

    def _on_line(self, line: bytearray) -> None:
        if self.over.done():
            return
        try:
            said: object = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            self._finish(End("protocol"))
            return
        heard = cast("Said", said)
        self._hear(heard)
        kind = heard.get("kind")
        if isinstance(kind, str) and kind in _FINAL:
            self._finish(End())

    def _on_printed(self) -> None:
        piece = _read(self._printed)
        if piece:
            self.printed = (self.printed + piece)[-_KEPT:]
        elif piece is not None:
            self._loop.remove_reader(self._printed)

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._alive)
        self._on_answer()
        self._finish(End("exited"))

    # ending

    async def end(self) -> None:
        """Kill all of it and reap it. Returns when nothing of it runs, however often this is cancelled meanwhile.

        Raises:
            CancelledError: it was.
        """
        for one in (self._alive, self._answer, self._printed):
            self._loop.remove_reader(one)
        inner = await self._inner_process()
        if inner is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(inner, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # it is not reaped yet, so that no other group has its number
        for one in (self._alive, *(() if inner is None else (inner,))):
            await self._readable(one)
        with suppress(ChildProcessError):  # an application that ignores SIGCHLD has no children to wait for
            _, status, used = os.wait4(self._process.pid, 0)  # noqa: ASYNC222  # it has ended
            self.status = os.waitstatus_to_exitcode(status)
            self.cpu_s = used.ru_utime + used.ru_stime
        self._process.returncode = self.status
        for _ in range(_PIPE // _CHUNK):
            self._on_printed()
        self._close()
        if self._cancelled:
            raise asyncio.CancelledError

    async def _inner_process(self) -> int | None:
        """A descriptor of the first process of the namespace; None if there is none, or no more."""
        if self._child < 0:
            return None
        await self._readable(self._child, self._alive)
        told = _read(self._child) or b"{}"
        try:
            inner = os.pidfd_open(int(json.loads(told)["child-pid"]))
        except (ValueError, KeyError, TypeError, ProcessLookupError):
            return None
        self._open.append(inner)
        return inner

    async def _readable(self, *descriptors: int) -> None:
        """Wait until one of them can be read, or is closed on the other side."""
        ready: asyncio.Future[None] = self._loop.create_future()
        for one in descriptors:
            self._loop.add_reader(one, lambda: ready.done() or ready.set_result(None))
        while not ready.done():
            try:
                await asyncio.shield(ready)
            except asyncio.CancelledError:
                self._cancelled = True
        for one in descriptors:
            self._loop.remove_reader(one)


def _read(descriptor: int) -> bytes | None:
    """What is there now; empty at the end, None if there is nothing yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
