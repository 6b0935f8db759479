"""What a sandbox is to the rest: it runs a handler elsewhere, and passes on what is said there.

Knows no process, tool or ledger. Invariant: what comes out of a sandbox is plain data that somebody reads with suspicion.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, cast, runtime_checkable

__all__ = ["End", "Place", "Said", "Sandbox", "Work", "found_at", "place_of"]

Said = Mapping[str, object]
"""One thing that is said from inside; `kind` is one of `started`, `progress`, `returned`, `value`, `no_effect`, `in_doubt`,
`raised` and `not_started`. Whoever hears it believes no field to be there, or to be of its type."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where another process finds a function: a module by its name, or by its file where it has no name of its own."""

    module: str
    name: str
    file: str | None = None


def place_of(function: object) -> Place | str:
    """Where a function is found by name, or why it is not; whether it stands there is seen when it is looked for."""
    if not inspect.isfunction(function):
        return f"it is a {type(function).__name__}, and not a function of a module"
    module, name = function.__module__, function.__qualname__
    if "<" in name or "." in name:
        return "it is defined inside a function or a class; move it to the top level of a module"
    if module != "__main__":
        return Place(module, name)
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return Place(str(spec.name), name)
    file = cast("str | None", getattr(main, "__file__", None))
    return "it is defined at a prompt; put it into a file" if file is None else Place("__main__", name, file)


def found_at(function: Callable[..., object]) -> Place | str:
    """Its place, once its module is loaded, where it stands there itself or as a tool's handler; or why it does not."""
    place = place_of(function)
    if isinstance(place, Place):
        stands: object = getattr(sys.modules.get(function.__module__), place.name, None)
        if getattr(stands, "handler", stands) is not function:
            return f"under the name {place.name!r} something else stands in {place.module}; give the handler a name of its own"
    return place


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One attempt of a handler, to be made in a sandbox.

    Args:
        handler: the function.
        entry: `module:name` of a function that does the work in another process: called with `request`, the handler's
            `Place` and a function that takes what is `Said`.
        request: all that it needs, as JSON text.
        here: calls the handler in this process; for a sandbox that runs what a handler of ours gives back.
        hear: is told all that is said, in its order. It raises nothing.
    """

    handler: Callable[..., object]
    entry: str
    request: str
    here: Callable[[], Awaitable[object]]
    hear: Callable[[Said], None]


@dataclass(frozen=True, slots=True)
class End:
    """How the sandbox itself ended. `over` names the limit that ended it, or `None` where it had no part in the end.

    Args:
        detail: for the operator: the signal or exit status, and the last that the handler printed.
    """

    over: Literal["memory", "cpu", "output", "killed", "exited", "protocol", "start"] | None = None
    detail: str = ""


@runtime_checkable
class Sandbox(Protocol):
    """What `@tool(sandbox=...)` takes; see `remit.sandbox`."""

    def unfit(self, handler: Callable[..., object], effect: str) -> str | None:
        """Why a handler of this effect (`read`, `write`) can never run in it, with the mend; None if it can."""
        ...

    async def absent(self) -> str | None:
        """Why it cannot be used on this machine, found by trying; None if it can. Asked before every call."""
        ...

    async def run(self, work: Work) -> End:
        """Do the work. When this returns, or was cancelled and has ended, nothing of it runs any more."""
        ...
