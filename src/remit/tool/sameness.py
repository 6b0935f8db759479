"""Keys: which calls are one effect, and which resources a call touches.

Pure: from a tool's declaration and canonical arguments. Invariant: a key is computed once, when its
operation is made, and never holds an empty value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from remit.canonical import digest, encode
from remit.errors import InputError
from remit.foreign import contained
from remit.tool.arguments import Arguments
from remit.tool.effect import Sameness
from remit.types.ident import CallId, ConversationId, Digest, Json, RunId

__all__ = ["Resources", "key_digest", "touched"]

Resources = str | tuple[str, ...] | Callable[[Arguments], str | Iterable[str]]


def key_digest(
    sameness: Sameness,
    arguments: Arguments,
    *,
    tool: str,
    tenant: str,
    root: RunId,
    run: RunId,
    conversation: ConversationId | None,
    call: CallId,
) -> tuple[Digest, str]:
    """The operation's key, and the text that says what it was made of.

    Raises:
        InputError: `key.empty`: a part of a business key is empty, or its function failed (then that is the cause).
    """
    namespace = sameness.namespace or tool
    place: list[Json]
    match sameness.scope:
        case "key":
            place = _values(sameness, arguments, tool)
        case "run":
            place = [root, arguments.text]
        case "conversation":
            scope = f"conversation:{conversation}" if conversation is not None else f"run:{root}"
            place = [scope, arguments.text]
        case "call":
            place = [run, call]
    text = encode([tenant, namespace, sameness.scope, place])
    described = Sameness(sameness.scope, namespace, sameness.parameters, sameness.function).describe()
    return digest("remit.key", text), described


def _values(sameness: Sameness, arguments: Arguments, tool: str) -> list[Json]:
    if sameness.function is None:
        values = [arguments.get(name) for name in sameness.parameters]
    else:
        try:
            with contained():
                made: object = sameness.function(arguments)
                values = list(cast("tuple[Json, ...]", made)) if isinstance(made, tuple) else [made]
                encode(values)
        except Exception as error:  # the application's own function
            raise _empty(tool) from error
    if not values or any(_is_empty(value) for value in values):
        raise _empty(tool)
    return values


def _is_empty(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, (list, tuple, dict)) and not value)


def _empty(tool: str) -> InputError:
    return InputError(f"the key that tells calls of {tool!r} apart is empty", code="key.empty", tool=tool)


def touched(
    resources: Resources | None,
    arguments: Arguments,
    parameters: frozenset[str],
    on_error: Callable[[Exception], None] | None = None,
) -> tuple[str, ...] | None:
    """The resources of a call: parameters become `name=value`, other names stand as they are. None is undeclared,
    and what a function gets wrong counts as undeclared; `on_error` is told what it raised."""
    if resources is None:
        return None
    if not callable(resources):
        names = (resources,) if isinstance(resources, str) else resources
        return tuple(f"{name}={encode(arguments.get(name))}" if name in parameters else name for name in names)
    try:
        with contained():
            made = resources(arguments)
            found = (made,) if isinstance(made, str) else tuple(made)
    except Exception as error:  # the application's own function
        if on_error is not None:
            on_error(error)
        return None
    return found if all(isinstance(one, str) for one in found) else None  # pyright: ignore[reportUnnecessaryIsInstance]
