"""What a tool does to the world, when two calls of it are the same, and what to do when it is in doubt.

Knows no schema, store or run. Invariant: an `Effect` says all three, or nothing (a read).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from remit.canonical import name_of
from remit.errors import DefinitionError
from remit.tool.keyword import named
from remit.types.given import is_count, is_number
from remit.types.ident import Json
from remit.types.outcome import FieldError

if TYPE_CHECKING:
    from remit.tool.arguments import Arguments

__all__ = [
    "CALL",
    "CANNOT_TELL",
    "CONVERSATION",
    "DID_NOT",
    "READ",
    "RUN",
    "Effect",
    "Happened",
    "InDoubt",
    "KeyFunction",
    "NoEffect",
    "Reconciler",
    "Recovery",
    "Sameness",
    "Told",
    "idempotent",
    "is_in_doubt",
    "key",
    "manual",
    "reconcile",
    "transactional",
    "write",
]

KeyFunction = Callable[["Arguments"], Json]


@dataclass(frozen=True, slots=True)
class Sameness:
    """When two calls are one effect.

    Args:
        scope: `key`: the same business key, per tenant; `run` and `conversation`: the same arguments there;
            `call`: never, each logical call is its own.
        namespace: what the key is told apart by; None is the tool's name.
        parameters: the arguments that are the key, or
        function: what computes it from them.
    """

    scope: Literal["key", "run", "conversation", "call"]
    namespace: str | None = None
    parameters: tuple[str, ...] = ()
    function: KeyFunction | None = None

    def describe(self) -> str:
        """Stable text: the scope, and for a key its namespace and parts."""
        if self.scope != "key":
            return self.scope
        part = name_of(self.function) if self.function is not None else ",".join(self.parameters)
        return f"key:{self.namespace or ''}({part})"


CALL = Sameness("call")
"""Each logical call (run, turn, position) is an effect of its own."""
RUN = Sameness("run")
"""The same canonical arguments in the root run are one effect."""
CONVERSATION = Sameness("conversation")
"""The same canonical arguments in the conversation are one effect."""


def key(namespace: str, *parts: str | KeyFunction) -> Sameness:
    """A business key with a namespace of its own, kept when the tool is renamed: `key("refund", "charge_id")`.

    Raises:
        DefinitionError: no namespace, or neither parameter names nor exactly one function.
    """
    if not isinstance(namespace, str) or not namespace:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DefinitionError("key() needs a namespace that is text and not empty", code="definition.once_per")
    names = tuple(part for part in parts if isinstance(part, str))
    functions = [part for part in parts if not isinstance(part, str)]
    if bool(names) == bool(functions) or len(functions) > 1 or not all(_computes(part) for part in functions):
        raise DefinitionError("key() takes parameter names, or one function that is not async", code="definition.once_per")
    return Sameness("key", namespace, names, functions[0] if functions else None)


@dataclass(frozen=True, slots=True)
class Happened:
    """A reconciler's answer: it did happen, with this result."""

    result: object = None


DID_NOT: Literal["did_not"] = "did_not"
"""A reconciler's answer: it did not happen, and no longer can."""
CANNOT_TELL: Literal["cannot_tell"] = "cannot_tell"
"""A reconciler's answer: it is not known, ask again later."""

Told = Happened | Literal["did_not", "cannot_tell"]
Reconciler = Callable[..., Told | Awaitable[Told]]
"""`(arguments: Arguments, ctx: Context) -> Happened(result) | DID_NOT | CANNOT_TELL`, sync or async."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What may be done when it is not known whether an effect happened.

    Args:
        window_s: how long the other side remembers `ctx.operation_id` (`idempotent`).
        attempts: how many times it may be dispatched in all.
        settle_s: how long after the latest moment of an attempt its trace may still appear; None is the timeout.
        fn: who is asked (`reconcile`).
    """

    kind: Literal["idempotent", "reconcile", "transactional", "manual"]
    window_s: float | None = None
    attempts: int = 1
    settle_s: float | None = None
    fn: Reconciler | None = None


manual = Recovery("manual")
"""A person settles it."""

transactional = Recovery("transactional", attempts=3)
"""The effect is in the ledger's own database, made with `ctx.connection`: it is committed with its outcome, or not at all.

For sync handlers that change nothing else. One runs at a time for each database, and nothing else is written to it meanwhile.
"""


@named("definition.recovery", window_s="SECONDS, how long the other side remembers ctx.operation_id")
def idempotent(window_s: float, attempts: int = 3) -> Recovery:
    """The other side does it once for each `ctx.operation_id`, within `window_s` seconds: send it again.

    Raises:
        DefinitionError: a window or a number of attempts that is not positive.
    """
    if not is_number(window_s) or window_s <= 0 or not is_count(attempts, 1):
        raise DefinitionError("idempotent() needs a window_s above 0 and at least 1 attempt", code="definition.recovery")
    return Recovery("idempotent", window_s=float(window_s), attempts=attempts)


