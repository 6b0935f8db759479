"""What a handler is given: canonical arguments, and the context of its call.

Knows no schema. Invariant: arguments are read from their canonical text only, so that what was
hashed, shown and approved is what runs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from remit.canonical import decode, digest, to_plain
from remit.errors import InputError
from remit.types.ident import CallId, Digest, Json, OperationId, RunId
from remit.types.principal import Principal

__all__ = ["Arguments", "Cancelled", "Context"]

D_co = TypeVar("D_co", covariant=True)

_NO_RUN = RunId("")
_NO_CALL = CallId("")
_TAG_HINT = '$number"'


class Arguments(Mapping[str, Json]):
    """The validated arguments of a call, as plain values: `a["amount_cents"]` or `a.amount_cents`.

    An argument named like something of this class (`text`, `items`, ...) is read by `a["text"]` only.

    Args:
        text: canonical JSON text of an object; one that is none is found when a value is first read: `InputError`,
            `json.invalid`, `canonical.tag` or `arguments.object`.
        coercions: paths where JSON text was read as the array or object that the schema asks for.
    """

    __slots__ = ("_values", "coercions", "digest", "text")

    text: str
    digest: Digest
    coercions: tuple[str, ...]

    def __init__(self, text: str, coercions: tuple[str, ...] = ()) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "digest", digest("remit.arguments", text))
        object.__setattr__(self, "coercions", coercions)
        object.__setattr__(self, "_values", None)

    def plain(self) -> dict[str, Json]:
        """Fresh plain values, to be kept or changed.

        Raises:
            InputError: the text is not the canonical text of an object.
        """
        values = to_plain(decode(self.text))
        if not isinstance(values, dict):
            raise InputError("arguments are a JSON object", code="arguments.object")
        return values

    def plain_text(self) -> str:
        """JSON text of the plain values: the canonical text itself, but for numbers that a float cannot hold."""
        return json.dumps(self.plain()) if _TAG_HINT in self.text else self.text

    def _read(self) -> dict[str, Json]:
        values: dict[str, Json] | None = object.__getattribute__(self, "_values")
        if values is None:
            values = self.plain()
            object.__setattr__(self, "_values", values)
        return values

    def __getitem__(self, name: str) -> Json:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __getattr__(self, name: str) -> Json:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._read()[name]
        except KeyError:
            raise AttributeError(f"there is no argument {name!r}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("arguments cannot be changed")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Arguments):
            return self.text == other.text
        return self._read() == other if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Arguments(digest={self.digest[:12]!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Arguments, (self.text, self.coercions)


class Cancelled(Protocol):
    """Whether the run is being cancelled: `ctx.cancelled.is_set()`."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Generic[D_co]):
    """The context of one attempt of a call. A handler takes it by annotating a parameter: `ctx: Context[Deps]`.

    Args:
        principal: who asks, as the application authenticated them.
        deps: what the application gave its `Remit`.
        operation_id: the effect's identity, the same in every attempt: pass it on as the idempotency key. None for reads.
        deadline_s: monotonic moment at which the attempt is given up.
        attempt: from 1.
        cancelled: set when the run is being cancelled.
        on_progress: who is told of progress.
    """

    principal: Principal
    deps: D_co
    operation_id: OperationId | None = None
    deadline_s: float = float("inf")
    run: RunId = _NO_RUN
    call: CallId = _NO_CALL
    attempt: int = 1
    cancelled: Cancelled = field(default_factory=asyncio.Event)
    on_progress: Callable[[float, str], None] | None = None

    def progress(self, fraction: float, note: str = "") -> None:
        """Say how far it is, from 0 to 1: a line in the log, for people who watch. Never an answer to the model."""
        if self.on_progress is not None:
            self.on_progress(min(max(float(fraction), 0.0), 1.0), note)
