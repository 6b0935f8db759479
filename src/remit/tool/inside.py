"""A handler's attempt in another process: found by its name, called with plain data, and told of in plain data.

Knows how handlers are called; no sandbox, run or ledger. Invariant: `started` is said before the handler's first line and
`returned` after its last; what follows that cannot undo it.
"""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import inspect
import json
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import NoReturn, TypedDict, cast

from remit import ambient
from remit.errors import DefinitionError, InputError
from remit.tool.arguments import Arguments, Context
from remit.tool.check import Form
from remit.tool.contract import Tool
from remit.tool.effect import NoEffect, is_in_doubt
from remit.tool.result import to_result
from remit.tool.trail import Trail
from remit.tool.web import Declined, SyncWeb, Web
from remit.types.ident import CallId, Json, OperationId, RunId
from remit.types.principal import Principal
from remit.types.sandbox import Place, Said

__all__ = ["ENTRY", "Request", "inside", "request_of"]

ENTRY = "remit.tool.inside:inside"
"""What a sandbox calls in the other process."""

_TEXT_CHARS = 2_000
_TRACE_CHARS = 8_000

Say = Callable[[Said], None]


class Request(TypedDict):
    """All that goes in: what was decided, as it was hashed and shown, and who asks."""

    arguments: str
    typed: bool
    context: str | None
    bound: dict[str, Json]
    subject: str
    tenant: str
    scopes: list[str]
    operation: str | None
    run: str
    call: str
    attempt: int
    left_s: float


def request_of(tool: Tool, arguments: Arguments, ctx: Context[object]) -> str:
    """The request for one attempt, as JSON.

    Raises:
        InputError: `sandbox.bound`: a bound parameter that is no plain data. Whatever a bound parameter's function raises.
    """
    bound = {name: give(ctx.principal) for name, give in tool.bound.items()}
    for name, value in bound.items():
        if not _is_plain(value):
            problem = f"tool {tool.name!r} binds {name!r} to a {type(value).__name__}; into a sandbox goes plain data only"
            raise InputError(problem, code="sandbox.bound", tool=tool.name, parameter=name)
    request = Request(
        arguments=arguments.text,
        typed=tool.form is not None,
        context=tool.context,
        bound=cast("dict[str, Json]", bound),
        subject=ctx.principal.subject,
        tenant=ctx.principal.tenant,
        scopes=sorted(ctx.principal.scopes),
        operation=ctx.operation_id,
        run=ctx.run,
        call=ctx.call,
        attempt=ctx.attempt,
        left_s=ctx.deadline_s - ambient.monotonic_s(),
    )
    return json.dumps(request)


def _is_plain(value: object) -> bool:
    try:
        return json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError, RecursionError):
        return False


def inside(request: Request, place: Place, say: Say) -> None:
    """Make the attempt, and say how it went."""
    try:
        begin = _prepared(request, place, say)
    except MemoryError:
        raise
    except BaseException as error:  # whatever the handler's module does when it is imported
        say({"kind": "not_started", **_told(error)})
        return
    say({"kind": "started"})
    try:
        value = begin()
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
    except MemoryError:
        raise
    except BaseException as error:  # the handler is foreign code
        say(_raised(error))
        return
    say({"kind": "returned"})
    _say_value(value, say)


async def _awaited(value: Awaitable[object]) -> object:
    return await value


def _prepared(request: Request, place: Place, say: Say) -> Callable[[], object]:
    found = _found(_module(place), place)
    function = found.handler if isinstance(found, Tool) else found
    arguments, ctx = Arguments(request["arguments"]), _context(request, say)
    if not request["typed"]:
        return lambda: function({**arguments.plain(), **request["bound"]}, ctx)
    values = {**_form(found, function, request).read(arguments.plain_text()), **request["bound"]}
    name = request["context"]
    return lambda: function(**values, **({} if name is None else {name: ctx}))


