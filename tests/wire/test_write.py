"""Each writer of JSON text does with half characters, and with numbers that JSON has not, what it says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import InputError
from remit.wire.write import dumped, joined, quote, rewritten, spelled, storable, written

HALF = "x\ud83dy"


def test_half_a_character_is_named_where_it_is_sent_and_kept_where_it_is_read_again() -> None:
    assert quote(HALF) == '"x\\\\ud83dy"'
    assert storable(HALF) == "x\\ud83dy"
    assert json.loads(spelled(HALF)) == HALF
    assert json.loads(dumped([HALF])) == [HALF]
    assert joined(["x\ud83d", "\ude00"]) == "x\U0001f600"


@given(st.text())
def test_a_string_that_is_spelled_or_dumped_reads_as_itself_and_can_be_sent(text: str) -> None:
    for spelling in (spelled(text), dumped(text)):
        assert json.loads(spelling.encode()) == text


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_in_json_is_refused_in_what_is_ours(number: float) -> None:
    with pytest.raises(InputError):
        quote({"temperature": number})
    assert dumped(number) == "null"


def test_members_keep_their_order_and_what_is_written_already_its_spelling() -> None:
    assert written({"b": "1.0", "a": "[ ]"}) == '{"b":1.0,"a":[ ]}'
    assert rewritten({"b": "é", "a": None}, {"n": "1.0"}) == '{"b":"é","a":null,"n":1.0}'
    assert rewritten({}, {}) == "{}"
