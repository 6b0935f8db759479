from __future__ import annotations

import json
from typing import Any

import pytest

from remit.check import check, wanted


def _call(one: str, name: str = "look", arguments: str = "{}") -> dict[str, Any]:
    return {"id": one, "type": "function", "function": {"name": name, "arguments": arguments}}


def _round(one: str, name: str, arguments: str, result: str) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": None, "tool_calls": [_call(one, name, arguments)]},
        {"role": "tool", "tool_call_id": one, "content": result},
    ]


def _codes(*messages: Any) -> list[str]:
    return [one.code for one in check(json.dumps([{"role": "user", "content": "Go."}, *messages])).findings]


@pytest.mark.parametrize("failure", ["Error: no seat", '{"error": "no seat"}', '{"success": false}', "Failed: no seat"])
def test_a_write_again_after_a_failure_is_no_repeat(failure: str) -> None:
    assert _codes(*_round("a", "book_flight", "{}", failure), *_round("b", "book_flight", "{}", "booked")) == []


@pytest.mark.parametrize("arguments", ['{"n": 1, "m": 2}', '{"m": 2.0, "n": 1}'])
def test_a_write_is_the_same_however_its_arguments_are_spelt(arguments: str) -> None:
    first = _round("a", "book_flight", '{"n":1,"m":2}', "booked")
    assert _codes(*first, *_round("b", "book_flight", arguments, "booked")) == ["write.repeated"]


def test_a_read_again_is_no_repeat() -> None:
    assert _codes(*_round("a", "get_update", "{}", "x"), *_round("b", "get_update", "{}", "x")) == []


def test_parallel_calls_and_results_in_their_order_are_clean() -> None:
    calls = {"role": "assistant", "content": None, "tool_calls": [_call("a"), _call("b")]}
    assert _codes(calls, *[{"role": "tool", "tool_call_id": one, "content": "x"} for one in ("a", "b")]) == []
    assert _codes(calls, *[{"role": "tool", "tool_call_id": one, "content": "x"} for one in ("b", "a")]) == []


def test_a_flag_and_an_emoji_are_not_hidden_text() -> None:
    scotland = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert _codes(*_round("a", "look", "{}", f"{scotland} {family}")) == []


def test_rules_are_chosen_by_their_codes_or_the_beginning_of_them() -> None:
    assert {one.code for one in wanted(["id"], ["id.reused"])} == {"id.wrong", "id.missing", "id.duplicate", "id.unfit"}
    assert [one.code for one in wanted(["call.open"], [])] == ["call.open"]


def test_findings_hold_nothing_of_arguments_and_results() -> None:
    secret = "hunter2-hunter2"
    text = json.dumps([{"role": "user", "content": secret}, *_round("a", "look", f'{{"p": "{secret}', secret)])
    found = check(text).findings
    assert found
    assert all(secret not in f"{one}" for one in found)
