"""Every event, outcome and delivery comes back from its text as it was."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.errors import LedgerError
from remit.types import codec, event, outcome
from remit.types.delivery import Delivery
from remit.types.event import Event, OperationMoved, Replied
from remit.types.label import Label
from remit.types.outcome import Outcome, Succeeded

TEXT = st.text(st.characters(codec=None), max_size=8)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(min_value=-(2**80), max_value=2**80)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
NAMES: dict[str, Any] = {**vars(outcome), **vars(event), "Json": "Json"}


def strategy(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an annotation as the nouns use them."""
    if kind == "Json":
        return JSON
    if isinstance(kind, typing.NewType):
        return strategy(kind.__supertype__)
    if dataclasses.is_dataclass(kind):
        return st.deferred(lambda: instances(kind))  # type: ignore[arg-type]
    plain = {str: TEXT, int: WHOLE, float: NUMBER, bool: st.booleans(), type(None): st.none()}
    if kind in plain:
        return plain[kind]
    inner = get_args(kind)
    match get_origin(kind):
        case typing.Literal:
            return st.sampled_from(inner)
        case builtin if builtin is tuple:
            return st.lists(strategy(inner[0]), max_size=3).map(tuple)
        case builtin if builtin is frozenset:
            return st.frozensets(strategy(inner[0]), max_size=3)
        case typing.Union | types.UnionType:
            return st.one_of([strategy(one) for one in inner])
    raise AssertionError(f"no strategy for {kind}")


def instances(kind: type) -> st.SearchStrategy[Any]:
    hints: Mapping[str, Any] = typing.get_type_hints(kind, localns={"Json": typing.NewType("Json", str)})
    hints = {name: "Json" if getattr(hint, "__name__", "") == "Json" else hint for name, hint in hints.items()}
    return st.builds(kind, **{name: strategy(hint) for name, hint in hints.items() if name != "kind"})


relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_event_comes_back_equal_and_with_equal_text(kind: type) -> None:
    @relaxed
    @given(instances(kind))
    def check(value: Any) -> None:
        text = codec.encode_event(value)
        back = codec.decode_event(value.kind, text)
        assert back == value
        assert type(back) is kind
        assert codec.encode_event(back) == text

    check()


@pytest.mark.parametrize("kind", get_args(Outcome), ids=lambda kind: kind.__name__)
def test_every_outcome_comes_back_equal(kind: type) -> None:
    @relaxed
    @given(instances(kind))
    def check(value: Any) -> None:
        assert codec.decode_outcome(codec.encode_outcome(value)) == value

    check()


@pytest.mark.parametrize("kind", get_args(Delivery), ids=lambda kind: kind.__name__)
def test_every_delivery_comes_back_equal(kind: type) -> None:
    @relaxed
    @given(instances(kind))
    def check(value: Any) -> None:
        assert codec.decode_delivery(codec.encode_delivery(value)) == value

    check()


@relaxed
@given(instances(Label))
def test_a_label_comes_back_equal(value: Label) -> None:
    assert codec.decode_label(codec.encode_label(value)) == value


@pytest.mark.parametrize("value", [1, 1.0, True, 0, 0.0, False, None, "1", 2**64, -(2**64), 1e300, 0.1, [], {}])
def test_a_json_value_keeps_its_kind(value: Any) -> None:
    back = codec.decode_outcome(codec.encode_outcome(Succeeded(value=value)))
    assert isinstance(back, Succeeded)
    assert back.value == value
    assert type(back.value) is type(value)


def test_sets_are_written_in_one_order() -> None:
    names = [f"reader {number}" for number in range(50)]
    one, other = Label(True, frozenset(names)), Label(True, frozenset(reversed(names)))
    assert codec.encode_label(one) == codec.encode_label(other)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"kind":"no.such"}', '{"kind":"operation.moved"}'])
def test_text_that_is_no_event_is_named_as_unreadable(text: str) -> None:
    with pytest.raises(LedgerError) as unreadable:
        codec.decode_event("operation.moved", text)
    assert unreadable.value.code == "ledger.unreadable"
    assert not unreadable.value.retryable


def test_a_record_under_another_kinds_name_is_unreadable() -> None:
    text = codec.encode_event(event.CancelRequested(by="bob"))
    with pytest.raises(LedgerError):
        codec.decode_event("run.ended", text)


def test_the_kinds_are_closed_and_distinct() -> None:
    kinds = [typing.get_type_hints(one, localns={"Json": str})["kind"] for one in get_args(Event)]
    assert all(get_origin(kind) is Literal for kind in kinds)
    assert len({get_args(kind) for kind in kinds}) == len(get_args(Event))
    assert {OperationMoved, Replied} <= set(get_args(Event))
