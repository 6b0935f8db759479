"""The options of a tool, looked at when it is defined: each is known, is of its kind, and names what there is.

Knows no schema but the names in it. Invariant: an option that says nothing, or another thing than was
meant, is refused by name, with what to write instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypedDict, cast

from remit.errors import DefinitionError
from remit.tool.approve import ApprovalRule, always
from remit.tool.arguments import Arguments
from remit.tool.effect import Effect
from remit.tool.sameness import Resources
from remit.tool.schema import Schema, declared
from remit.types.given import is_count, is_number, meant
from remit.types.ident import Json
from remit.types.label import Label
from remit.types.principal import Principal
from remit.types.sandbox import Sandbox

__all__ = ["Audience", "Concurrency", "Options", "Rate", "check_options", "check_parameters", "wrong"]

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
    label: Label | None
    free: Collection[str]
    sends_to: Collection[str] | Callable[[Arguments], Collection[str]] | None
    open_world: bool
    approve: ApprovalRule | None
    secret: Collection[str]
    bound: Mapping[str, Callable[[Principal], object]] | None
    polls: bool
    preview: Callable[[Arguments], str] | None
    sandbox: Sandbox | None
    strict: bool


def wrong(tool: str, problem: str, what: str) -> DefinitionError:
    """The error for a tool; `what` is the option or part that is wrong."""
    return DefinitionError(f"tool {tool!r} {problem}", code=f"definition.{what}", tool=tool)


def check_options(tool: str, options: Options) -> None:
    """Return if every option is one, and of its kind.

    Raises:
        DefinitionError: naming the tool, the option and what it must be.
    """
    for option, value in options.items():
        if option not in Options.__optional_keys__:
            known = {"name", *Options.__optional_keys__}
            raise wrong(tool, f"has no option {option!r}{meant(option, known)}", "option")
        if value is always:
            raise wrong(tool, f"has {option}=always, which is a function; write {option}=always()", option)
        if option in _KINDS and not (value is None and option in _OPTIONAL):
            holds, must = _KINDS[option]
            if not holds(value):
                raise wrong(tool, f"has {option}= that cannot be one; {must}", option)


def check_parameters(tool: str, schema: Schema, options: Options) -> None:
    """Return if the parameters that options name are there.

    Raises:
        DefinitionError: naming the tool, the option and the parameter.
    """
    for option, names in {"free": options.get("free", ()), "secret": options.get("secret", ())}.items():
        for one in names:
            if one not in declared(schema):
                problem = f"names {one!r} in {option}, which is no parameter{meant(one, declared(schema))}"
                raise wrong(tool, problem, option)


def _is_names(value: object) -> bool:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Collection):
        return False
    return all(isinstance(one, str) and one.strip() for one in cast("Collection[object]", value))


def _takes(*names: str, may_wait: bool = False) -> Callable[[object], bool]:
    def holds(value: object) -> bool:
        if not callable(value) or (inspect.iscoroutinefunction(value) and not may_wait):
            return False
        try:
            inspect.signature(value).bind(*names)
        except TypeError:
            return False
        except ValueError:  # a function that does not say what it takes
            return True
        return True

    return holds


def _is_rate(value: object) -> bool:
    return isinstance(value, Rate) and is_count(value.calls, 1) and is_number(value.per_s) and value.per_s > 0


def _is_concurrency(value: object) -> bool:
    return isinstance(value, Concurrency) and bool(value.name) and is_count(value.limit, 1)


def _is_bound(value: object) -> bool:
    given = cast("Mapping[object, object]", value) if isinstance(value, Mapping) else {0: 0}
    return all(isinstance(name, str) and _of_principal(give) for name, give in given.items())


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


_of_principal, _of_arguments = _takes("principal"), _takes("arguments")
_NAMES: Final = "give a set of strings"
_OPTIONAL: Final = {"owns", "rate", "concurrency", "resources", "label", "sends_to", "approve", "bound", "preview", "sandbox"}
_KINDS: Final[dict[str, tuple[Callable[[object], bool], str]]] = {
    "scopes": (_is_names, f"{_NAMES}, for example {{'billing:refund'}}"),
    "owns": (_takes("arguments", "ctx", may_wait=True), "give a function of (arguments, ctx)"),
    "timeout_s": (lambda value: is_number(value) and value > 0, "give a number of seconds above 0"),
    "rate": (_is_rate, "give Rate(calls, per_s), at least 1 call per time above 0"),
    "max_result_chars": (lambda value: is_count(value, 1), "give a whole number of at least 1"),
    "concurrency": (_is_concurrency, "give Concurrency(name, limit) with a limit of at least 1"),
    "resources": (
        lambda value: bool(value) if isinstance(value, str) else _of_arguments(value) or _is_names(value),
        "give a name, a tuple of names, or a function of (arguments) that is not async",
    ),
    "label": (lambda value: isinstance(value, Label), "give TRUSTED, UNTRUSTED or a Label(...), without quotes"),
    "free": (_is_names, f"{_NAMES}, the names of parameters"),
    "sends_to": (
        lambda value: value == "everyone" if isinstance(value, str) else _of_arguments(value) or _is_names(value),
        "give a set of subjects, 'everyone', or a function of (arguments) that is not async",
    ),
    "open_world": (_is_bool, "give True or False"),
    "approve": (lambda value: isinstance(value, ApprovalRule), "give when(...), always() or never"),
    "secret": (_is_names, f"{_NAMES}, the names of parameters"),
    "bound": (_is_bound, "give a dict of parameter names to functions of (principal) that are not async"),
    "polls": (_is_bool, "give True or False"),
    "preview": (_of_arguments, "give a function of (arguments) that returns a sentence and is not async"),
    "sandbox": (
        lambda value: isinstance(value, Sandbox) and not isinstance(value, type),
        "give Subprocess(...), Bubblewrap(...) or Monty(...) of remit.sandbox",
    ),
    "strict": (_is_bool, "give True or False"),
}
