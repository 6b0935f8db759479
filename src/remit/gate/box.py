"""A handler in its sandbox: what goes in, and what is made of what comes out.

Knows what is said from inside, and believes none of it to be well formed; no process. Invariant: what is said after
`returned` cannot undo it, what was not `started` did nothing, and what a limit ended may have done anything.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import builtins
from collections.abc import Awaitable, Callable
from typing import Literal, cast

from remit.foreign import contained, origin
from remit.tool import Arguments, Context, InDoubt, NoEffect, Tool
from remit.tool.inside import ENTRY, request_of
from remit.tool.result import Elsewhere
from remit.types.given import is_number
from remit.types.outcome import FieldError
from remit.types.sandbox import End, Said, Sandbox, Work

__all__ = ["HandlerRaised", "LimitReached", "NotStarted", "in_sandbox", "why_absent"]

_TEXT_CHARS = 2_000
_TRACE_CHARS = 8_000
_FIELDS = 20
_LONGEST_PAUSE_S = 31_536_000.0


class NotStarted(Exception):
    """It failed before the handler's first line; the cause says how."""


class HandlerRaised(Exception):
    """What a handler raised inside."""


class LimitReached(InDoubt):
    """The sandbox ended the handler, or it ended without a word: no exception of its own, so that it proves nothing."""


class MemoryReached(LimitReached):
    """It asked for more memory than it has."""


class CpuReached(LimitReached):
    """It had all of its seconds of CPU."""


class AnswerTooLong(LimitReached):
    """It said more than may be said."""


class ProcessKilled(LimitReached):
    """A signal ended it that was none of ours."""


class ProcessEnded(LimitReached):
    """It ended without a word."""


class AnswerUnreadable(LimitReached):
    """What it said is not what a handler says."""


class SandboxFailed(LimitReached):
    """The sandbox itself failed; the cause says how."""


_BEFORE = ("start", "memory", "cpu", "killed", "exited")
"""Ends that can come before the handler's first line. Who has said something odd, or too much, may have begun."""

_REACHED: dict[str, type[LimitReached]] = {
    "memory": MemoryReached,
    "cpu": CpuReached,
    "output": AnswerTooLong,
    "killed": ProcessKilled,
    "exited": ProcessEnded,
    "protocol": AnswerUnreadable,
}


async def why_absent(tool: Tool) -> str | None:
    """Why the tool's sandbox cannot be used here; None if it can, or there is none."""
    if tool.sandbox is None:
        return None
    try:
        with contained(awaiting=True):
            why = await tool.sandbox.absent()
    except Exception as error:  # a sandbox may be the application's own
        return f"sandbox.absent: {type(error).__name__}"
    return None if why is None else f"sandbox.absent: {why}"


def in_sandbox(sandbox: Sandbox, tool: Tool, arguments: Arguments, context: Context[object]) -> Callable[[], Awaitable[object]]:
    """The attempt, ready to start. It gives the handler's result, or raises what the handler raised.

    Raises:
        InputError: what would go in is no plain data.
    """
    request = request_of(tool, arguments, context)
    own: list[BaseException] = []

    async def here() -> object:
        from remit.gate.inquire import inquire

        begin = tool.prepare(arguments, context)
        try:
            if tool.is_async:
                return await cast("Awaitable[object]", begin())
            return await inquire(begin, timeout_s=tool.timeout_s)
        except BaseException as error:
            own.append(origin(error))
            raise

    async def begin() -> object:
        ear = _Ear(context)
        work = Work(handler=tool.handler, entry=ENTRY, request=request, here=here, hear=ear.hear)
        end = End()
        try:
            with contained(awaiting=True):
                end = await sandbox.run(work)
        except asyncio.CancelledError:  # too late for what has returned: it is known
            if not ear.returned:
                raise
        except Exception as error:  # the handler's own, where it ran here; else the sandbox's, which may be the application's
            if origin(error) in own:
                raise
            if not ear.returned:
                raise SandboxFailed(f"sandbox.failed: {type(origin(error)).__name__}") from error
        return ear.result(end)

    return begin


