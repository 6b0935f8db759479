"""`Tool`: one capability, with everything that is decided about it before any call.

Knows how to check, key and start a call; not whether it may run. Invariant: frozen, and its contract
digest changes whenever name, schema, effect, sameness or recovery do.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Unpack

from remit.errors import InputError
from remit.foreign import contained
from remit.tool.approve import ApprovalRule
from remit.tool.arguments import Arguments, Context
from remit.tool.check import Checker, Form
from remit.tool.definition import TRANSACTION_S, Source, by_schema, contract_of, examined
from remit.tool.effect import CALL, Effect
from remit.tool.option import Audience, Concurrency, Options, Rate
from remit.tool.sameness import Resources, key_digest, touched
from remit.types.ident import CallId, ConversationId, Digest, Json, RunId
from remit.types.label import Label
from remit.types.model import Declaration
from remit.types.outcome import FieldError
from remit.types.principal import Principal
from remit.types.sandbox import Sandbox

__all__ = ["Tool", "made"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """A tool, made by `@tool(...)` or `Tool.from_schema(...)`. Its attributes are what was said there.

    Args:
        declaration: what a model sees: without the Context and the bound parameters.
        contract: digest over name, schema, effect, sameness and recovery.
        is_async: whether the handler is awaited, or runs in a thread.
        context: the name of the handler's Context parameter; None if it takes none.
        typed: the handler takes typed parameters; otherwise `(arguments: dict, ctx)`.
        agent: another agent whose run is what answers a call; `lends`: all that it may be lent of the requester's scopes,
            None: what the requester has.
    """

    name: str
    effect: Effect
    handler: Callable[..., object]
    declaration: Declaration
    contract: Digest
    is_async: bool
    checker: Checker = field(repr=False)
    form: Form | None = field(default=None, repr=False)
    context: str | None = None
    scopes: frozenset[str] = frozenset()
    owns: Callable[..., Json | Awaitable[Json]] | None = None
    timeout_s: float = 30.0
    rate: Rate | None = None
    max_result_chars: int = 40_000
    concurrency: Concurrency | None = None
    resources: Resources | None = None
    label: Label | None = None
    free: frozenset[str] = frozenset()
    sends_to: Audience | Callable[[Arguments], Collection[str]] | None = None
    open_world: bool = False
    approve: ApprovalRule | None = None
    secret: frozenset[str] = frozenset()
    bound: Mapping[str, Callable[[Principal], object]] = field(default_factory=dict[str, Callable[[Principal], object]])
    polls: bool = False
    preview: Callable[[Arguments], str] | None = None
    sandbox: Sandbox | None = None
    agent: object = None
    lends: frozenset[str] | None = None

    @staticmethod
    def from_schema(
        *,
        name: str,
        description: str,
        schema: Mapping[str, Json],
        handler: Callable[..., object],
        **options: Unpack[Options],
    ) -> Tool:
        """A tool from a JSON Schema; `handler(arguments: dict, ctx: Context)`, sync or async.

        Without an `effect` it is a write, once per call, that a person settles and must approve, and whose
        results are untrusted.

        Raises:
            DefinitionError: naming the tool, and the parameter where there is one.
        """
        return made(*by_schema(name, description, schema=schema, handler=handler, options=options))

    @property
    def effect_kind(self) -> Literal["read", "write", "ask", "agent"]:
        """What it does to the world."""
        return self.effect.kind

    @property
    def operation_scope(self) -> Literal["key", "run", "conversation", "call"]:
        """How far one effect reaches."""
        return (self.effect.once_per or CALL).scope

    def check(self, text: str) -> Arguments | list[FieldError]:
        """Canonical arguments from what a model sent, or what is wrong with them."""
        return self.checker.check(text)

    def forbidden(self, text: str) -> tuple[str, ...]:
        """Bound parameters that the model sent nevertheless."""
        return self.checker.forbidden(text)

    def key_of(
        self,
        arguments: Arguments,
        *,
        tenant: str,
        root: RunId,
        run: RunId,
        conversation: ConversationId | None,
        call: CallId,
    ) -> tuple[Digest, str]:
        """The key of the operation that these arguments are, and what it was made of.

        Raises:
            InputError: `key.empty`; its cause is what the function of the key raised.
        """
        sameness = self.effect.once_per or CALL
        return key_digest(
            sameness, arguments, tool=self.name, tenant=tenant, root=root, run=run, conversation=conversation, call=call
        )

    def touches(self, arguments: Arguments, *, on_error: Callable[[Exception], None] | None = None) -> tuple[str, ...] | None:
        """What a call touches; None is undeclared, and disjoint from nothing. `on_error` is told what a function raised."""
        if self.resources is None:
            return None
        properties = self.declaration.schema.get("properties")
        parameters = frozenset(properties if isinstance(properties, dict) else ())
        return touched(self.resources, arguments, parameters, on_error)

    def audience(self, arguments: Arguments, *, on_error: Callable[[Exception], None] | None = None) -> Audience | None:
        """Who can read what this call sends; None is undeclared. A function that fails sends to everyone, and `on_error`
        is told what it raised."""
        if not callable(self.sends_to):
            return self.sends_to
        try:
            with contained():
                found = self.sends_to(arguments)
                return "everyone" if isinstance(found, str) else frozenset(found)
        except Exception as error:  # the application's own function
            if on_error is not None:
                on_error(error)
            return "everyone"

    def bind(self, arguments: Arguments, principal: Principal) -> dict[str, object]:
        """What the handler is called with, but for the Context: fresh values, the bound ones from the principal.

        Raises:
            InputError: `arguments.stale`: stored arguments that today's types do not accept.
        """
        if self.form is None:
            values: dict[str, object] = {**arguments.plain()}
        else:
            try:
                values = self.form.read(arguments.plain_text())
            except ValueError:
                problem = f"the stored arguments no longer fit the types of tool {self.name!r}"
                raise InputError(problem, code="arguments.stale", tool=self.name) from None
        return {**values, **{name: give(principal) for name, give in self.bound.items()}}

    def prepare(self, arguments: Arguments, ctx: Context[object]) -> Callable[[], object]:
        """The call, ready to start: what fails in here fails before the handler's first line. Started, it gives the
        handler's result, or an awaitable of it (`is_async`).

        Raises:
            InputError: as `bind`; whatever a bound parameter's function raises.
        """
        values = self.bind(arguments, ctx.principal)
        handler, context = self.handler, self.context
        if self.form is None:
            return lambda: handler(values, ctx)
        return lambda: handler(**values, **({context: ctx} if context is not None else {}))

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the handler as the function it is; nothing is checked or recorded."""
        return self.handler(*args, **kwargs)


