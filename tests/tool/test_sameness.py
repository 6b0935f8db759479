from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import InputError
from remit.tool import CALL, CONVERSATION, RUN, Arguments, Tool, key, manual, write

SCHEMA = {"type": "object", "properties": {"charge": {}, "cents": {"type": "integer"}}, "required": ["charge"]}
KEYED = {
    "type": "object",
    "properties": {"charge": {"type": ["string", "integer"]}, "cents": {"type": "integer"}},
    "required": ["charge"],
}


def make(once_per, name="refund", **options):
    effect = write(once_per=once_per, recovery=manual)
    return Tool.from_schema(name=name, description="X.", schema=KEYED, handler=lambda a, ctx: a, effect=effect, **options)


def key_of(a_tool, text='{"charge":"ch_1","cents":5}', **where):
    place = {"tenant": "acme", "root": "run_r", "run": "run_1", "conversation": "c_1", "call": "1.0", **where}
    return a_tool.key_of(Arguments(text), **place)[0]


def test_a_business_key_is_the_same_across_runs_and_other_arguments():
    refund = make("charge")
    assert key_of(refund) == key_of(
        refund, '{"charge":"ch_1","cents":9}', run="run_2", root="run_2", conversation=None, call="7.3"
    )
    assert key_of(refund) != key_of(refund, '{"charge":"ch_2","cents":5}')


def test_keys_of_two_tenants_never_meet():
    for once_per in ("charge", RUN, CONVERSATION, CALL):
        assert key_of(make(once_per)) != key_of(make(once_per), tenant="other")


def test_a_key_with_a_namespace_survives_the_renaming_of_its_tool():
    assert key_of(make(key("refund", "charge"), name="old")) == key_of(make(key("refund", "charge"), name="new"))
    assert key_of(make("charge", name="old")) != key_of(make("charge", name="new"))


def test_a_function_makes_the_key():
    refund = make(lambda a: (a.charge, "2026-01"))
    assert key_of(refund) == key_of(refund, '{"charge":"ch_1","cents":1}')
    assert key_of(refund) != key_of(refund, '{"charge":"ch_2","cents":5}')


def test_once_per_run_is_the_same_arguments_in_the_root_run():
    note = make(RUN)
    assert key_of(note) == key_of(note, run="child", call="9.9")
    assert key_of(note) != key_of(note, root="run_2")
    assert key_of(note) != key_of(note, '{"charge":"ch_1","cents":6}')


def test_once_per_conversation_is_the_same_arguments_there_or_in_the_root_run_where_there_is_none():
    note = make(CONVERSATION)
    assert key_of(note) == key_of(note, root="run_2", run="run_2")
    assert key_of(note) != key_of(note, conversation="c_2")
    assert key_of(note, conversation=None) != key_of(note, conversation=None, root="run_2")
    assert key_of(note, conversation="x", root="y") != key_of(note, conversation=None, root="x")


def test_once_per_call_is_each_logical_call():
    note = make(CALL)
    assert key_of(note) == key_of(note)
    assert key_of(note) != key_of(note, call="1.1")
    assert key_of(note) != key_of(note, run="run_2")


def test_the_four_scopes_never_meet():
    assert len({key_of(make(scope)) for scope in ("charge", RUN, CONVERSATION, CALL)}) == 4


def test_what_a_key_was_made_of_can_be_read():
    place = {"tenant": "t", "root": "r", "run": "r", "conversation": None, "call": "1.0"}
    arguments = Arguments('{"charge":"ch_1"}')
    assert make(("charge",)).key_of(arguments, **place)[1] == "key:refund(charge)"
    assert make(key("ns", "charge")).key_of(arguments, **place)[1] == "key:ns(charge)"
    assert make(RUN).key_of(arguments, **place)[1] == "run"


@pytest.mark.parametrize(
    ("once_per", "text"),
    [
        ("charge", '{"charge":""}'),
        ("charge", '{"charge":"  "}'),
        (lambda a: a.charge, '{"charge":""}'),
        (lambda a: None, '{"charge":"x"}'),
        (lambda a: (), '{"charge":"x"}'),
        (lambda a: (a.charge, ""), '{"charge":"x"}'),
        (lambda a: a.nothing, '{"charge":"x"}'),
        (lambda a: object(), '{"charge":"x"}'),
    ],
)
def test_an_empty_key_is_refused(once_per, text):
    with pytest.raises(InputError) as caught:
        key_of(make(once_per), text)
    assert caught.value.code == "key.empty"


def test_numbers_are_keys_too_and_zero_is_not_empty():
    assert key_of(make("charge"), '{"charge":0}') != key_of(make("charge"), '{"charge":1}')


@given(
    st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=2),
    st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=2),
)
def test_two_parts_of_a_key_are_never_run_together(one, other):
    refund = make(lambda a: tuple(a.parts))
    keys = [
        refund.key_of(Arguments(encode({"parts": parts})), tenant="t", root="r", run="r", conversation=None, call="c")[0]
        for parts in (one, other)
    ]
    assert (keys[0] == keys[1]) == (one == other)


def encode(value):
    from remit.canonical import encode as write_text

    return write_text(value)


def test_resources_are_parameters_names_or_a_function():
    arguments = Arguments('{"charge":"ch_1","cents":5}')
    assert make("charge").touches(arguments) is None
    assert make("charge", resources=()).touches(arguments) == ()
    assert make("charge", resources="ledger").touches(arguments) == ("ledger",)
    assert make("charge", resources=("charge", "books")).touches(arguments) == ('charge="ch_1"', "books")
    assert make("charge", resources=lambda a: [f"charge:{a.charge}"]).touches(arguments) == ("charge:ch_1",)
    assert make("charge", resources=lambda a: a.charge).touches(arguments) == ("ch_1",)


def test_resources_that_cannot_be_told_are_undeclared():
    arguments = Arguments('{"charge":"ch_1"}')
    assert make("charge", resources=lambda a: a.nothing).touches(arguments) is None
    assert make("charge", resources=lambda a: [3]).touches(arguments) is None


def test_the_audience_of_what_is_sent():
    arguments = Arguments('{"charge":"bob"}')
    assert make("charge").audience(arguments) is None
    assert make("charge", sends_to=["bob"]).audience(arguments) == {"bob"}
    assert make("charge", sends_to="everyone").audience(arguments) == "everyone"
    assert make("charge", sends_to=lambda a: {a.charge}).audience(arguments) == {"bob"}
    assert make("charge", sends_to=lambda a: a.nothing).audience(arguments) == "everyone"
