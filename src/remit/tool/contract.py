"""`Tool`: one capability, with everything that is decided about it before any call.

Knows how to check, key and start a call; not whether it may run. Invariant: frozen, and its contract
digest changes whenever name, schema, effect, sameness or recovery do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypedDict, Unpack

from remit.errors import InputError
from remit.tool.approve import ApprovalRule
from remit.tool.arguments import Arguments, Context
from remit.tool.check import Checker, Form
from remit.tool.effect import CALL, Effect
from remit.tool.sameness import Resources, key_digest, touched
from remit.types.ident import CallId, ConversationId, Digest, Json, RunId
from remit.types.label import TRUSTED, Label
from remit.types.model import Declaration
from remit.types.outcome import FieldError
from remit.types.principal import Principal

__all__ = ["Audience", "Concurrency", "Options", "Rate", "Tool"]

Audience = frozenset[str] | Literal["everyone"]
"""Who can read what a tool sends."""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `calls` starts in any `per_s` seconds, in this process."""

    calls: int
    per_s: float


@dataclass(frozen=True, slots=True)
class Concurrency:
    """A class of tools of which at most `limit` handlers run at once, in this process."""

    name: str
    limit: int


class Options(TypedDict, total=False):
    """What can be said about a tool; see `tool`."""

    effect: Effect | None
    scopes: Collection[str]
    owns: Callable[..., Json | Awaitable[Json]] | None
    timeout_s: float
    rate: Rate | None
    max_result_chars: int
    concurrency: Concurrency | None
    resources: Resources | None
    label: Label
    free: Collection[str]
    sends_to: Collection[str] | Callable[[Arguments], Collection[str]] | None
    open_world: bool
    approve: ApprovalRule | None
    secret: Collection[str]
    bound: Mapping[str, Callable[[Principal], object]] | None
    polls: bool
    preview: Callable[[Arguments], str] | None
    sandbox: object
    strict: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """A tool, made by `@tool(...)` or `Tool.from_schema(...)`. Its attributes are what was said there.

    Args:
        declaration: what a model sees: without the Context and the bound parameters.
        contract: digest over name, schema, effect, sameness and recovery.
        is_async: whether the handler is awaited, or runs in a thread.
        context: the name of the handler's Context parameter; None if it takes none.
        typed: the handler takes typed parameters; otherwise `(arguments: dict, ctx)`.
    """

    name: str
    description: str
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
    label: Label = TRUSTED
    free: frozenset[str] = frozenset()
    sends_to: Audience | Callable[[Arguments], Collection[str]] | None = None
    open_world: bool = False
    approve: ApprovalRule | None = None
    secret: frozenset[str] = frozenset()
    bound: Mapping[str, Callable[[Principal], object]] = field(default_factory=dict[str, Callable[[Principal], object]])
    polls: bool = False
    preview: Callable[[Arguments], str] | None = None
    sandbox: object = None
    strict: bool = False

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
        from remit.tool.definition import from_schema

        return from_schema(name, description, schema=schema, handler=handler, options=options)

    @property
    def effect_kind(self) -> Literal["read", "write", "ask"]:
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
            InputError: `key.empty`.
        """
        sameness = self.effect.once_per or CALL
        return key_digest(
            sameness, arguments, tool=self.name, tenant=tenant, root=root, run=run, conversation=conversation, call=call
        )

    def touches(self, arguments: Arguments) -> tuple[str, ...] | None:
        """What a call touches; None is undeclared, and disjoint from nothing."""
        properties = self.declaration.schema.get("properties")
        return touched(self.resources, arguments, frozenset(properties if isinstance(properties, dict) else ()))

    def audience(self, arguments: Arguments) -> Audience | None:
        """Who can read what this call sends; None is undeclared. A function that fails sends to everyone."""
        if not callable(self.sends_to):
            return self.sends_to
        try:
            found = self.sends_to(arguments)
            return "everyone" if isinstance(found, str) else frozenset(found)
        except Exception:
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
        """The call, ready to start: what fails in here fails before the handler's first line.

        Raises:
            InputError: as `bind`; whatever a bound parameter's function raises.
        """
        values = self.bind(arguments, ctx.principal)
        handler, context = self.handler, self.context
        if self.form is None:
            return lambda: handler(values, ctx)
        return lambda: handler(**values, **({context: ctx} if context is not None else {}))

    def invoke(self, arguments: Arguments, ctx: Context[object]) -> object:
        """Start the handler: its result, or an awaitable of it (`is_async`)."""
        return self.prepare(arguments, ctx)()

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the handler as the function it is; nothing is checked or recorded."""
        return self.handler(*args, **kwargs)
