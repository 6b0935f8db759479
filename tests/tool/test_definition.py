from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Optional

import pytest

from remit.errors import DefinitionError
from remit.tool import (
    CALL,
    CONVERSATION,
    READ,
    RUN,
    Arguments,
    Concurrency,
    Context,
    Rate,
    Tool,
    always,
    idempotent,
    key,
    manual,
    reconcile,
    tool,
    when,
    write,
)
from remit.types.label import UNTRUSTED
from remit.types.principal import Principal

if TYPE_CHECKING:
    from decimal import Decimal

ONCE = write(once_per="charge", recovery=manual)


async def refund(charge: str, cents: int = 5, ctx: Context[int] | None = None) -> int:
    """Refund a charge."""
    return cents


def find(arguments, ctx):
    return "did_not"


def test_a_tool_is_its_function_with_a_declared_contract():
    @tool(effect=ONCE, scopes={"billing:refund"}, timeout_s=10, rate=Rate(5, 60), concurrency=Concurrency("bank", 2))
    async def issue_refund(charge_id: str, charge: str, ctx: Context[int]) -> str:
        """Refund one charge, wholly or in part.

        Use it for duplicates only.

        Args:
            charge_id: public id,
                for example ch_1
            charge: which

        Returns:
            a receipt
        """
        return f"{charge_id} {ctx.deps}"

    assert issue_refund.name == "issue_refund"
    assert issue_refund.declaration.description == "Refund one charge, wholly or in part.\n\nUse it for duplicates only."
    schema = issue_refund.declaration.schema
    assert schema["properties"]["charge_id"] == {"type": "string", "description": "public id,\nfor example ch_1"}
    assert schema["required"] == ["charge_id", "charge"]
    assert schema["additionalProperties"] is False
    assert issue_refund.is_async
    assert issue_refund.effect_kind == "write"
    assert issue_refund.operation_scope == "key"
    assert issue_refund.scopes == {"billing:refund"}
    ctx = Context(principal=Principal("alice"), deps=7)
    assert asyncio.run(issue_refund("ch_1", "x", ctx)) == "ch_1 7"
    arguments = issue_refund.check('{"charge_id":"ch_1","charge":"x"}')
    assert asyncio.run(issue_refund.prepare(arguments, ctx)()) == "ch_1 7"


def test_types_of_the_place_where_a_tool_is_defined_are_found():
    @dataclasses.dataclass
    class Local:
        n: int

    @tool(effect=READ)
    def look(local: Local) -> int:
        """Look."""
        return local.n

    arguments = look.check('{"local":{"n":2}}')
    assert look.prepare(arguments, Context(principal=Principal("a"), deps=None))() == 2


def test_a_raw_tool_takes_its_arguments_as_one_object():
    got = []
    a_tool = Tool.from_schema(
        name="files.read",
        description="Read.",
        schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        handler=lambda arguments, ctx: got.append((arguments, ctx.principal.subject)),
        effect=READ,
    )
    a_tool.prepare(a_tool.check('{"path":"x"}'), Context(principal=Principal("alice"), deps=None))()
    assert got == [({"path": "x"}, "alice")]
    assert not a_tool.is_async
    assert a_tool.label is None


def test_an_imported_tool_without_an_effect_is_a_manual_write_that_needs_approval():
    a_tool = Tool.from_schema(name="x", description="X.", schema={"type": "object"}, handler=find)
    assert a_tool.effect == write(once_per=CALL, recovery=manual)
    assert a_tool.approve == always()
    assert a_tool.label == UNTRUSTED


def test_the_given_schema_is_not_changed():
    schema = {"type": "object", "properties": {"user": {"type": "string"}}, "required": ["user"]}
    Tool.from_schema(name="x", description="X.", schema=schema, handler=find, bound={"user": lambda p: p.subject})
    assert schema == {"type": "object", "properties": {"user": {"type": "string"}}, "required": ["user"]}


def no_docstring(a: int) -> None: ...


def untyped(a) -> None:
    """Do it."""


def many(*args: int) -> None:
    """Do it."""


def any_names(**kwargs: int) -> None:
    """Do it."""


def positional(a: int, /) -> None:
    """Do it."""


