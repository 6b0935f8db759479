"""`Monty`: a handler gives back a small program, which an interpreter without files, network and processes evaluates.

Knows `pydantic-monty`, loaded when it is used; no tool. Invariant: a program sees its inputs and calls the functions that the
handler gave it, and there is nothing else in its world; its interpreter has ended when the attempt has.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from remit.errors import DefinitionError
from remit.foreign import contained, origin
from remit.types.given import is_count, is_number
from remit.types.sandbox import End, Work

if TYPE_CHECKING:
    from pydantic_monty import MontyError

__all__ = ["Monty", "Program"]

_TEXT_CHARS = 1_000
_PRINTED_BYTES = 64_000

_works = False
"""Whether a program has been evaluated in this process."""


@dataclass(frozen=True, slots=True)
class Program:
    """What a handler gives back under `sandbox=Monty(...)`.

    Args:
        code: a program in a subset of Python; the value of its last expression is the tool's result.
        inputs: plain data, by the names that the program has for it.
        functions: what it may call, by name, async ones with `await`. They run in this process, before no gate: only what
            reads belongs here. The program learns the class of what they raise, not its text.
    """

    code: str
    inputs: Mapping[str, object] = field(default_factory=dict[str, object])
    functions: Mapping[str, Callable[..., object]] = field(default_factory=dict[str, Callable[..., object]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Monty:
    """An interpreter for small programs, of a tool that reads. The handler itself runs as without it.

    Args:
        cpu_s: seconds that the program may run, not counting those that its functions take.
        memory_mb: of its values.
        calls: how many calls of functions it may make.

    Raises:
        DefinitionError: `definition.sandbox`: a limit that is none.
    """

    cpu_s: float = 1.0
    memory_mb: int = 64
    calls: int = 100

    def __post_init__(self) -> None:
        fits = is_number(self.cpu_s) and self.cpu_s > 0 and is_count(self.memory_mb, 1) and is_count(self.calls)
        if not fits:
            message = "Monty needs cpu_s= above 0, memory_mb= of at least 1, and calls= of at least 0"
            raise DefinitionError(message, code="definition.sandbox")

    def unfit(self, handler: Callable[..., object], effect: str) -> str | None:
        """Why the tool cannot have it: what a program calls passes no gate."""
        del handler
        return None if effect == "read" else "changes something; a program may only read: give it effect=READ"

    async def absent(self) -> str | None:
        """Why it cannot be used here, found by evaluating something; asked once, unless it failed."""
        global _works
        if _works:
            return None
        try:
            from pydantic_monty import MontyError
        except ImportError:
            return "there is no pydantic-monty; install remit[sandbox]"
        try:
            await self._evaluate(Program("1"))
        except (MontyError, OSError, RuntimeError) as error:
            return f"pydantic-monty does not work here: {error}"
        _works = True
        return None

    async def run(self, work: Work) -> End:
        """Have the handler make its program, and evaluate it."""
        work.hear({"kind": "started"})
        program = await work.here()
        if not isinstance(program, Program):
            told = f"the handler gave back a {type(program).__name__}, and not a Program"
            work.hear({"kind": "raised", "type": "builtins.TypeError", "text": told})
            return End()
        from pydantic_monty import MontyConversionError, MontyError

        try:
            value = await self._evaluate(program)
        except MontyConversionError as error:
            work.hear({"kind": "raised", "type": "builtins.TypeError", "text": str(error)[:_TEXT_CHARS]})
        except MontyError as error:
            work.hear({"kind": "no_effect", "text": _what_failed(error), "retry": "corrected"})
        else:
            work.hear({"kind": "returned"})
            work.hear({"kind": "value", "here": value})
        return End()

    async def _evaluate(self, program: Program) -> object:
        from pydantic_monty import AsyncMonty, CollectString, ResourceLimits

        limits = ResourceLimits(
            max_feed_duration_secs=self.cpu_s,
            max_memory=self.memory_mb * 1_000_000,
            max_suspensions=max(1, self.calls),
            max_total_sleep_secs=0.0,
        )
        functions = {name: _guarded(function) for name, function in program.functions.items()}
        async with (
            AsyncMonty(min_processes=1, max_processes=1) as pool,
            pool.checkout(limits=limits, os_policy={"sleep": "zero"}) as session,
        ):
            return await session.feed_run(
                program.code,
                inputs=dict(program.inputs),
                external_lookup=dict(functions),
                print_callback=CollectString(max_bytes=_PRINTED_BYTES),
            )


def _guarded(function: Callable[..., object]) -> Callable[..., object]:
    """The function, of whose failures a program learns no text."""
    if inspect.iscoroutinefunction(function):

        async def awaited(*args: object, **kwargs: object) -> object:
            try:
                with contained(awaiting=True):
                    return await cast("Awaitable[object]", function(*args, **kwargs))
            except Exception as error:  # the application's own function
                raise _hidden(error) from None

        return awaited

    def called(*args: object, **kwargs: object) -> object:
        try:
            with contained():
                return function(*args, **kwargs)
        except Exception as error:  # the application's own function
            raise _hidden(error) from None

    return called


def _hidden(error: Exception) -> RuntimeError:
    return RuntimeError(f"the function failed ({type(origin(error)).__name__})")


def _what_failed(error: MontyError) -> str:
    """For the model, whose program it is: what went wrong, and in which line."""
    frames = getattr(error, "traceback", list[object])()
    line = getattr(frames[0], "line", None) if frames else None
    inner = error.exception()
    where = "" if line is None else f" in line {line}"
    text = f"{type(inner).__name__}: {inner}"
    return f"The program failed{where}: {text[:_TEXT_CHARS]}"