class _Ear:
    """What was said so far."""

    def __init__(self, context: Context[object]) -> None:
        self._context = context
        self._started = False
        self.returned = False
        self._last: Said | None = None

    def hear(self, said: Said) -> None:
        """Take in one thing."""
        match said.get("kind"):
            case "started":
                self._started = True
            case "returned":
                self._started = self.returned = True
            case "progress":
                fraction = said.get("fraction")
                if is_number(fraction):
                    self._context.progress(fraction, _text(said, "note"))
            case "evidence":
                self._context.evidence(_text(said, "line"))
            case _:
                self._last = said

    def result(self, end: End) -> object:
        """The handler's result.

        Raises:
            NotStarted: nothing was done.
            NoEffect: the handler says so.
            InDoubt: it says that, or a limit ended it.
            HandlerRaised: it raised something else.
        """
        last = self._last or {}
        if self.returned:
            return _value(last, end)
        match last.get("kind"):
            case "no_effect":
                raise _no_effect(last)
            case "in_doubt":
                raise InDoubt(_text(last, "text"))
            case "raised" | "not_started":
                error = _raised(last)
            case _:
                detail = f"sandbox.{end.over or 'protocol'}: {end.detail}"
                error = _REACHED.get(end.over or "protocol", LimitReached)(detail)
                if end.over not in _BEFORE:
                    raise error
        if not self._started:
            raise NotStarted from error
        raise error


def _value(last: Said, end: End) -> object:
    """What it returned, as far as it got here."""
    if last.get("kind") != "value" or "unavailable" in last:
        why = f"sandbox.{end.over}: {end.detail}" if end.over else f"sandbox.result: {_text(last, 'unavailable')}"
        return Elsewhere(None, lost=why)
    if "here" in last:
        return last["here"]
    files: list[tuple[str, str, bytes]] = []
    told = last.get("files")
    for one in cast("list[object]", told) if isinstance(told, list) else []:
        match one:
            case [str() as media_type, str() as name, str() as data]:
                try:
                    files.append((media_type, name, base64.b64decode(data, validate=True)))
                except (binascii.Error, ValueError):
                    return Elsewhere(None, lost="sandbox.result: a file that is no base 64")
            case _:
                return Elsewhere(None, lost="sandbox.result: a file that is none")
    return Elsewhere(last.get("value"), tuple(files))


def _no_effect(said: Said) -> NoEffect:
    fields: list[FieldError] = []
    told = said.get("fields")
    for one in cast("list[object]", told)[:_FIELDS] if isinstance(told, list) else []:
        match one:
            case [str() as path, str() as message]:
                fields.append(FieldError(path[:_TEXT_CHARS], message[:_TEXT_CHARS]))
            case _:
                pass
    after_s = said.get("retry_after_s")
    retry: Literal["no", "corrected", "after"] = "no"
    match said.get("retry"):
        case "corrected":
            retry = "corrected"
        case "after":
            retry = "after"
        case _:
            pass
    seconds = min(float(after_s), _LONGEST_PAUSE_S) if is_number(after_s) and after_s >= 0 else None
    return NoEffect(_text(said, "text"), retry=retry, retry_after_s=seconds, fields=tuple(fields))


def _raised(said: Said) -> Exception:
    """What was raised inside; under its own name only where Python itself has given it that, for a model reads names."""
    name, text = _text(said, "type"), _text(said, "text")
    if name == "builtins.MemoryError":
        return MemoryReached(f"sandbox.memory: {text}" if text else "sandbox.memory")
    module, _, own = name.rpartition(".")
    known: object = getattr(builtins, own, None) if module == "builtins" else None
    if isinstance(known, type) and issubclass(known, BaseException):
        error = cast("type[HandlerRaised]", type(own, (HandlerRaised,), {"__module__": "builtins"}))(text)
    else:
        error = HandlerRaised(f"{name}: {text}")
    trace = _text(said, "trace", _TRACE_CHARS)
    if trace:
        error.add_note(f"In the sandbox:\n{trace}")
    return error


def _text(said: Said, field: str, most: int = _TEXT_CHARS) -> str:
    found = said.get(field)
    return found[:most] if isinstance(found, str) else ""