def unresolved(a: Decimal) -> None:
    """Do it."""


def no_form(a: asyncio.Event) -> None:
    """Do it."""


def bad_default(a: int = None) -> None:  # noqa: RUF013
    """Do it."""


def two_contexts(ctx: Context[int], other: Context[int]) -> None:
    """Do it."""


def described(a: int) -> None:
    """Do it.

    Args:
        b: gone
    """


def generator(a: int):
    """Do it."""
    yield a


@pytest.mark.parametrize(
    ("function", "parameter"),
    [
        (untyped, "'a'"),
        (many, "'args'"),
        (any_names, "'kwargs'"),
        (positional, "'a'"),
        (unresolved, "'a'"),
        (no_form, "'a'"),
        (bad_default, "'a'"),
        (two_contexts, "'other'"),
        (described, "'b'"),
        (no_docstring, "docstring"),
        (generator, "generator"),
    ],
)
def test_a_mistake_in_the_function_names_the_tool_and_the_parameter(function, parameter):
    with pytest.raises(DefinitionError) as caught:
        tool(effect=READ)(function)
    assert repr(function.__name__) in caught.value.message
    assert parameter in caught.value.message


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "needs an effect"),
        ({"effect": None}, "needs an effect"),
        ({"effect": "read"}, "needs an effect"),
        ({"effect": READ, "name": "a b"}, "name"),
        ({"effect": READ, "name": "x" * 129}, "name"),
        ({"effect": READ, "timeout_s": 0}, "timeout_s"),
        ({"effect": READ, "timeout_s": float("inf")}, "timeout_s"),
        ({"effect": READ, "max_result_chars": 0}, "max_result_chars"),
        ({"effect": READ, "rate": Rate(0, 1)}, "rate"),
        ({"effect": READ, "rate": 3}, "rate"),
        ({"effect": READ, "concurrency": Concurrency("x", 0)}, "concurrency"),
        ({"effect": READ, "scopes": "a:b"}, "scopes"),
        ({"effect": READ, "free": {"nope"}}, "'nope'"),
        ({"effect": READ, "secret": {"nope"}}, "'nope'"),
        ({"effect": READ, "sends_to": "bob"}, "sends_to"),
        ({"effect": READ, "bound": {"nope": lambda p: 1}}, "'nope'"),
        ({"effect": write(once_per="nope", recovery=manual)}, "'nope'"),
        ({"effect": write(once_per="cents", recovery=manual)}, "'cents', which may be left out"),
        ({"effect": write(once_per=("charge", "cents"), recovery=manual)}, "'cents'"),
        ({"effect": write(once_per=key("refund", "ctx"), recovery=manual)}, "'ctx'"),
        ({"effect": write(once_per="charge", recovery=reconcile(lambda a: None))}, "reconcile function"),
        ({"effect": READ, "scope": {"a:b"}}, "no option 'scope'; did you mean 'scopes'?"),
        ({"effect": READ, "timeout": 3}, "no option 'timeout'; did you mean 'timeout_s'?"),
        ({"effect": READ, "colour": "red"}, "no option 'colour'; there is approve, bound, "),
        ({"effect": READ, "name": 3}, "name"),
        ({"effect": READ, "approve": always}, "approve=always()"),
        *[({"effect": READ, "approve": one}, "give when(...), always() or never") for one in (True, False, "yes", find)],
        *[({"effect": READ, "timeout_s": one}, "timeout_s") for one in ("3", -1, True, float("nan"), None)],
        *[({"effect": READ, "scopes": one}, "scopes") for one in ({3}, [""], 5, None, {"a": 1})],
        *[({"effect": READ, "rate": one}, "rate") for one in (Rate("5", 60), Rate(5, "60"), Rate(5, float("nan")), (5, 60))],
        *[({"effect": READ, "concurrency": one}, "concurrency") for one in (2, Concurrency("", 2), Concurrency("x", True))],
        *[({"effect": READ, "resources": one}, "resources") for one in ("", 3, ("a", 3), lambda: "a", asyncio.sleep)],
        *[({"effect": READ, "label": one}, "without quotes") for one in ("UNTRUSTED", True)],
        *[({"effect": READ, "owns": one}, "owns") for one in ("x", True, lambda arguments: True)],
        *[({"effect": READ, "sends_to": one}, "sends_to") for one in (3, {3}, asyncio.sleep, lambda: {"bob"})],
        *[({"effect": READ, "preview": one}, "preview") for one in ("Refund {cents}", lambda: "", asyncio.sleep)],
        *[({"effect": READ, "bound": one}, "bound") for one in ({"charge": "x"}, {"charge"}, {"charge": lambda: 1})],
        *[({"effect": READ, option: "no"}, option) for option in ("polls", "strict", "open_world")],
        ({"effect": READ, "max_result_chars": "9"}, "max_result_chars"),
        ({"effect": READ, "free": "charge"}, "free"),
        ({"effect": READ, "secret": {"chrage"}}, "did you mean 'charge'?"),
        ({"effect": write(once_per="chrage", recovery=manual)}, "did you mean 'charge'?"),
    ],
)
def test_a_mistake_in_the_options_names_the_tool_the_option_and_the_mend(options, named):
    for define_it in (lambda: tool(**options)(simple), lambda: from_schema(**options)):
        with pytest.raises(DefinitionError) as caught:
            define_it()
        assert named in caught.value.message
        assert "tool '" in caught.value.message


