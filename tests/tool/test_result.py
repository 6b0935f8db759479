from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import hashlib
import json
import math
import types
import uuid
from decimal import Decimal
from pathlib import PurePosixPath
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from remit.tool import to_result
from remit.types.part import File, Image, Text

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00\xff" * 4


def result(value):
    got, attachments = to_result(value)
    json.dumps(got, allow_nan=False).encode("utf-8")
    return got, attachments


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Refund:
    charge: str
    when: datetime.date


class Order(BaseModel):
    id: str
    total: Decimal


class Hostile:
    def __repr__(self):
        raise RuntimeError("no")

    def __len__(self):
        raise RuntimeError("no")

    def __iter__(self):
        raise RuntimeError("no")

    def __contains__(self, item):
        raise RuntimeError("no")


class Broken(BaseModel):
    def model_dump(self, **kwargs):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (1.5, 1.5),
        ("é", "é"),
        ("a\ud800b", "a\\ud800b"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (2**62, 2**62),
        (2**64, str(2**64)),
        (Colour.RED, "red"),
        (Decimal("5.00"), "5.00"),
        (datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC), "2026-01-02T03:04:05+00:00"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.timedelta(minutes=1), 60.0),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a/b"), "/a/b"),
        ((1, "a"), [1, "a"]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (collections.deque([1]), [1]),
        (range(3), [0, 1, 2]),
        (Point(1, 2), {"x": 1, "y": 2}),
        (Refund("ch_1", datetime.date(2026, 1, 2)), {"charge": "ch_1", "when": "2026-01-02"}),
        (Order(id="o", total=Decimal("1.10")), {"id": "o", "total": "1.10"}),
        ({1: "a", True and 2: "b", None: "c"}, {"1": "a", "2": "b", "null": "c"}),
        ({(1, 2): "a"}, {"[1, 2]": "a"}),
        ({1: "a", "1": "b"}, [[1, "a"], ["1", "b"]]),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (b"plain text", "plain text"),
        (Text("hello"), "hello"),
        ({"a\udcff": 1}, {"a\\udcff": 1}),
    ],
)
def test_usual_values_have_their_usual_form(value, told):
    assert result(value) == (told, [])


@pytest.mark.parametrize(
    ("value", "media_type", "data"),
    [
        (b"\xff\xfe\x00", "application/octet-stream", b"\xff\xfe\x00"),
        (bytearray(b"\xff"), "application/octet-stream", b"\xff"),
        (memoryview(b"\xff"), "application/octet-stream", b"\xff"),
        (PNG, "image/png", PNG),
        (b"\xff\xd8\xff\xe0", "image/jpeg", b"\xff\xd8\xff\xe0"),
        (b"%PDF-1.7", "application/pdf", b"%PDF-1.7"),
        (Image(PNG, "image/webp"), "image/webp", PNG),
        (File(b"a,b", "text/csv", "t.csv"), "text/csv", b"a,b"),
    ],
)
def test_bytes_become_an_attachment_and_a_block_that_names_it(value, media_type, data):
    told, [(attachment, kept)] = result({"here": value})
    assert kept == data
    assert attachment.digest == hashlib.sha256(data).hexdigest()
    assert attachment.media_type == media_type
    assert told["here"]["attachment"] == attachment.digest
    assert told["here"]["bytes"] == len(data)


def test_the_same_bytes_are_attached_once():
    told, attachments = result([PNG, PNG])
    assert told[0] == told[1]
    assert len(attachments) == 1


def test_an_integer_of_any_size_is_told():
    assert int(result(10**20000)[0], 16) == 10**20000


def test_what_contains_itself_is_told_once():
    endless: list[object] = [1]
    endless.append({"again": endless})
    told, _ = result(endless)
    assert told[0] == 1
    assert told[1]["again"]["type"] == "list"
    shared = [1]
    assert result([shared, shared])[0] == [[1], [1]]


def test_deep_nesting_ends_in_a_block():
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    assert "nested too deeply" in json.dumps(result(deep)[0])


@pytest.mark.parametrize(
    "value",
    [object(), Hostile(), [Hostile()], Broken(), (n for n in [1]), lambda: 1, int, Refund, ValueError("postgres://u:p@h")],
)
def test_what_has_no_json_form_is_a_block_that_names_its_type(value):
    told, attachments = result(value)
    assert "unavailable" in json.dumps(told)
    assert "postgres" not in json.dumps(told)
    assert attachments == []


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.dates()
    | st.decimals()
    | st.uuids(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters()) | st.integers() | st.binary() | st.tuples(st.integers()), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(anything)
def test_no_value_is_a_crash_and_every_attachment_is_named(value):
    told, attachments = result(value)
    text = json.dumps(told)
    assert all(attachment.digest in text for attachment, _ in attachments)
