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
from remit.tool.trail import Trail
from remit.tool.web import Declined, SyncWeb, Web, Webs
from remit.types.connection import Connection
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
        trail: what this attempt did outside, as far as it is told.
        web: makes `http` and `http_sync`.
        transaction: what `connection` is.
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
    trail: Trail = field(default_factory=Trail)
    web: Webs | None = None
    transaction: Connection | None = None

    @property
    def connection(self) -> Connection:
        """The ledger's own database, in the transaction that this attempt is committed or rolled back with.

        `ctx.connection.execute("UPDATE seat SET taken = 1 WHERE id = ?", (seat,))`. For tables of the application's own.

        Raises:
            Declined: the tool is not declared `recovery=transactional`.
        """
        if self.transaction is None:
            raise Declined("the tool is written wrongly: `ctx.connection` is for handlers with `recovery=transactional`")
        return self.transaction

    @property
    def http(self) -> Web:
        """The HTTP client of an async handler, reconciler or check: `await ctx.http.post(url, json={...})`.

        It sends `operation_id` as `Idempotency-Key`, and raises what the transport proves of a write.

        Raises:
            Declined: nothing awaits here, or this context has no client.
        """
        if not _awaits():
            raise Declined("the tool is written wrongly: where nothing awaits, `ctx.http_sync` is the client")
        return self._webs().client(self)

    @property
    def http_sync(self) -> SyncWeb:
        """The same where nothing awaits: `ctx.http_sync.post(url, json={...})`.

        Raises:
            Declined: it would block the event loop, or this context has no client.
        """
        if _awaits():
            raise Declined("the tool is written wrongly: in an async function `ctx.http` is the client, and is awaited")
        return self._webs().sync_client(self)

    def _webs(self) -> Webs:
        if self.web is None:
            raise Declined("the tool is used wrongly: this context was made without an HTTP client")
        return self.web

    def evidence(self, line: str) -> None:
        """Keep a line for the operator, with the outcome: a receipt's number, an id of the other side. No model reads it.

        Declared secrets are taken out; of an attempt at most forty lines of 300 characters are kept.
        """
        self.trail.note(line)

    def progress(self, fraction: float, note: str = "") -> None:
        """Say how far it is, from 0 to 1: a line in the log, for people who watch. Never an answer to the model."""
        if self.on_progress is not None:
            self.on_progress(min(max(float(fraction), 0.0), 1.0), note)


def _awaits() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
