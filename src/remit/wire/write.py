"""Writing JSON text: ours, and what is put together of a provider's pieces.

Knows no protocol. All text is compact, members stand in the order in which they are given, and:

| | a character's lone half | NaN, infinity |
|---|---|---|
| `quote`: our own | becomes text that names it, `\\\\ud800`: no provider takes one | refused |
| `dumped`: a value that a provider sent | stays, as an escape | `null` |
| `spelled`: a string that must read as itself | stays, as an escape | |
| `storable`: text, JSON or not, to keep | becomes its escape, which in JSON text means the same | |
| `joined`: texts | two that meet become their character | |
| `written`, `rewritten`: objects of those | | |

Invariant: what is written here is JSON that every reader takes for the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring

import orjson

from remit.errors import InputError
from remit.types.ident import Json

__all__ = ["Members", "dumped", "joined", "quote", "rewritten", "spelled", "storable", "written"]

Members = dict[str, str]
"""An object's members, each as JSON text."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def quote(value: Json) -> str:
    """JSON text of our own, compact. A lone surrogate, which no provider accepts, becomes a visible escape.

    Raises:
        InputError: NaN or infinity, which are not JSON.
    """
    try:
        text = encode_basestring(value) if isinstance(value, str) else _write(value)
    except ValueError:
        raise InputError("NaN and infinity are not JSON", code="json.unsupported") from None
    return text if text.isascii() else _SURROGATE.sub(lambda found: f"\\\\u{ord(found.group()):04x}", text)


def dumped(value: Json) -> str:
    """A value as JSON text; a character's lone half stays what it is."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


def spelled(text: str) -> str:
    """A string as JSON text that reads as the same string, lone surrogates included."""
    return json.dumps(text, ensure_ascii=not text.isascii() and _SURROGATE.search(text) is not None)


def storable(text: str) -> str:
    """`text` without lone surrogates: they become the escapes that name them, which inside JSON text mean the same."""
    if text.isascii():
        return text
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def joined(pieces: Sequence[str]) -> str:
    """One text out of its pieces, each of which may end in the middle of a character's two halves."""
    text = "".join(pieces)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def written(members: Mapping[str, str]) -> str:
    """The object of members that are written already."""
    return "{" + ",".join(f"{quote(key)}:{text}" for key, text in members.items()) + "}"


def rewritten(members: Mapping[str, Json], raw: Mapping[str, str]) -> str:
    """The object of these values, and of members that are written already."""
    return written({key: dumped(value) for key, value in members.items()} | {**raw})
