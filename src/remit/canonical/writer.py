"""Canonical text of a value: RFC 8785, with tags for what a float cannot hold.

A number that a float64 reader would round is written as `{"$number": "..."}`. An object of one
member whose key is `$number`, `$$number`, ... gets one more `$`, so that no input can be mistaken
for a tag. Everything else is plain RFC 8785; lone surrogates, which it cannot write, are escaped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from decimal import Decimal
from json import encoder
from typing import cast

from remit.canonical.number import exact_number, held_by_float, tag_of, written
from remit.errors import InputError
from remit.types.ident import Digest

__all__ = ["MAX_DEPTH", "TAG", "digest", "encode", "is_tag_like"]

TAG = "$number"
MAX_DEPTH = 100

_quote = encoder.encode_basestring
_LONE = re.compile("[\ud800-\udfff]")


def is_tag_like(key: str) -> bool:
    """Whether a lone key could be read as a tag or an escaped one."""
    return key.endswith(TAG) and not key[: -len(TAG)].strip("$")


def encode(value: object) -> str:
    """The canonical text of a JSON value (`Exact`; tuples count as arrays).

    Floats count as the decimal that their shortest spelling names.

    Raises:
        InputError: `json.unsupported`: not finite, nested more than 100 deep, or not JSON at all.
    """
    try:
        return _write(value, MAX_DEPTH)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("a number cannot be written as JSON: not finite, or out of range", code="json.unsupported") from None


def _write(value: object, depth: int) -> str:
    kind = type(value)
    if kind is str or isinstance(value, str):
        return _string(cast("str", value))
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, int):
        return _number(int(value))
    if isinstance(value, (float, Decimal)):
        return _number(exact_number(value if isinstance(value, Decimal) else Decimal(repr(float(value)))))
    if depth <= 0:
        raise InputError("nested too deeply", code="json.unsupported")
    if isinstance(value, Mapping):
        return _object(cast("Mapping[object, object]", value), depth - 1)
    if isinstance(value, (list, tuple)):
        return f"[{','.join([_write(one, depth - 1) for one in cast('list[object]', value)])}]"
    raise InputError(f"{kind.__name__} is not a JSON type", code="json.unsupported")


def _string(text: str) -> str:
    quoted = _quote(text)
    if quoted.isascii() or not _LONE.search(quoted):
        return quoted
    return _LONE.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)


def _number(value: int | Decimal) -> str:
    return written(value) if held_by_float(value) else f'{{"{TAG}":"{tag_of(value)}"}}'


def _object(value: Mapping[object, object], depth: int) -> str:
    keys: list[str] = []
    for key in value:
        if not isinstance(key, str):
            raise InputError("the keys of a JSON object are strings", code="json.unsupported")
        keys.append(key)
    if len(keys) == 1 and is_tag_like(keys[0]):
        return f"{{{_string('$' + keys[0])}:{_write(value[keys[0]], depth)}}}"
    keys.sort(key=None if all(map(str.isascii, keys)) else _utf16)
    return f"{{{','.join([f'{_string(key)}:{_write(value[key], depth)}' for key in keys])}}}"


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def digest(domain: str, text: str | bytes) -> Digest:
    """SHA-256 of `text` under a domain tag: digests of two kinds of thing never meet."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return Digest(hashlib.sha256(domain.encode() + b"\0" + data).hexdigest())
