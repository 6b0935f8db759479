"""Agents and dependencies by name, `MODULE:NAME`, from the current directory: named on the command line, never in a ledger.

It knows how modules are imported. Invariant: whatever a module does while it is imported, the caller
gets one sentence that names the module and the line.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from remit.errors import InputError, RemitError
from remit.trace import Redactor

if TYPE_CHECKING:
    from remit import Agent, Tool
    from remit.workflow import Workflow

__all__ = ["agent", "agents", "apart", "below", "dependencies", "made", "maker", "named", "secrets", "tool_in"]


def agents(references: Sequence[str]) -> list[Agent | Workflow]:
    """The agents and workflows that `references` name, each once.

    Raises:
        InputError: a module cannot be imported, or a name in it is no agent and no workflow (`agent.load`).
    """
    return list({reference: agent(reference) for reference in references}.values())


def agent(reference: str) -> Agent | Workflow:
    """The agent or workflow that `MODULE:AGENT` names."""
    from remit import Agent
    from remit.workflow import Workflow

    found = _named(reference, Agent)
    if not isinstance(found, (Agent, Workflow)):
        raise _unusable(f"{reference} is a {type(found).__name__}, not an Agent and not a workflow")
    return found


def below(found: Agent | Workflow) -> Iterator[Agent | Workflow]:
    """It, and the agents that answer calls of it, or of those."""
    from remit import Agent

    yield found
    for tool in found.catalogue.tools:
        if isinstance(tool.agent, Agent):
            yield from below(tool.agent)


def tool_in(found: Agent | Workflow, name: str) -> Tool | None:
    """The tool of that name that it has, or an agent that answers calls of it."""
    tools = (one.catalogue.get(name) for one in below(found))
    return next((tool for tool in tools if tool is not None), None)


def apart(found: Sequence[Agent | Workflow]) -> tuple[list[Agent], list[Workflow]]:
    """The agents, and the workflows."""
    from remit import Agent

    agents = [one for one in found if isinstance(one, Agent)]
    return agents, [one for one in found if not isinstance(one, Agent)]


def made(reference: str) -> Agent | Workflow:
    """The agent or workflow that `MODULE:AGENT` names, or that the function of that name makes, of a model if it needs one."""
    from remit import Agent, ScriptedModel
    from remit.workflow import Workflow

    found = named(reference)
    if inspect.isroutine(found):
        needed = [one for one in inspect.signature(found).parameters.values() if one.default is one.empty]
        try:
            found = cast(object, found(*[ScriptedModel([]) for _ in needed[:1]]))
        except RemitError:
            raise
        except Exception as error:
            raise _unusable(f"{reference} failed when it was called: {_said(error)}") from None
    if not isinstance(found, (Agent, Workflow)):
        wanted = "not an Agent, a workflow, or a function that makes one of a model"
        raise _unusable(f"{reference} is a {type(found).__name__}, {wanted}")
    return found


def maker(reference: str | None) -> Callable[[], object] | None:
    """What makes the object that `MODULE:NAME` names; an object that is there already is given each time."""
    if reference is None:
        return None
    found = named(reference)
    return cast("Callable[[], object]", found) if inspect.isroutine(found) or inspect.isclass(found) else lambda: found


def named(reference: str) -> object:
    """What `MODULE:NAME` names."""
    return _named(reference)


def secrets(references: Sequence[str]) -> tuple[str, ...]:
    """What the agents that `references` name, and those below them, declare secret."""
    return tuple(secret for found in agents(references) for one in below(found) for secret in one.secrets)


async def dependencies(reference: str | None, stack: AsyncExitStack) -> object:
    """The object that `MODULE:NAME` names for handlers' `ctx.deps`.

    A function or class is called without arguments; what it gives is awaited if it can be, and entered (and
    left with `stack`) if it is an async context manager.
    """
    if reference is None:
        return None
    found = _named(reference)
    if not (inspect.isroutine(found) or inspect.isclass(found)):
        return found
    try:
        made: object = found()
        made = await made if inspect.isawaitable(made) else made
        if isinstance(made, AbstractAsyncContextManager):
            return await stack.enter_async_context(cast("AbstractAsyncContextManager[object]", made))
    except RemitError:
        raise
    except Exception as error:
        raise _unusable(f"{reference} failed when it was called: {_said(error)}") from None
    return made


def _named(reference: str, wanted: type | None = None) -> object:
    """What `MODULE:NAME` names; `wanted` is the type that is proposed where the name is not there."""
    name, colon, path = reference.partition(":")
    if not (colon and path and all(name.split(".")) and name == os.path.basename(name)):
        raise _unusable(f"write MODULE:NAME, for example shop:support, in place of {reference!r}")
    module = _module(name)
    try:
        return cast(object, attrgetter(path)(module))
    except AttributeError:
        raise _unusable(f"module {name} has no {path!r}{_instead(module, path, wanted)}") from None


def _module(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise _unusable(f"there is no module {name} here; run the command in the directory that holds it") from None
        raise _unusable(f"module {name} cannot be imported: {_said(error)}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A module may do anything while it is imported, `sys.exit` included.
        raise _unusable(f"module {name} cannot be imported: {_said(error)}") from None


def _said(error: BaseException) -> str:
    place = _place(error)
    message = " ".join(Redactor().text(str(error)).split())
    said = f"{type(error).__name__}{f' at {place}' if place else ''}{f': {message}' if message else ''}"
    starts = isinstance(error, RuntimeError) and "running event loop" in message
    return f'{said}; put what runs it below: if __name__ == "__main__":' if starts else said


def _place(error: BaseException) -> str:
    """The file and line where it happened: the innermost in the user's own code, if any is there."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_near(error.filename)}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    frames = [frame for frame in frames if frame.filename != __file__]
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(Path.cwd())]
    last = (own or frames)[-1:]
    return f"{_near(last[0].filename)}:{last[0].lineno}" if last else ""


def _near(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


def _instead(module: ModuleType, path: str, wanted: type | None) -> str:
    held = vars(module)
    there = [name for name in held if (_is_own(module, name) if wanted is None else isinstance(held[name], wanted))]
    near = difflib.get_close_matches(path, there) or there
    return f"; {'there is' if wanted is None else 'agents there'}: {', '.join(near)}" if near else ""


def _is_own(module: ModuleType, name: str) -> bool:
    """Whether it may be meant as dependencies: the module's own functions, classes and objects, and plain values."""
    value: object = vars(module)[name]
    kind = value if inspect.isroutine(value) or inspect.isclass(value) else type(value)
    return not name.startswith("_") and kind.__module__ in (module.__name__, "builtins") and not inspect.ismodule(value)


def _unusable(message: str) -> InputError:
    return InputError(message, code="agent.load")
