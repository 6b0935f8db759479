from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.canonical import item_spans, member_spans, part_span
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


@given(st.dictionaries(st.text(max_size=6), values, max_size=4), st.lists(values, max_size=3), values, indents, st.booleans())
def test_a_part_is_cut_out_wherever_it_stands(before, items, part, indent, ascii_only):
    inner = {**{key: one for key, one in before.items() if key != "in"}, "in": [part], "after": {"in": [1]}}
    whole = {**{key: one for key, one in before.items() if key != "list"}, "list": [*items, inner], "z": items}
    text = json.dumps(whole, indent=indent, ensure_ascii=ascii_only)
    start, end = part_span(text, ("list", len(items), "in"))
    assert json.loads(text[start:end]) == [part]
    start, end = member_spans(text)["list"]
    assert part_span(text, ("list",)) == (start, end)
    assert part_span(text, (len(items), "in"), start)[1] < end


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"a":[1],"a":[2]}', ("a",)),
        ('{"a":[1],"\\u0061":[2]}', ("a",)),
        ('{"a":[{"b":{},"b":{}}]}', ("a", 0, "b")),
        ('{"a":[1],}', ("a",)),
        ('{"a":[1] "b":2}', ("a",)),
        ('{"a":[1]', ("a",)),
        ('{"a":[1', ("a",)),
        ('{"a":[NaN]}', ("a",)),
        ('{"a":1}', ("a",)),
        ('{"x":{"a":[]}}', ("a",)),
        ('{"a":[{}]}', ("a", 1)),
        ('{"a":{}}', ("a", 0)),
        ("{}", ("a",)),
        ('{"a":' + "[" * 100_000, ("a",)),
    ],
)
def test_a_part_that_is_not_there_or_there_twice_is_refused(text, path):
    with pytest.raises(InputError) as caught:
        part_span(text, path)
    assert caught.value.code == "json.invalid"
