from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal, NewType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from remit.canonical import decode, encode, parse
from remit.tool import CALL, READ, Arguments, Context, Tool, manual, tool, write
from remit.types.principal import Principal

alice = Principal("alice", "acme")
Cents = NewType("Cents", int)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str
    floor: int = 0


@dataclass
class Line:
    sku: str
    count: int = 1


@tool(effect=READ)
async def everything(
    text: str,
    number: int,
    ctx: Context[object],
    price: float = 1.5,
    amount: Decimal | None = None,
    colour: Colour = Colour.RED,
    size: Literal["s", "l"] = "s",
    day: date | None = None,
    address: Address | None = None,
    lines: list[Line] | None = None,
    extra: dict[str, int] | None = None,
    small: Annotated[int, Field(gt=0, description="above zero")] = 1,
    cents: Cents = Cents(0),
) -> dict[str, object]:
    """Take all kinds of values."""
    return locals()


def run(a_tool: Tool, text: str) -> dict[str, object]:
    arguments = a_tool.check(text)
    assert isinstance(arguments, Arguments), arguments
    return a_tool.bind(arguments, alice)


def faults(a_tool: Tool, text: str) -> dict[str, str]:
    found = a_tool.check(text)
    assert isinstance(found, list), found.text
    assert found
    return {one.path: one.message for one in found}


def raw(schema: dict[str, object], **options: object) -> Tool:
    return Tool.from_schema(name="raw", description="Raw.", schema=schema, handler=lambda a, ctx: a, effect=READ, **options)


def test_typed_values_reach_the_handler_as_their_types():
    got = run(
        everything,
        '{"text":"x","number":3.0,"price":2,"amount":"1.10","colour":"blue","size":"l","day":"2026-01-31",'
        '"address":{"street":"Main"},"lines":[{"sku":"a"}],"extra":{"k":1},"small":2,"cents":5}',
    )
    assert got["number"] == 3
    assert type(got["number"]) is int
    assert got["price"] == 2.0
    assert got["amount"] == Decimal("1.10")
    assert got["colour"] is Colour.BLUE
    assert got["day"] == date(2026, 1, 31)
    assert got["address"] == Address(street="Main")
    assert got["lines"] == [Line("a")]


def test_literal_defaults_are_part_of_the_canonical_arguments():
    arguments = everything.check('{"text":"x","number":1}')
    assert isinstance(arguments, Arguments)
    assert arguments["colour"] == "red"
    assert arguments.price == 1.5
    assert arguments.text == everything.check('{"number":1.0,"text":"x","price":1.50,"size":"s"}').text


def test_defaults_inside_a_given_object_are_filled_in():
    nested = {"type": "object", "properties": {"b": {"type": "integer", "default": 2}}}
    a_tool = raw({"type": "object", "properties": {"a": nested, "all": {"type": "array", "items": nested}}})
    assert a_tool.check('{"a":{},"all":[{},{"b":1}]}').text == '{"a":{"b":2},"all":[{"b":2},{"b":1}]}'


