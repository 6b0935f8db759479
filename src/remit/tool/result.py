"""From whatever a handler returned to JSON and attachments. Never fails: the effect has happened by now.

Knows no provider. What JSON cannot say becomes a typed block or a faithful escape; bytes that are
not text become attachments, named by their digest.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import cast
from uuid import UUID

from remit.foreign import contained
from remit.types.ident import Json
from remit.types.outcome import Attachment
from remit.types.part import File, Image, Text

__all__ = ["Elsewhere", "to_result"]

_MAX_DEPTH = 60
_LONG = 2**63
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a handler returned in another process: JSON as it came from there, and the files that it names.

    Args:
        files: media type, name and bytes of each.
        lost: why the result did not arrive, though the handler returned.
    """

    value: object
    files: tuple[tuple[str, str, bytes], ...] = ()
    lost: str | None = None


class ResultLost(Exception):
    """It returned, and what it returned is not there."""


def to_result(value: object) -> tuple[Json, list[tuple[Attachment, bytes]]]:
    """What a handler returned, as JSON, and the bytes beside it.

    `Text` is its text; `Image`, `File` and bytes are blocks that name an attachment (bytes that are UTF-8
    text are that text); dataclasses, pydantic models, enums, dates, sets, decimals and other keys than
    strings have their usual JSON forms; NaN and infinities are text; integers beyond 64 bits are text; what is
    none of these is a block that names its type.

    Raises:
        ResultLost: it says so itself.
    """
    writer = _Writer()
    if isinstance(value, Elsewhere):
        return writer.from_elsewhere(value), writer.attachments
    try:
        with contained():
            return writer.write(value), writer.attachments
    except Exception:
        return _block(value), writer.attachments


def _block(value: object) -> Json:
    return {"type": type(value).__qualname__, "unavailable": "this value has no JSON form"}


class _Writer:
    def __init__(self) -> None:
        self.attachments: list[tuple[Attachment, bytes]] = []
        self._inside: set[int] = set()

    def from_elsewhere(self, value: Elsewhere) -> Json:
        """The JSON that came from another process; its files are named anew, by their own bytes."""
        if value.lost is not None:
            raise ResultLost(value.lost)
        for media_type, name, data in value.files:
            self._attach(data, media_type, name)
        return self.write(value.value)

    def write(self, value: object) -> Json:
        """The JSON of any value."""
        if isinstance(value, enum.Enum):
            return self.write(value.value)
        if value is None or isinstance(value, (bool, str, int, float)):
            return _scalar(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._bytes(bytes(cast("bytes", value)))
        if isinstance(value, Text):
            return _scalar(value.text)
        if isinstance(value, (Image, File)):
            return self._attach(bytes(value.data), value.media_type, value.name if isinstance(value, File) else "image")
        if isinstance(value, (datetime, date, time)):
            return value.isoformat()
        if isinstance(value, timedelta):
            return value.total_seconds()
        if isinstance(value, (Decimal, UUID, PurePath)):
            return _scalar(str(value))
        if id(value) in self._inside or len(self._inside) >= _MAX_DEPTH:
            return {"type": type(value).__qualname__, "unavailable": "it contains itself, or is nested too deeply"}
        self._inside.add(id(value))
        try:
            with contained():
                return self._container(value)
        except Exception:
            return _block(value)
        finally:
            self._inside.discard(id(value))

    def _container(self, value: object) -> Json:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: self.write(getattr(value, field.name)) for field in dataclasses.fields(value)}
        dump = getattr(type(value), "model_dump", None)
        if callable(dump):
            return self.write(dump(value))
        names = cast("tuple[str, ...]", getattr(type(value), "_fields", ()))
        if names and isinstance(value, tuple):
            return self.write(dict(zip(names, cast("tuple[object, ...]", value), strict=True)))
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[object, object]", value))
        if isinstance(value, (set, frozenset)):
            return sorted((self.write(one) for one in cast("set[object]", value)), key=repr)
        if isinstance(value, Collection):
            return [self.write(one) for one in cast("Collection[object]", value)]
        return _block(value)

    def _mapping(self, value: Mapping[object, object]) -> Json:
        """An object, or pairs, where two keys would become one."""
        pairs = [(self.write(key), self.write(one)) for key, one in value.items()]
        names = [key if isinstance(key, str) else _name(key) for key, _ in pairs]
        if len(set(names)) == len(names):
            return dict(zip(names, (one for _, one in pairs), strict=True))
        return [[key, one] for key, one in pairs]

    def _bytes(self, data: bytes) -> Json:
        kind = next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
        if kind is None:
            with suppress(UnicodeDecodeError):
                return data.decode()
        return self._attach(data, kind or "application/octet-stream", "image" if kind and kind.startswith("image") else "file")

    def _attach(self, data: bytes, media_type: str, name: str) -> Json:
        attachment = Attachment(hashlib.sha256(data).hexdigest(), media_type, name)
        if all(one.digest != attachment.digest for one, _ in self.attachments):
            self.attachments.append((attachment, data))
        return {"attachment": attachment.digest, "media_type": media_type, "name": name, "bytes": len(data)}


def _scalar(value: bool | str | int | float | None) -> Json:
    if isinstance(value, str):
        text = str.__str__(value)
        return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        number = int(value)
        if -_LONG <= number < _LONG:
            return number
        return str(number) if number.bit_length() < 10_000 else hex(number)
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _name(key: Json) -> str:
    import json

    return json.dumps(key)