def _module(place: Place) -> ModuleType:
    """The handler's module; a script under a name that is not `__main__`, so that what it guards by that is not run."""
    if place.file is None:
        return import_module(place.module)
    spec = importlib.util.spec_from_file_location("__remit_script__", place.file)
    if spec is None or spec.loader is None:
        raise DefinitionError("the handler's file is no module", code="sandbox.handler")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _found(module: ModuleType, place: Place) -> Tool | Callable[..., object]:
    found = getattr(module, place.name, None)
    if isinstance(found, Tool) or callable(found):
        return found
    problem = f"there is no function {place.name!r} in {place.module}; a sandboxed handler stands there under its own name"
    raise DefinitionError(problem, code="sandbox.handler")


def _form(found: object, function: Callable[..., object], request: Request) -> Form:
    if isinstance(found, Tool) and found.form is not None:
        return found.form
    from remit.tool.signature import read

    return read(function, function.__name__, bound=request["bound"], local_names={}).form


def _context(request: Request, say: Say) -> Context[object]:
    return Context(
        principal=Principal(request["subject"], request["tenant"], request["scopes"]),
        deps=_Nothing(),
        operation_id=None if request["operation"] is None else OperationId(request["operation"]),
        deadline_s=ambient.monotonic_s() + request["left_s"],
        run=RunId(request["run"]),
        call=CallId(request["call"]),
        attempt=request["attempt"],
        on_progress=lambda fraction, note: say({"kind": "progress", "fraction": fraction, "note": str(note)[:_TEXT_CHARS]}),
        trail=_Told(say),
        web=_NoWeb(),
    )


class _Told(Trail):
    """Evidence is kept outside."""

    def __init__(self, say: Say) -> None:
        super().__init__()
        self._say = say

    def note(self, line: str) -> None:
        self._say({"kind": "evidence", "line": str(line)[:_TEXT_CHARS]})


class _NoWeb:
    def client(self, context: Context[object]) -> Web:
        del context
        raise Declined("the tool is written wrongly: in a sandbox there is no `ctx.http`")

    def sync_client(self, context: Context[object]) -> SyncWeb:
        del context
        raise Declined("the tool is written wrongly: in a sandbox there is no `ctx.http_sync`")


class _Nothing:
    """In the place of `ctx.deps`."""

    def _missing(self, *_: object) -> NoReturn:
        mend = "what the handler needs goes in as arguments, as bound parameters, or in the sandbox's environment="
        raise InputError(f"in a sandbox there is no ctx.deps; {mend}", code="sandbox.deps")

    __getattr__ = __getitem__ = __iter__ = __call__ = __len__ = __contains__ = _missing


# what is said


def _raised(error: BaseException) -> Said:
    if is_in_doubt(error):
        return {"kind": "in_doubt", **_told(error)}
    if isinstance(error, NoEffect) and not isinstance(error, Declined):  # that is said of a request, and here none is made
        return {
            "kind": "no_effect",
            "text": str(error)[:_TEXT_CHARS],
            "retry": error.retry,
            "retry_after_s": error.retry_after_s,
            "fields": [[one.path, one.message] for one in error.fields],
        }
    return {"kind": "raised", **_told(error)}


def _told(error: BaseException) -> Mapping[str, str]:
    try:
        text = str(error)
    except Exception:  # a foreign class
        text = ""
    trace = "".join(traceback.format_exception(error))
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    return {"type": name, "text": _clean(text)[:_TEXT_CHARS], "trace": _clean(trace)[-_TRACE_CHARS:]}


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _say_value(value: object, say: Say) -> None:
    try:
        plain, files = to_result(value)
        told = [[one.media_type, one.name, base64.b64encode(data).decode()] for one, data in files]
        say({"kind": "value", "value": plain, "files": told})
    except BaseException as error:  # it has returned: what fails now costs the result only
        say({"kind": "value", "unavailable": f"{type(error).__name__}"})
