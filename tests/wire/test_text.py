"""Text is cut out and spliced where it stands; the rest keeps its bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import InputError, ProtocolError
from remit.wire.text import Node, Splices
from remit.wire.write import quote, storable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5), st.sampled_from([None, 2]), st.booleans())
def test_every_member_is_the_text_that_was_written(value: dict[str, object], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        return
    node = Node.of(body)
    assert {key: json.loads(node.raw(key) or "") for key in node.spans} == value
    assert Splices().apply(node.text, 0, len(node.text)) == text


def test_a_missing_member_is_added_and_a_given_one_replaced_without_touching_the_rest() -> None:
    node = Node.of(b'{ "a" : 1 ,\n "b":"x" }')
    splices = Splices()
    splices.member(node, "b", '"y"')
    splices.member(node, "id", '"new"')
    assert splices.apply(node.text, node.start, node.end) == '{"id":"new", "a" : 1 ,\n "b":"y" }'


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"a":', b'{"a":1} x', b'"\xff"', b"null"])
def test_what_is_no_object_is_refused_without_being_quoted(body: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        Node.of(body)
    assert str(caught.value) in ("response is not a JSON object", "response is not UTF-8")


def test_a_member_that_is_given_twice_cannot_be_cut_out() -> None:
    node = Node.of(b'{"x":{"a":"secret","a":2}}').child("x")
    assert node is not None
    with pytest.raises(ProtocolError) as caught:
        node.raw("a")
    assert str(caught.value).startswith("response.x ")
    assert "secret" not in str(caught.value)


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert Node.of(b'\xef\xbb\xbf{"a":1}').value("a") == 1


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(ProtocolError):
        Node.of(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_a_lone_surrogate_is_sent_as_an_escape_that_can_be_seen() -> None:
    assert quote({"a": "x\ud800y"}).encode() == b'{"a":"x\\\\ud800y"}'
    assert storable("\ud83d") == "\\ud83d"
    assert storable("é") == "é"


def test_numbers_that_json_has_not_are_refused() -> None:
    with pytest.raises(InputError):
        quote({"temperature": float("nan")})


@given(st.text())
def test_whatever_is_quoted_can_be_sent(text: str) -> None:
    assert isinstance(json.loads(quote(text).encode()), str)
    assert storable(text).encode().decode() == storable(text)


@pytest.mark.parametrize(("said", "counted"), [("7", 7), ("0", 0), ("-5", 0), ('"9"', 0), ("true", 0), ("null", 0), ("1.5", 0)])
def test_a_count_of_tokens_is_a_whole_number_or_nothing(said: str, counted: int) -> None:
    assert Node.of(b'{"n":' + said.encode() + b"}").count("n") == counted


@pytest.mark.parametrize("said", [2**63, 10**30])
def test_more_tokens_than_a_reply_can_have_are_no_reply(said: int) -> None:
    with pytest.raises(ProtocolError, match="tokens"):
        Node.of(b'{"n":%d}' % said).count("n")


BODIES = [
    b'{"content":1,"content":[]}',
    b'{"content":[],"content":null}',
    b'{"content":[],"content":[]}',
    b'{"a":1,"content":{"x":1},"content":[]}',
    b'{"c\\u006fntent":[1],"content":[2]}',
    b'{"content":[1,]}',
    b'{"content":[NaN]}',
    b'{"content":["\xff"]}',
    b'{"content":' + b"[" * 100_000,
]


@pytest.mark.parametrize("body", BODIES)
def test_a_part_is_as_it_was_written_and_what_its_value_says_or_it_is_refused(body: bytes) -> None:
    try:
        node = Node.of(body)
        raw = node.raw("content")
    except ProtocolError:
        return
    assert raw is not None
    assert json.loads(raw) == node.value("content")


def test_a_key_inside_a_text_is_no_member() -> None:
    (block, other) = Node.of(
        b'{"content":[{"text":"\\"input\\": {}","input":{"n":1.10}},{"a\\"input":{},"input": { }}]}'
    ).children("content")
    assert (block.raw("input"), other.raw("input"), other.raw("n")) == ('{"n":1.10}', "{ }", None)
