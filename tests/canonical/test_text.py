from __future__ import annotations

import json
import math
from decimal import Decimal

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from remit.canonical import decode, digest, encode, parse, to_plain
from remit.errors import InputError

SAFE = 2**53 - 1
keys = st.text(max_size=6) | st.sampled_from(["$number", "$$number", "$$$number", "number", "$", "a$number"])
small_decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20).map(
    lambda d: int(d) if d == int(d) else d
)
numbers = st.integers(-(10**40), 10**40) | small_decimals | st.floats(allow_nan=False, allow_infinity=False)
exact = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**40), 10**40) | small_decimals | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-SAFE, SAFE)
    | st.floats(-SAFE, SAFE, allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4).filter(
            lambda found: not any(key.endswith("$number") for key in found)
        )
    ),
    max_leaves=12,
)


@given(exact)
def test_a_value_survives_its_text(value):
    assert decode(encode(value)) == value


@given(exact)
def test_text_is_a_fixed_point(value):
    text = encode(value)
    assert encode(decode(text)) == text


@given(exact)
def test_what_is_written_as_json_and_parsed_is_written_the_same(value):
    def spell(one):
        if isinstance(one, Decimal):
            return str(one)
        if isinstance(one, dict):
            return "{" + ",".join(f"{json.dumps(key)}: {spell(inner)}" for key, inner in one.items()) + "}"
        if isinstance(one, list):
            return "[" + " , ".join(map(spell, one)) + "]"
        return json.dumps(one)

    assert encode(parse(spell(value))) == encode(value)


@given(exact, exact)
def test_two_values_have_one_text_exactly_if_they_are_equal(one, other):
    def same(a, b):
        if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
            return a is b
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(same, a, b))
        return a == b

    assert (encode(one) == encode(other)) == same(one, other)


@given(plain)
def test_plain_values_are_written_as_rfc_8785_has_them(value):
    assert encode(value).encode() == rfc8785.dumps(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_number_that_its_spelling_names(value):
    assert encode(value) == encode(parse(json.dumps(value)))


@given(exact)
def test_no_input_is_mistaken_for_a_tag(value):
    for fake in ({"$number": value}, {"$$number": value}):
        assert decode(encode(fake)) == fake
    assert encode({"$number": "12345678901234567890"}) != encode(12345678901234567890)


@given(exact)
def test_plain_values_hold_only_what_json_can_write(value):
    assert json.loads(json.dumps(to_plain(value))) == to_plain(value)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1.0", "1"),
        ("1e3", "1000"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0.1", "0.1"),
        ("1e-6", "0.000001"),
        ("1.5E-7", "1.5e-7"),
        ("-0.00001", "-0.00001"),
        ("9007199254740991", "9007199254740991"),
        ("9007199254740992", '{"$number":"9007199254740992"}'),
        ("1e30", '{"$number":"1' + "0" * 30 + '"}'),
        ("0.10000000000000000000001", '{"$number":"10000000000000000000001e-23"}'),
        ("-0.10000000000000000000001", '{"$number":"-10000000000000000000001e-23"}'),
        ("1e-400", '{"$number":"1e-400"}'),
        ('{"b":1,"a":2}', '{"a":2,"b":1}'),
        ('{"\\ue000":1,"\\ud800\\udc00":2}', '{"\U00010000":2,"\ue000":1}'),
        ('"\\ud800"', '"\\ud800"'),
        ('"\\\\ud800"', '"\\\\ud800"'),
        ('"\\u000b\\n\\u007f"', '"\\u000b\\n\x7f"'),
        ('{"$number":"1"}', '{"$$number":"1"}'),
        ('{"$number":1,"x":2}', '{"$number":1,"x":2}'),
    ],
)
def test_the_canonical_text_of(text, canonical):
    assert encode(parse(text)) == canonical
    assert encode(decode(canonical)) == canonical


def test_equal_numbers_in_different_spellings_are_one_number():
    assert parse('{"a":1}') == parse('{"a":1.0}') == parse('{"a":10e-1}')
    assert encode(parse("100000000000000000000")) == encode(parse("1e20")) == encode(10**20)
    assert type(parse("1.0")) is int
    assert parse("0.5") == Decimal("0.5")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"a":1,"a":2}', "'a' is given twice"),
        ('[{"x":{"b":1,"b":1}}]', "'b' is given twice"),
        ("NaN", "NaN"),
        ("[Infinity]", "Infinity"),
        ("-Infinity", "-Infinity"),
        ('{"a":1} x', "character 8"),
        ('{"a":1}{"a":1}', "character 7"),
        ('{"a":1,', "character 7"),
        ("", "character 0"),
        ('"\x01"', "control character"),
        ("[" * 101 + "]" * 101, "100 deep"),
        ("[" * 200_000, "100 deep"),
        ("9" * 1003, "out of range"),
        ("9" * 100_000, "too many digits"),
        ("1e1001", "out of range"),
        ("1e-1001", "out of range"),
        ("1e99999999999", "out of range"),
        ("0." + "1" * 1003, "out of range"),
    ],
)
def test_what_is_not_exact_json_is_refused_and_named(text, named):
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code == "json.invalid"
    assert named in caught.value.message


def test_the_position_of_a_syntax_error_is_a_detail():
    with pytest.raises(InputError) as caught:
        parse('{"a": tru}')
    assert caught.value.details["position"] == 6


def test_a_hundred_levels_are_read():
    assert encode(parse("[" * 100 + "]" * 100)) == "[" * 100 + "]" * 100


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, Decimal("NaN"), Decimal("-Infinity"), {1: 2}, {"a": object()}, b"x", {1, 2}]
)
def test_what_json_has_no_form_for_is_not_written(value):
    with pytest.raises(InputError) as caught:
        encode(value)
    assert caught.value.code == "json.unsupported"


def test_what_contains_itself_is_not_written():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(InputError, match="deeply"):
        encode(endless)


@pytest.mark.parametrize("tag", ["5", "x", "1.5", "01", "9007199254740992.0", "1e30", 5, None])
def test_a_damaged_tag_is_refused(tag):
    with pytest.raises(InputError) as caught:
        decode(json.dumps({"$number": tag}))
    assert caught.value.code == "canonical.tag"


def test_a_number_that_a_float_would_round_reaches_handlers_as_it_was_written():
    assert to_plain(parse("0.10000000000000000000001")) == "0.10000000000000000000001"
    assert to_plain(parse("12345678901234567890123")) == 12345678901234567890123
    assert to_plain(parse("[0.1, 2.50]")) == [0.1, 2.5]


def test_digests_of_two_domains_never_meet():
    assert digest("a", "x") != digest("b", "x")
    assert digest("a", "x") == digest("a", b"x")
    assert len(digest("a", "x")) == 64


def test_an_integer_too_long_to_be_written_is_refused():
    with pytest.raises(InputError):
        encode(10**9999)