def from_schema(**options):
    """The same tool from a schema; without an effect it would be a write of its own."""
    schema = {
        "type": "object",
        "properties": {"charge": {"type": "string"}, "cents": {"type": "integer", "default": 5}},
        "required": ["charge"],
    }
    given = {"name": "simple", "description": "Refund a charge.", "handler": find} | options
    return Tool.from_schema(schema=schema, **given | {"effect": options.get("effect") or "none"})


async def simple(charge: str, cents: int = 5, *, ctx: Context[int]) -> int:
    """Refund a charge."""
    return cents


def test_a_bare_decorator_is_refused_by_name():
    with pytest.raises(DefinitionError, match="'simple' needs an effect"):
        tool(simple)


def test_a_key_parameter_that_may_be_null_is_refused():
    def nullable(charge: Optional[str]) -> None:  # noqa: UP045
        """Refund."""

    def anything(charge: object) -> None:
        """Refund."""

    for function in (nullable, anything):
        with pytest.raises(DefinitionError, match="may be null") as caught:
            tool(effect=ONCE)(function)
        assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    "node",
    [
        {},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"enum": ["a", None]},
        {"$ref": "#/$defs/maybe"},
    ],
)
def test_a_key_parameter_that_a_schema_lets_be_null_is_refused(node):
    schema = {"properties": {"charge": node}, "required": ["charge"], "$defs": {"maybe": {"type": ["string", "null"]}}}
    with pytest.raises(DefinitionError, match="may be null"):
        Tool.from_schema(name="x", description="X.", schema=schema, handler=find, effect=ONCE)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "bogus"},
        {"type": "array"},
        {"properties": {"a": {"$ref": "https://example.com/schema.json"}}},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"properties": {"a": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
        {"properties": {"a": {"$ref": "#/$defs/gone"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"properties": {"a": {}}}]},
    ],
)
def test_a_schema_that_cannot_be_held_to_is_refused(schema):
    with pytest.raises(DefinitionError, match="tool 'x'"):
        Tool.from_schema(name="x", description="X.", schema=schema, handler=find, effect=READ)


def test_a_property_named_like_a_reference_is_no_reference():
    schema = {
        "type": "object",
        "properties": {"$ref": {"type": "string"}, "default": {"type": "integer"}, "title": {"type": "string"}},
    }
    a_tool = Tool.from_schema(name="x", description="X.", schema=schema, handler=find, effect=READ)
    assert (
        a_tool.check('{"$ref":"https://example.com","default":1,"title":"t"}').text
        == '{"$ref":"https://example.com","default":1,"title":"t"}'
    )


def test_a_raw_handler_takes_arguments_and_context():
    with pytest.raises(DefinitionError, match="handler"):
        Tool.from_schema(name="x", description="X.", schema={}, handler=lambda arguments: None, effect=READ)