def made(source: Source, options: Options) -> Tool:
    """The tool of a definition.

    Raises:
        DefinitionError: as `examined`.
    """
    checker = examined(source, options)
    name, effect, bound = source.name, options.get("effect"), dict(options.get("bound") or {})
    assert effect is not None
    return Tool(
        name=name,
        effect=effect,
        handler=source.handler,
        declaration=Declaration(
            name=name, description=source.description, schema=source.schema, strict=options.get("strict", False)
        ),
        contract=contract_of(name, source.schema, effect, bound),
        is_async=_is_async(source.handler),
        checker=checker,
        form=source.form,
        context=source.context,
        scopes=frozenset(options.get("scopes", ())),
        owns=options.get("owns"),
        timeout_s=float(options.get("timeout_s", _longest(effect))),
        rate=options.get("rate"),
        max_result_chars=options.get("max_result_chars", 40_000),
        concurrency=options.get("concurrency"),
        resources=options.get("resources"),
        label=options.get("label"),
        free=frozenset(options.get("free", ())),
        sends_to=_audience(options),
        open_world=options.get("open_world", False),
        approve=options.get("approve"),
        secret=frozenset(options.get("secret", ())),
        bound=bound,
        polls=options.get("polls", False),
        preview=options.get("preview"),
        sandbox=options.get("sandbox"),
    )


def _longest(effect: Effect) -> float:
    transactional = effect.recovery is not None and effect.recovery.kind == "transactional"
    return TRANSACTION_S if transactional else 30.0


def _is_async(handler: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004


def _audience(options: Options) -> Audience | Callable[[Arguments], Collection[str]] | None:
    sends_to = options.get("sends_to")
    if sends_to is None or callable(sends_to):
        return sends_to
    return "everyone" if isinstance(sends_to, str) else frozenset(sends_to)