@named("definition.recovery", fn="FUNCTION of (arguments, ctx) that asks the system of record")
def reconcile(fn: Reconciler, settle_s: float | None = None, attempts: int = 2) -> Recovery:
    """Ask the system of record: `fn(arguments, ctx)` answers `Happened(result)`, `DID_NOT` or `CANNOT_TELL`.

    Raises:
        DefinitionError: `fn` cannot be called, `settle_s` is negative, or fewer than 1 attempt.
    """
    settles = settle_s is None or (is_number(settle_s) and settle_s >= 0)
    if not callable(fn) or not settles or not is_count(attempts, 1):
        problem = "reconcile() needs a function, a settle_s of 0 or more and at least 1 attempt"
        raise DefinitionError(problem, code="definition.recovery")
    return Recovery("reconcile", attempts=attempts, settle_s=settle_s, fn=fn)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a tool does: `READ`, `write(...)`, `ask` for the built-in tools that only talk, `agent` for another agent's run.

    `atomic`: an exception of the handler proves that nothing happened.
    """

    kind: Literal["read", "write", "ask", "agent"]
    once_per: Sameness | None = None
    recovery: Recovery | None = None
    atomic: bool = False


READ = Effect("read")
"""Changes nothing."""


@named(
    "definition.effect",
    once_per='"PARAMETER" (or key(...), RUN, CONVERSATION, CALL)',
    recovery="idempotent(window_s=...), reconcile(fn), transactional or manual",
)
def write(
    *,
    once_per: str | tuple[str, ...] | KeyFunction | Sameness,
    recovery: Recovery,
    atomic: bool = False,
) -> Effect:
    """A tool that changes something.

    Args:
        once_per: parameter names or a function of the arguments (a business key, per tenant, across runs),
            `key(namespace, ...)`, `RUN`, `CONVERSATION` or `CALL`.
        recovery: `idempotent(...)`, `reconcile(...)`, `transactional` or `manual`.
        atomic: an exception of the handler proves that nothing happened.

    Raises:
        DefinitionError: `once_per` or `recovery` is missing or something else.
    """
    if not isinstance(recovery, Recovery):  # pyright: ignore[reportUnnecessaryIsInstance]
        problem = "write() needs recovery=idempotent(window_s=...), reconcile(fn), transactional or manual"
        raise DefinitionError(problem, code="definition.recovery")
    if not isinstance(atomic, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DefinitionError("atomic= of write() is True or False", code="definition.effect")
    return Effect("write", _sameness(once_per), recovery, atomic)


def _computes(function: object) -> bool:
    return callable(function) and not inspect.iscoroutinefunction(function)


def _sameness(once_per: str | tuple[str, ...] | KeyFunction | Sameness) -> Sameness:
    if isinstance(once_per, Sameness):
        return once_per
    if isinstance(once_per, str):
        return Sameness("key", None, (once_per,))
    if callable(once_per):
        if _computes(once_per):
            return Sameness("key", None, (), once_per)
    elif isinstance(once_per, (tuple, list)) and once_per and all(isinstance(part, str) for part in once_per):  # pyright: ignore
        return Sameness("key", None, tuple(once_per))
    problem = "once_per= of write() is parameter names, a function that is not async, key(...), RUN, CONVERSATION or CALL"
    raise DefinitionError(problem, code="definition.once_per")


class InDoubt(Exception):
    """Raised by a handler: it may have happened. Counts before `atomic=True`. The message is for the operator.

    `NoEffect` is the opposite; anything else that a handler of a write raises is in doubt unless the write is `atomic`.
    """


def is_in_doubt(error: BaseException) -> bool:
    """Whether it says so: of several at once, one that is in doubt decides."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_in_doubt, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    return isinstance(error, InDoubt)


class NoEffect(Exception):
    """Raised by a handler: nothing changed. The message is shown to the model.

    Args:
        retry: `no`, `corrected` (with other arguments) or `after` (`retry_after_s` seconds).
        fields: which arguments to correct, for example `FieldError("/amount_cents", "at most 5000")`.
    """

    def __init__(
        self,
        message: str,
        *,
        retry: Literal["no", "corrected", "after"] = "no",
        retry_after_s: float | None = None,
        fields: tuple[FieldError, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retry: Literal["no", "corrected", "after"] = retry
        self.retry_after_s = retry_after_s
        self.fields = tuple(fields)
