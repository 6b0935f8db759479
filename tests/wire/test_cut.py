"""A part is cut out the same way by the quick path and step by step."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.errors import ProtocolError
from remit.wire import cut as quick
from remit.wire.cut import Cut, cut_out, raw_members

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "content", "input", '"', "é"]), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "content", "choices", "message", "n\\", '"content":']), VALUES, max_size=5)
SPELLINGS: list[dict[str, Any]] = [{"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}]


def walked(body: bytes, path: quick.Path) -> Cut | str:
    try:
        return quick._walked(body, path, "it")  # pyright: ignore[reportPrivateUsage]
    except ProtocolError as error:
        return str(error)


def cut(body: bytes, path: quick.Path) -> Cut | str:
    try:
        return cut_out(body, path, "it")
    except ProtocolError as error:
        return str(error)


@given(OBJECTS, VALUES, OBJECTS, st.sampled_from(SPELLINGS))
@settings(deadline=None)
def test_a_member_is_cut_out_wherever_it_stands(before: Any, part: Any, after: Any, spelling: dict[str, Any]) -> None:
    whole = {**{key: one for key, one in before.items() if key != "content"}, "content": part, "z": after}
    text = json.dumps(whole, **spelling)
    found = cut(text.encode(), ("content",))
    assert found == walked(text.encode(), ("content",))
    assert isinstance(found, Cut)
    assert json.loads(text[found.start : found.end]) == part == found.value
    assert found.rest == {**whole, "content": 0}


@given(OBJECTS, OBJECTS, VALUES, st.sampled_from(SPELLINGS))
@settings(deadline=None)
def test_a_part_deep_inside_is_cut_out_too(before: Any, inside: Any, part: Any, spelling: dict[str, Any]) -> None:
    choice = {**{key: one for key, one in inside.items() if key != "message"}, "message": part, "z": 1}
    whole = {**{key: one for key, one in before.items() if key != "choices"}, "choices": [choice]}
    body = json.dumps(whole, **spelling).encode()
    found = cut(body, ("choices", 0, "message"))
    assert found == walked(body, ("choices", 0, "message"))
    assert isinstance(found, Cut)
    assert found.value == part


@pytest.mark.parametrize(
    "body",
    [
        b'{"content":1,"content":2}',
        b'{"a":1,"content":{"x":1},"content":[]}',
        b'{"c\\u006fntent":1,"content":2,"content":3}',
        b'{"content":[1,]}',
        b'{"content":[1]',
        b'{"content":NaN}',
        b'{"content":"\xff"}',
        b'{"a":1}',
        b'{"a":{"content":1}}',
        b"[]",
        b"",
        b'{"content":' + b"[" * 100_000,
    ],
)
def test_what_has_no_one_part_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        cut_out(body, ("content",), "a message")


@given(st.lists(OBJECTS, max_size=4), st.sampled_from(SPELLINGS))
@settings(deadline=None)
def test_members_of_the_parts_objects_are_as_they_were_written_or_left_to_be_looked_for(
    objects: list[dict[str, Any]], spelling: dict[str, Any]
) -> None:
    blocks = [{**one, "input": index} if index % 2 else one for index, one in enumerate(objects)]
    found = cut_out(json.dumps({"content": blocks}, **spelling).encode(), ("content",), "it")
    holders = [block for block in blocks if "input" in block]
    raws = raw_members(found, "input", holders)
    assert raws is None or [json.loads(raw) for raw in raws] == [block["input"] for block in holders]


def test_a_key_inside_a_text_is_no_member() -> None:
    text = '{"content":[{"text":"\\"input\\": 1","input":{"n":1.10}},{"a\\"input":2}]}'
    found = cut_out(text.encode(), ("content",), "it")
    assert raw_members(found, "input", [{"input": {"n": 1.1}}]) == ['{"n":1.10}']
