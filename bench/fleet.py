"""The processes of a measurement: the fake model on one core, each subject on another, stopped while others run."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import cores
from environments import python_of
from subjects import Subject

HERE = Path(__file__).resolve().parent

QUIET = {
    "PYTHONHASHSEED": "0",
    "NO_PROXY": "127.0.0.1,localhost",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGSMITH_TRACING": "false",
    "AGNO_TELEMETRY": "false",
    "OTEL_SDK_DISABLED": "true",
    "OPENAI_API_KEY": "k",
    "ANTHROPIC_API_KEY": "k",
}
"""No peer reports to anybody while it is measured, and each has a key that fits any lock."""

BROKEN = 300.0
"""Seconds after which a subject that does not answer is given up."""


def _on(core: int | None) -> list[str]:
    return [] if core is None else ["--core", str(core)]


@contextlib.contextmanager
def fake_model() -> Generator[str]:
    """The fake model's address, while it runs."""
    command = [sys.executable, str(HERE / "server.py"), *_on(cores.chosen().model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class Worker:
    """One subject in a process of its own.

    Args:
        rests: it is stopped whenever it is not asked for something.
        environment: variables of its process; those of this one by default.
    """

    def __init__(self, subject: Subject, url: str, *, rests: bool = True, environment: dict[str, str] | None = None) -> None:
        self.subject = subject
        self._rests = rests
        command = [str(python_of(subject.family)), str(HERE / "worker.py"), subject.module, json.dumps(subject.given), url]
        self._process = subprocess.Popen(
            [*command, *_on(cores.chosen().subject)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**(environment or os.environ), **QUIET},
        )
        self.loaded = self._read()
        self._rest()

    def ask(self, **asked: Any) -> dict[str, Any]:
        """One request, answered; `{"error": ...}` where it failed."""
        if self._process.poll() is not None or "error" in self.loaded:
            return {"error": "the process has ended"}
        self._process.send_signal(signal.SIGCONT)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            return self._read()
        except BrokenPipeError:
            return {"error": "the process has ended"}
        finally:
            self._rest()

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], BROKEN)
        line = self._process.stdout.readline() if ready else ""
        return json.loads(line) if line else {"error": "no answer"}

    def _rest(self) -> None:
        if self._rests and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)
