from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.canonical import item_spans, member_spans
from remit.errors import InputError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
indents = st.sampled_from([None, 0, 2, "\t"])


@given(st.dictionaries(st.text(max_size=6), values, max_size=5), indents, st.booleans())
def test_every_member_is_cut_out_as_it_was_written(members, indent, ascii_only):
    text = json.dumps(members, indent=indent, ensure_ascii=ascii_only)
    spans = member_spans(f" {text}\n")
    assert {key: json.loads(f" {text}\n"[start:end]) for key, (start, end) in spans.items()} == members


@given(st.lists(values, max_size=5), indents, st.text(max_size=5))
def test_every_item_is_cut_out_as_it_was_written(items, indent, before):
    text = before + json.dumps(items, indent=indent) + " trailing"
    assert [json.loads(text[start:end]) for start, end in item_spans(text, len(before))] == items


def test_a_cut_keeps_spelling_and_white_space_inside():
    text = '{"content": [ {"n": 1.00, "id":"\\u0061"} ], "stop":null}'
    start, end = member_spans(text)["content"]
    assert text[start:end] == '[ {"n": 1.00, "id":"\\u0061"} ]'
    (inner,) = item_spans(text, start)
    assert text[slice(*inner)] == '{"n": 1.00, "id":"\\u0061"}'


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"a"', '{"a":', '{"a":1', '{"a":1,}', '{"a":1} x', "{a:1}", '{"a":NaN}', '{"a":1,"a":2}', '{"a":"\x00"}'],
)
def test_what_is_not_one_object_is_refused(text):
    with pytest.raises(InputError) as caught:
        member_spans(text)
    assert caught.value.code == "json.invalid"


def test_a_number_of_any_length_is_cut_out_and_not_read():
    text = '{"a":' + "9" * 10_000 + "}"
    assert member_spans(text) == {"a": (5, 10_005)}
    assert item_spans("[1e999999999]") == [(1, 12)]


@pytest.mark.parametrize("text", ["", "{}", "[", "[1", "[1,]", "[1 2]", "[" * 100_000])
def test_what_is_not_an_array_is_refused(text):
    with pytest.raises(InputError):
        item_spans(text)