@pytest.mark.parametrize(
    "make",
    [
        lambda: idempotent(0),
        lambda: idempotent(10, attempts=0),
        lambda: reconcile("find"),
        lambda: reconcile(find, settle_s=-1),
        lambda: reconcile(find, attempts=0),
        lambda: write(once_per=(), recovery=manual),
        lambda: write(once_per=3, recovery=manual),
        lambda: write(once_per=CALL, recovery=None),
        lambda: key("", "a"),
        lambda: key("a"),
        lambda: key("a", find, "b"),
        lambda: always(scope=""),
        lambda: always(expires_s=0),
        lambda: always(expires_s=float("inf")),
        lambda: always(expires_s="1"),
        lambda: always(scope=3),
        lambda: always(two_person="yes"),
        lambda: idempotent("60"),
        lambda: idempotent(60, attempts=True),
        lambda: reconcile(find, settle_s="1"),
        lambda: write(once_per=refund, recovery=manual),
        lambda: write(once_per=CALL, recovery=manual, atomic="yes"),
        lambda: key("a", 3),
        lambda: key(3, "a"),
    ],
)
def test_a_mistake_in_an_effect_or_rule_is_a_definition_error(make):
    with pytest.raises(DefinitionError):
        make()


@pytest.mark.parametrize(
    ("make", "mend"),
    [
        (
            lambda: write(once_per="a"),
            r"write\(\) needs recovery=idempotent\(window_s=...\), reconcile\(fn\), transactional or manual",
        ),
        (lambda: write(recovery=manual), r'write\(\) needs once_per="PARAMETER"'),
        (lambda: write(), "once_per=.* and recovery="),
        (lambda: write(once_per="a", recover=manual), "no option 'recover'; did you mean 'recovery'?"),
        (lambda: write("a", manual), "once_per=.* and recovery="),
        (lambda: idempotent(), "window_s=SECONDS"),
        (lambda: reconcile(), "fn=FUNCTION"),
        (lambda: when(), "predicate=FUNCTION"),
        (lambda: always(scopes="a"), "did you mean 'scope'?"),
    ],
)
def test_what_is_missing_or_unknown_in_an_effect_or_rule_is_named_with_its_mend(make, mend):
    with pytest.raises(DefinitionError, match=mend):
        make()


def define(effect=ONCE, name="pay", doc="Pay.", more=None):
    properties = {"charge": {"type": "string"}, **(more or {})}
    schema = {"type": "object", "properties": properties, "required": ["charge"]}
    return Tool.from_schema(name=name, description=doc, schema=schema, handler=find, effect=effect)


def test_the_contract_changes_with_name_schema_effect_sameness_and_recovery_and_with_nothing_else():
    tools = [
        define(),
        define(name="pay2"),
        define(more={"cents": {"type": "integer"}}),
        define(effect=READ),
        define(effect=write(once_per=RUN, recovery=manual)),
        define(effect=write(once_per=CONVERSATION, recovery=manual)),
        define(effect=write(once_per=key("other", "charge"), recovery=manual)),
        define(effect=write(once_per=lambda a: a.charge, recovery=manual)),
        define(effect=write(once_per=lambda a: [a.charge], recovery=manual)),
        define(effect=write(once_per="charge", recovery=manual, atomic=True)),
        define(effect=write(once_per="charge", recovery=idempotent(60))),
        define(effect=write(once_per="charge", recovery=idempotent(61))),
        define(effect=write(once_per="charge", recovery=reconcile(find))),
    ]
    assert len({one.contract for one in tools}) == len(tools)
    assert define(doc="Pay differently.").contract == tools[0].contract


def test_preparing_a_call_starts_nothing():
    started = []

    @tool(effect=READ, bound={"who": lambda principal: 1 / 0})
    def look(who: str) -> None:
        """Look."""
        started.append(who)

    ctx = Context(principal=Principal("a"), deps=None)
    with pytest.raises(ZeroDivisionError):
        look.prepare(look.check("{}"), ctx)
    assert started == []


def test_stored_arguments_that_no_longer_fit_are_refused_before_the_handler():
    @tool(effect=READ)
    def look(n: int) -> int:
        """Look."""
        return n

    with pytest.raises(ValueError, match="no longer fit") as caught:
        look.bind(Arguments('{"n":"text"}'), Principal("a"))
    assert caught.value.code == "arguments.stale"
