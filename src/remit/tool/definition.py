"""From a function or a schema to a `Tool`, with every mistake found here and named.

Knows how tools are declared; runs none. Invariant: a tool that comes out of here can be checked,
keyed and called.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Unpack

from remit.canonical import digest, encode
from remit.errors import DefinitionError, InputError
from remit.tool.approve import always
from remit.tool.arguments import Arguments
from remit.tool.check import Checker, Form
from remit.tool.contract import Audience, Concurrency, Options, Rate, Tool
from remit.tool.effect import CALL, Effect, manual, write
from remit.tool.schema import Schema, close, declared, required
from remit.types.ident import Digest, Json
from remit.types.label import TRUSTED, UNTRUSTED
from remit.types.model import Declaration

__all__ = ["from_schema", "tool"]

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True)
class _Source:
    """What a definition is made from."""

    name: str
    description: str
    schema: Schema
    handler: Callable[..., object]
    form: Form | None = None
    context: str | None = None


def tool(
    function: Callable[..., object] | None = None, /, *, name: str | None = None, **options: Unpack[Options]
) -> Callable[[Callable[..., object]], Tool]:
    """Make a tool of a typed function with a docstring in Google form.

    A parameter annotated `Context` (or `Context[Deps]`) is given the call's context and is not shown to models.

    Args:
        function: not used: `@tool` without its effect is refused by name.
        name: what models call it; the function's name by default.
        options: `effect` is required: `READ` or `write(once_per=..., recovery=...)`. Further:
            `scopes`: what the principal needs. `owns`: `(arguments, ctx)`, its answer is a fact that policy reads.
            `timeout_s`, `rate`, `concurrency`, `max_result_chars`: bounds. `resources`: what a call touches: names,
            parameters or a function of the arguments. `label`: of its results. `free`: parameters that may be
            untrusted. `sends_to`: who can read what it sends: subjects, "everyone", or a function. `open_world`: it
            reaches beyond the application. `approve`: `when(...)`, `always(...)` or `never`. `secret`: parameters that
            are masked for approvers. `bound`: parameters filled from the principal. `polls`: repeating it is
            normal while its result changes. `preview`: the sentence that an approver reads. `sandbox`: what it must run
            in. `strict`: ask the provider to hold to the schema.

    Raises:
        DefinitionError: naming the tool, and the parameter where there is one.
    """
    if function is not None:
        raise _wrong(getattr(function, "__name__", "tool"), "needs an effect: @tool(effect=READ) or write(...)", "effect")
    local_names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]

    def define(function: Callable[..., object]) -> Tool:
        from remit.tool.signature import read

        called = name or str(getattr(function, "__name__", type(function).__name__))
        bound = options.get("bound") or {}
        reading = read(function, called, bound=bound, local_names=local_names)
        source = _Source(called, reading.description, reading.schema, function, reading.form, reading.context)
        return _assemble(source, options)

    return define


def from_schema(
    name: str, description: str, *, schema: Mapping[str, Json], handler: Callable[..., object], options: Options
) -> Tool:
    """See `Tool.from_schema`."""
    bound = options.get("bound") or {}
    if options.get("effect") is None:
        options = {"approve": always(), "label": UNTRUSTED, **options, "effect": write(once_per=CALL, recovery=manual)}
    closed = close(dict(schema), name)
    if closed.setdefault("type", "object") != "object":
        raise _wrong(name, "takes arguments by name: its schema is of type object", "schema")
    for one in bound:
        if one not in declared(closed):
            raise _wrong(name, f"binds parameter {one!r}, which its schema does not have at the top", "bound")
        del declared(closed)[one]
    if "required" in closed:
        closed["required"] = [one for one in required(closed) if one not in bound]
    _takes_two(name, handler, "handler")
    return _assemble(_Source(name, description, closed, handler), options)


def _wrong(tool: str, problem: str, what: str) -> DefinitionError:
    return DefinitionError(f"tool {tool!r} {problem}", code=f"definition.{what}", tool=tool)


def _assemble(source: _Source, options: Options) -> Tool:
    name, effect = source.name, options.get("effect")
    if not _NAME.fullmatch(name):
        raise _wrong(name[:128], "has a name that is not 1 to 128 letters, digits, '_', '.' or '-'", "name")
    if not source.description.strip():
        raise _wrong(name, "has no description: it is all that a model knows of it", "description")
    if not isinstance(effect, Effect):
        raise _wrong(name, "needs an effect: READ or write(once_per=..., recovery=...)", "effect")
    if inspect.isasyncgenfunction(source.handler) or inspect.isgeneratorfunction(source.handler):
        raise _wrong(name, "has a handler that is a generator; return one value", "handler")
    _check_numbers(name, options)
    bound = dict(options.get("bound") or {})
    checker = Checker(name, source.schema, bound=bound, form=source.form)
    _check_names(name, source.schema, options)
    _check_effect(name, effect, source.schema, checker)
    strict = options.get("strict", False)
    return Tool(
        name=name,
        description=source.description,
        effect=effect,
        handler=source.handler,
        declaration=Declaration(name=name, description=source.description, schema=source.schema, strict=strict),
        contract=_contract(name, source.schema, effect, bound),
        is_async=_is_async(source.handler),
        checker=checker,
        form=source.form,
        context=source.context,
        scopes=frozenset(options.get("scopes", ())),
        owns=options.get("owns"),
        timeout_s=float(options.get("timeout_s", 30.0)),
        rate=options.get("rate"),
        max_result_chars=options.get("max_result_chars", 40_000),
        concurrency=options.get("concurrency"),
        resources=options.get("resources"),
        label=options.get("label", TRUSTED),
        free=frozenset(options.get("free", ())),
        sends_to=_audience(name, options),
        open_world=options.get("open_world", False),
        approve=options.get("approve"),
        secret=frozenset(options.get("secret", ())),
        bound=bound,
        polls=options.get("polls", False),
        preview=options.get("preview"),
        sandbox=options.get("sandbox"),
        strict=strict,
    )


def _is_async(handler: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004


def _audience(tool: str, options: Options) -> Audience | Callable[[Arguments], Collection[str]] | None:
    sends_to = options.get("sends_to")
    if sends_to is None or callable(sends_to):
        return sends_to
    if isinstance(sends_to, str):
        if sends_to == "everyone":
            return "everyone"
        raise _wrong(tool, "has a sends_to that is one string; give a set of subjects, or 'everyone'", "sends_to")
    return frozenset(sends_to)


def _check_numbers(tool: str, options: Options) -> None:
    rate, concurrency = options.get("rate"), options.get("concurrency")
    if not 0 < options.get("timeout_s", 30.0) < float("inf"):
        raise _wrong(tool, "needs a timeout_s above 0", "timeout")
    if options.get("max_result_chars", 1) < 1:
        raise _wrong(tool, "needs a max_result_chars of at least 1", "max_result_chars")
    if rate is not None and (not isinstance(rate, Rate) or rate.calls < 1 or not rate.per_s > 0):  # pyright: ignore
        raise _wrong(tool, "needs a rate of at least 1 call per time above 0: Rate(calls, per_s)", "rate")
    if concurrency is not None and (not isinstance(concurrency, Concurrency) or concurrency.limit < 1):  # pyright: ignore
        raise _wrong(tool, "needs a concurrency of at least 1: Concurrency(name, limit)", "concurrency")


def _check_names(tool: str, schema: Schema, options: Options) -> None:
    """Options that name scopes or parameters: sets of names, and the parameters exist."""
    named = {"scopes": options.get("scopes", ()), "free": options.get("free", ()), "secret": options.get("secret", ())}
    for option, names in named.items():
        if isinstance(names, str):
            raise _wrong(tool, f"has {option} that is one string; give a set of strings", option)
        for one in names if option != "scopes" else ():
            if one not in declared(schema):
                raise _wrong(tool, f"names {one!r} in {option}, which is no parameter", option)


def _check_effect(tool: str, effect: Effect, schema: Schema, checker: Checker) -> None:
    sameness, recovery = effect.once_per, effect.recovery
    for one in sameness.parameters if sameness is not None else ():
        if one not in declared(schema):
            raise _wrong(tool, f"is once per {one!r}, which is no parameter", "once_per")
        if one not in required(schema):
            raise _wrong(tool, f"is once per {one!r}, which may be left out; a key parameter is required", "once_per")
        if checker.allows(one, None):
            raise _wrong(tool, f"is once per {one!r}, which may be null; a key parameter is not nullable", "once_per")
    if recovery is not None and recovery.fn is not None:
        _takes_two(tool, recovery.fn, "reconcile function")


def _takes_two(tool: str, function: Callable[..., object], what: str) -> None:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise _wrong(tool, f"has a {what} that does not take (arguments, ctx)", what.split()[0]) from None
    except ValueError:
        return


def _contract(name: str, schema: Schema, effect: Effect, bound: Collection[str]) -> Digest:
    """The digest that approvals and stored operations are bound to."""
    recovery = effect.recovery
    parts: dict[str, object] = {
        "name": name,
        "schema": schema,
        "bound": sorted(bound),
        "effect": [effect.kind, effect.atomic],
        "once_per": effect.once_per.describe() if effect.once_per is not None else None,
        "recovery": [recovery.kind, recovery.window_s, recovery.attempts, recovery.settle_s] if recovery is not None else None,
    }
    try:
        return digest("remit.contract", encode(parts))
    except InputError as error:
        raise _wrong(name, f"has a schema that is not JSON: {error.message}", "schema") from None
