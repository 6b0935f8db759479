"""The definition of a tool, from a function or a schema, with every mistake found here and named.

Knows how tools are declared; makes and runs none. Invariant: a tool whose definition was examined can be
checked, keyed and called.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from remit.canonical import digest, encode
from remit.errors import InputError
from remit.tool.approve import always
from remit.tool.check import Checker, Form
from remit.tool.effect import CALL, Effect, manual, write
from remit.tool.option import Options, check_options, check_parameters, wrong
from remit.tool.schema import Schema, close, declared, required
from remit.types.given import meant
from remit.types.ident import Digest, Json
from remit.types.label import UNTRUSTED

__all__ = ["TRANSACTION_S", "Source", "by_schema", "check_name", "contract_of", "examined"]

TRANSACTION_S: Final = 5.0
"""The longest that a transactional handler may take: half of how long another process waits to write."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True)
class Source:
    """What a tool is made from, beside its options."""

    name: str
    description: str
    schema: Schema
    handler: Callable[..., object]
    form: Form | None = None
    context: str | None = None


def by_schema(
    name: str, description: str, *, schema: Mapping[str, Json], handler: Callable[..., object], options: Options
) -> tuple[Source, Options]:
    """A source by its JSON Schema, and the options with what holds where no effect is named; see `Tool.from_schema`."""
    check_name(name)
    check_options(name, options)
    if not isinstance(description, str) or not isinstance(schema, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong(name, "needs a description that is text, and a schema that is a dict", "schema")
    bound = options.get("bound") or {}
    if options.get("effect") is None:
        options = {"approve": always(), "label": UNTRUSTED, **options, "effect": write(once_per=CALL, recovery=manual)}
    closed = close(dict(schema), name)
    if closed.setdefault("type", "object") != "object":
        raise wrong(name, "takes arguments by name: its schema is of type object", "schema")
    for one in bound:
        if one not in declared(closed):
            raise wrong(name, f"binds parameter {one!r}, which its schema does not have at the top", "bound")
        del declared(closed)[one]
    if "required" in closed:
        closed["required"] = [one for one in required(closed) if one not in bound]
    _takes_two(name, handler, "handler")
    return Source(name, description, closed, handler), options


def check_name(name: object) -> None:
    """Return if it is a name that every provider's calls can be mapped to."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise wrong(str(name)[:128], "has a name that is not 1 to 128 letters, digits, '_', '.' or '-'", "name")


def examined(source: Source, options: Options) -> Checker:
    """What checks the arguments of a tool whose definition holds.

    Raises:
        DefinitionError: naming the tool, and the parameter where there is one.
    """
    name, effect = source.name, options.get("effect")
    if not source.description.strip():
        raise wrong(name, "has no description: it is all that a model knows of it", "description")
    if not isinstance(effect, Effect):
        raise wrong(name, "needs an effect: READ or write(once_per=..., recovery=...)", "effect")
    if inspect.isasyncgenfunction(source.handler) or inspect.isgeneratorfunction(source.handler):
        raise wrong(name, "has a handler that is a generator; return one value", "handler")
    if effect.recovery is not None and effect.recovery.kind == "transactional":
        _check_transactional(name, source, options)
    checker = Checker(name, source.schema, bound=dict(options.get("bound") or {}), form=source.form)
    check_parameters(name, source.schema, options)
    _check_effect(name, effect, source.schema, checker)
    _check_sandbox(source, options, effect)
    return checker


def _check_sandbox(source: Source, options: Options, effect: Effect) -> None:
    sandbox = options.get("sandbox")
    if sandbox is None:
        return
    unfit = sandbox.unfit(source.handler, effect.kind)
    if effect.recovery is not None and effect.recovery.kind == "transactional":
        unfit = "uses the ledger's own connection, which goes into no other process; choose another recovery="
    if unfit is not None:
        raise wrong(source.name, f"cannot have this sandbox: its handler {unfit}", "sandbox")


def _check_effect(tool: str, effect: Effect, schema: Schema, checker: Checker) -> None:
    sameness, recovery = effect.once_per, effect.recovery
    for one in sameness.parameters if sameness is not None else ():
        if one not in declared(schema):
            raise wrong(tool, f"is once per {one!r}, which is no parameter{meant(one, declared(schema))}", "once_per")
        if one not in required(schema):
            raise wrong(tool, f"is once per {one!r}, which may be left out; a key parameter is required", "once_per")
        if checker.allows(one, None):
            raise wrong(tool, f"is once per {one!r}, which may be null; a key parameter is not nullable", "once_per")
    if recovery is not None and recovery.fn is not None:
        _takes_two(tool, recovery.fn, "reconcile function")


def _check_transactional(tool: str, source: Source, options: Options) -> None:
    """It holds up whoever else writes to the ledger, so it is short, and works in this process and in its thread."""
    handler = source.handler
    if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None)):  # noqa: B004
        raise wrong(tool, "is transactional and async; a handler with ctx.connection is a plain function", "recovery")
    if options.get("sandbox") is not None:
        raise wrong(tool, "is transactional and has a sandbox; ctx.connection does not leave this process", "recovery")
    if float(options.get("timeout_s", TRANSACTION_S)) > TRANSACTION_S:
        problem = f"is transactional and has timeout_s above {TRANSACTION_S:g}; nobody else can write to the ledger so long"
        raise wrong(tool, problem, "recovery")


def _takes_two(tool: str, function: Callable[..., object], what: str) -> None:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise wrong(tool, f"has a {what} that does not take (arguments, ctx)", what.split()[0]) from None
    except ValueError:
        return


def contract_of(name: str, schema: Schema, effect: Effect, bound: Collection[str]) -> Digest:
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
        raise wrong(name, f"has a schema that is not JSON: {error.message}", "schema") from None
