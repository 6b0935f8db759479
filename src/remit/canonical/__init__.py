"""Exact JSON and its one canonical text: what is hashed, compared, shown and run is the same bytes.

Knows no tool and no schema. Invariant: two values have the same text if and only if they are the
same JSON value, where 1 and 1.0 are one number and no number is ever rounded.
"""

from __future__ import annotations

from remit.canonical.code import name_of
from remit.canonical.number import Exact
from remit.canonical.reader import decode, parse, to_plain
from remit.canonical.span import item_spans, member_spans, part_span
from remit.canonical.writer import digest, encode

__all__ = ["Exact", "decode", "digest", "encode", "item_spans", "member_spans", "name_of", "parse", "part_span", "to_plain"]