def test_a_recursive_schema_has_its_defaults_filled_in():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer", "default": 0}}}
    a_tool = raw({"type": "object", "properties": {"head": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    assert a_tool.check('{"head":{"next":{}}}').text == '{"head":{"n":0,"next":{"n":0}}}'


def test_a_default_that_its_own_place_does_not_allow_is_left_to_the_handler():
    inner = {"type": "object", "properties": {"c": {"type": "string", "default": None}, "d/e": {"default": 1}}}
    properties = {"a": {"type": "boolean", "default": "false"}, "b": inner, "n": {"type": "integer", "default": 3}}
    assert raw({"type": "object", "properties": properties}).check('{"b":{}}').text == '{"b":{"d/e":1},"n":3}'


def test_a_default_that_was_filled_in_is_not_shared_between_calls():
    a_tool = raw({"type": "object", "properties": {"tags": {"type": "array", "default": []}}})
    first = a_tool.bind(a_tool.check("{}"), alice)
    first["tags"].append("x")
    assert a_tool.bind(a_tool.check("{}"), alice) == {"tags": []}


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_no_arguments_are_an_empty_object(text):
    assert faults(everything, text) == {"/text": "is required", "/number": "is required"}


@pytest.mark.parametrize("text", ["null", "[]", "3", '"x"', "true"])
def test_what_is_not_an_object_is_not_run(text):
    assert faults(everything, text) == {"": "the arguments must be one JSON object"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"a":1,', "character 7"),
        ('{"text":"a","text":"b"}', "given twice"),
        ('{"number":NaN}', "NaN"),
        ('{"a":1}{}', "character 7"),
    ],
)
def test_malformed_json_is_answered_with_its_position(text, named):
    assert named in faults(everything, text)[""]


@pytest.mark.parametrize(
    ("member", "path"),
    [
        ('"number":"3"', "/number"),
        ('"number":true', "/number"),
        ('"number":1.5', "/number"),
        ('"text":1', "/text"),
        ('"price":"1.5"', "/price"),
        ('"colour":"green"', "/colour"),
        ('"size":"m"', "/size"),
        ('"small":0', "/small"),
        ('"day":"yesterday"', "/day"),
        ('"day":3', "/day"),
        ('"address":{"street":1}', "/address/street"),
        ('"address":{"street":"x","zip":1}', "/address/zip"),
        ('"lines":[{"sku":"a"},{"count":1}]', "/lines/1/sku"),
        ('"lines":[{"sku":"a","colour":1}]', "/lines/0/colour"),
        ('"extra":{"k":"v"}', "/extra/k"),
        ('"nope":1', "/nope"),
        ('"approval_token":"yes"', "/approval_token"),
        ('"price":0.10000000000000000000001', "/price"),
        ('"price":12345678901234567890123', "/price"),
    ],
)
def test_every_fault_names_its_field(member, path):
    start = {"text": '"text":"x"', "number": '"number":1'}
    start.pop(path.split("/")[1], None)
    assert list(faults(everything, "{" + ",".join([*start.values(), member]) + "}")) == [path]


def test_faults_are_said_in_words_that_help():
    got = faults(everything, '{"text":1,"day":3,"approval":true,"size":"m"}')
    assert got["/text"] == "must be a string"
    assert got["/number"] == "is required"
    assert got["/day"] == "must be a string or null"
    assert got["/approval"] == "is not a parameter; leave it out"
    assert got["/size"] == 'must be one of "s", "l"'
    assert faults(everything, '{"text":"x","number":1,"size":3}') == {"/size": "must be a string"}


def test_no_fault_repeats_an_argument():
    class Picky(BaseModel):
        code: str

        @field_validator("code")
        @classmethod
        def refuse(cls, value: str) -> str:
            raise ValueError(f"{value} is not known; codes have four letters")

    class Broken(BaseModel):
        code: str

        @field_validator("code")
        @classmethod
        def fail(cls, value: str) -> str:
            raise KeyError(value)

    @tool(effect=READ)
    def picky(number: int = 1, day: date | None = None, code: Picky | None = None, broken: Broken | None = None) -> None:
        """Is picky."""

    for text in (
        '{"number":"SECRET-1"}',
        '{"day":"SECRET-2"}',
        '{"code":{"code":"SECRET-3"}}',
        '{"broken":{"code":"SECRET-4"}}',
        '{"number":{"SECRET":"SECRET-5"}}',
    ):
        assert "SECRET" not in json.dumps(faults(picky, text))
    assert faults(picky, '{"code":{"code":"SECRET-3"}}') == {"/code/code": "is not accepted"}


def test_at_most_ten_faults_are_told():
    assert len(everything.check(json.dumps({f"x{n}": 1 for n in range(50)}))) == 10


def test_json_text_for_an_array_or_object_parameter_is_read_and_recorded():
    arguments = everything.check('{"text":"t","number":1,"lines":"[{\\"sku\\":\\"a\\"}]","address":"{\\"street\\":\\"s\\"}"}')
    assert isinstance(arguments, Arguments), arguments
    assert set(arguments.coercions) == {"/lines", "/address"}
    direct = everything.check('{"text":"t","number":1,"lines":[{"sku":"a"}],"address":{"street":"s"}}')
    assert arguments.text == direct.text
    assert arguments.digest == direct.digest
    assert direct.coercions == ()


@pytest.mark.parametrize("value", ["[1,2]", '{"a":1}', "12345", "null", "true", "1.0"])
def test_text_for_a_string_parameter_is_never_touched(value):
    arguments = everything.check(json.dumps({"text": value, "number": 1}))
    assert isinstance(arguments, Arguments)
    assert arguments["text"] == value
    assert arguments.coercions == ()


def test_text_is_not_read_where_a_string_may_stand():
    either = {"anyOf": [{"type": "string"}, {"type": "array"}]}
    a_tool = raw(
        {
            "type": "object",
            "properties": {"either": either, "any": {}, "list": {"$ref": "#/$defs/l"}},
            "$defs": {"l": {"type": "array"}},
        }
    )
    arguments = a_tool.check('{"either":"[1]","any":"[1]","list":"[1]"}')
    assert arguments.text == '{"any":"[1]","either":"[1]","list":[1]}'
    assert arguments.coercions == ("/list",)


@pytest.mark.parametrize("text", ["", "[1", "3", "null", '{"a":1,"a":2}', '{"a":1}'])
def test_text_that_is_no_array_is_refused_for_an_array_parameter(text):
    assert faults(everything, json.dumps({"text": "t", "number": 1, "lines": text}))["/lines"].startswith("must be an array")


def test_big_integers_are_exact_from_the_text_to_the_handler():
    big = 123456789012345678901234567890
    assert run(everything, f'{{"text":"x","number":{big}}}')["number"] == big
    a_tool = raw({"type": "object", "properties": {"n": {"type": "integer"}}})
    assert run(a_tool, f'{{"n":{big}}}') == {"n": big}


def test_exact_decimals_reach_a_decimal_parameter_exactly():
    got = run(everything, '{"text":"x","number":1,"amount":0.10000000000000000000001}')
    assert got["amount"] == Decimal("0.10000000000000000000001")


def test_input_that_looks_like_a_tag_is_told_apart_from_the_number():
    a_tool = raw({"type": "object", "properties": {"v": {}}})
    fake, real = a_tool.check('{"v":{"$number":"12345678901234567890"}}'), a_tool.check('{"v":12345678901234567890}')
    assert fake.digest != real.digest
    assert run(a_tool, '{"v":{"$number":"12345678901234567890"}}') == {"v": {"$number": "12345678901234567890"}}


def test_lone_surrogates_are_answered_or_escaped_and_never_a_crash():
    assert faults(everything, '{"text":"\\ud800","number":1}') == {"": "holds text that is not valid Unicode"}
    a_tool = raw({"type": "object", "properties": {"t": {"type": "string", "maxLength": 3}}})
    assert a_tool.check('{"t":"\\ud800"}').text == '{"t":"\\ud800"}'
    assert run(a_tool, '{"t":"\\ud800"}') == {"t": "\ud800"}
    assert list(faults(a_tool, '{"t":"\\ud800aaa"}')) == ["/t"]


def test_a_schema_that_allows_extras_takes_them_but_no_approval():
    a_tool = raw({"type": "object", "properties": {"approval_code": {"type": "string"}}, "additionalProperties": True})
    assert a_tool.check('{"anything":1,"approval_code":"x"}').text == '{"anything":1,"approval_code":"x"}'
    for name in ("approval_token", "approval", "Approvals", "approvalId"):
        assert faults(a_tool, json.dumps({name: "yes"})) == {f"/{name}": "no argument can stand for an approval"}


def test_a_raw_schema_is_closed_unless_it_says_otherwise():
    assert "/b" in faults(raw({"properties": {"a": {}}}), '{"a":1,"b":2}')
    composed = raw({"allOf": [{"properties": {"a": {}}}], "properties": {"c": {}}})
    assert composed.check('{"a":1,"c":1}').text == '{"a":1,"c":1}'
    assert "/b" in faults(composed, '{"a":1,"b":2}')


def test_bound_parameters_are_hidden_filled_and_reported():
    @tool(effect=READ, bound={"user_id": lambda principal: principal.subject, "tenant": lambda principal: principal.tenant})
    def orders(user_id: str, tenant, status: str = "open") -> list[str]:
        """List orders.

        Args:
            user_id: whose
            status: which
        """
        return [user_id, tenant, status]

    assert set(orders.declaration.schema["properties"]) == {"status"}
    assert orders.forbidden('{"user_id":"someone-else","status":"open"}') == ("user_id",)
    assert orders.forbidden('{"status":"open"}') == ()
    assert orders.forbidden("{") == ()
    arguments = orders.check('{"user_id":"someone-else","status":"open"}')
    assert arguments.text == '{"status":"open"}'
    assert orders.prepare(arguments, Context(principal=alice, deps=None))() == ["alice", "acme", "open"]


def test_bound_parameters_of_a_raw_schema_are_hidden_filled_and_reported():
    a_tool = raw(
        {
            "type": "object",
            "properties": {"user_id": {"type": "string"}, "q": {"type": "string"}},
            "required": ["user_id", "q"],
        },
        bound={"user_id": lambda principal: principal.subject},
    )
    assert a_tool.declaration.schema["required"] == ["q"]
    assert set(a_tool.declaration.schema["properties"]) == {"q"}
    assert a_tool.forbidden('{"user_id":"bob","q":"x"}') == ("user_id",)
    assert run(a_tool, '{"user_id":"bob","q":"x"}') == {"q": "x", "user_id": "alice"}


def test_stored_arguments_are_what_they_were():
    arguments = everything.check('{"text":"x","number":123456789012345678901}')
    again = Arguments(arguments.text)
    assert again == arguments
    assert again.digest == arguments.digest
    assert dict(again) == dict(arguments)
    assert again.number == 123456789012345678901


def test_arguments_cannot_be_changed():
    arguments = everything.check('{"text":"x","number":1}')
    with pytest.raises(AttributeError):
        arguments.number = 2
    with pytest.raises(AttributeError):
        _ = arguments.nothing
    assert "x" not in repr(arguments).replace("digest", "")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["text", "number", "price", "amount", "lines", "address", "extra", "day", "colour", "zz", "$number"])


@given(st.dictionaries(names, json_values, max_size=6) | json_values)
def test_whatever_a_model_sends_is_checked_and_never_a_crash(value):
    found = everything.check(json.dumps(value))
    if isinstance(found, Arguments):
        assert encode(decode(found.text)) == found.text
        everything.bind(Arguments(found.text), alice)
        assert everything.check(json.dumps(found.plain())).text == found.text
    else:
        assert 1 <= len(found) <= 10


@given(st.text(max_size=40))
def test_whatever_text_a_model_sends_is_checked_and_never_a_crash(text):
    assert everything.check(text)
    assert everything.forbidden(text) == ()


@given(json_values)
def test_checking_is_lossless_for_a_schema_that_takes_anything(value):
    a_tool = ANY
    text = json.dumps({"v": value})
    assert a_tool.check(text).text == encode(parse(text))


ANY = raw({"type": "object", "properties": {"v": {}}})


def test_a_write_is_checked_like_a_read():
    @tool(effect=write(once_per=CALL, recovery=manual))
    def note(text: str) -> None:
        """Write a note."""

    assert isinstance(note.check('{"text":"x"}'), Arguments)
