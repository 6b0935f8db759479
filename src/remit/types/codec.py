"""Events, outcomes and deliveries as JSON text, and back without loss.

Knows the closed unions of `types`, and nothing of the store that keeps the text. Invariant: equal
values are equal text (sets are sorted), and decoding gives back an equal value, lone surrogates and
integers of any size included. Floats must be finite, as JSON wants.
"""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import orjson

from remit.errors import LedgerError
from remit.types.delivery import Delivery
from remit.types.event import Event
from remit.types.label import Label
from remit.types.outcome import Outcome
from remit.types.outcome import Outcome as AnyOutcome

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = [
    "decode_delivery",
    "decode_event",
    "decode_label",
    "decode_outcome",
    "encode_delivery",
    "encode_event",
    "encode_label",
    "encode_outcome",
]

T = TypeVar("T")


def encode_event(event: Event) -> str:
    """JSON text of an event, its kind included."""
    return _encode(event)


def decode_event(kind: str, text: str) -> Event:
    """The event that `text` holds.

    Raises:
        LedgerError: it holds no event, or one of another kind (`ledger.unreadable`).
    """
    kinds = _kinds()
    if kind not in kinds:
        raise LedgerError(f"a record of kind {kind} is none that this version knows", code="ledger.unreadable", retryable=False)
    return _decode(_events(kinds[kind]), text)


def encode_outcome(outcome: Outcome) -> str:
    """JSON text of an outcome."""
    return _encode(outcome)


def decode_outcome(text: str) -> Outcome:
    """The outcome that `text` holds. Raises `LedgerError` (`ledger.unreadable`) if it holds none."""
    return _decode(_outcomes(), text)


def encode_delivery(delivery: Delivery) -> str:
    """JSON text of a delivery."""
    return _encode(delivery)


def decode_delivery(text: str) -> Delivery:
    """The delivery that `text` holds. Raises `LedgerError` (`ledger.unreadable`) if it holds none."""
    return _decode(_deliveries(), text)


def encode_label(label: Label) -> str:
    """JSON text of a label."""
    return _encode(label)


def decode_label(text: str) -> Label:
    """The label that `text` holds. Raises `LedgerError` (`ledger.unreadable`) if it holds none."""
    return _decode(_labels(), text)


def _encode(value: object) -> str:
    try:
        return orjson.dumps(value, default=_plain).decode()
    except TypeError:  # integers beyond 64 bits, lone surrogates
        return json.dumps(value, default=_plain, separators=(",", ":"))


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is no JSON")


def _decode(adapter: TypeAdapter[T], text: str) -> T:
    from pydantic import ValidationError

    try:
        return adapter.validate_json(text)
    except ValidationError:
        pass
    try:
        return adapter.validate_python(json.loads(text))  # escaped lone surrogates, which the fast parser refuses
    except ValueError:
        raise LedgerError(
            "a record cannot be read: it is damaged, or was written by another version",
            code="ledger.unreadable",
            retryable=False,
        ) from None


@cache
def _kinds() -> dict[str, type[Event]]:
    return {str(kind.__dataclass_fields__["kind"].default): kind for kind in get_args(Event)}


@cache
def _events(kind: type[Event]) -> TypeAdapter[Event]:
    return _adapter(kind)


@cache
def _outcomes() -> TypeAdapter[Outcome]:
    return _adapter(Outcome)


@cache
def _deliveries() -> TypeAdapter[Delivery]:
    return _adapter(Delivery)


@cache
def _labels() -> TypeAdapter[Label]:
    return _adapter(Label)


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Built when first used: it takes some milliseconds. The names here are found before those of the annotations."""
    from pydantic import Field, TypeAdapter

    Json = Any  # noqa: F841, N806  # the real one refers to itself without end  # pyright: ignore[reportUnusedVariable]
    Outcome = Annotated[AnyOutcome, Field(discriminator="kind")]  # noqa: F841, N806  # and so none is tried in vain  # pyright: ignore[reportUnusedVariable]
    form: Any = kind if isinstance(kind, type) else Annotated[kind, Field(discriminator="kind")]  # pyright: ignore[reportInvalidTypeForm]
    return TypeAdapter[Any](form)
