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


def _books(*payments: str) -> list[str]:
    return [f'{{"user": "ann", "flight": "F1", "day": "Monday", "payment": "{one}"}}' for one in payments]


def test_a_write_that_differs_only_in_how_it_is_paid_is_a_repeat() -> None:
    card, voucher = _books("card", "voucher")
    rounds = [*_round("a", "book_flight", card, "booked: R1234"), *_round("b", "book_flight", voucher, "booked: R1235")]
    assert _codes(*rounds) == ["write.repeated"]


def test_a_write_for_somebody_else_is_no_repeat() -> None:
    ann, bob = (f'{{"to": "{one}", "amount": 5, "currency": "EUR", "text": "Lunch"}}' for one in ("ann", "bob"))
    assert _codes(*_round("a", "send_money", ann, "sent"), *_round("b", "send_money", bob, "sent")) == []


def test_a_write_after_the_first_one_was_taken_back_is_no_repeat() -> None:
    first, second = (_round(one, "book_flight", '{"flight": "F1"}', f"booked: R123{one}") for one in ("4", "5"))
    undone = _round("c", "cancel_booking", '{"booking": "R1234"}', "cancelled")
    other = _round("d", "cancel_booking", '{"booking": "R9999"}', "cancelled")
    assert _codes(*first, *undone, *second) == []
    assert _codes(*first, *other, *second) == ["write.repeated"]


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


def _exchange(stop: str) -> str:
    said = {"role": "assistant", "content": None, "tool_calls": [_call("a")]}
    request = {"model": "gpt-5", "tools": TOOLS, "messages": [{"role": "user", "content": "Go."}]}
    return json.dumps({"request": request, "response": {"choices": [{"message": said, "finish_reason": stop}]}})


TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize(
    ("stop", "codes"), [("length", ["call.after_refusal"]), ("content_filter", ["call.after_refusal"]), ("tool_calls", [])]
)
def test_a_call_of_a_cut_response_that_was_run_is_found_in_the_request_after_it(stop: str, codes: list[str]) -> None:
    request = {
        "model": "gpt-5",
        "tools": TOOLS,
        "messages": [{"role": "user", "content": "Go."}, *_round("a", "look", "{}", "x")],
    }
    assert [one.code for one in check(f"{_exchange(stop)}\n{json.dumps(request)}").findings] == codes


def test_tools_that_are_missing_on_the_second_request_are_an_error_and_else_a_warning() -> None:
    request = {"model": "gpt-5", "messages": [{"role": "user", "content": "Go."}, *_round("a", "look", "{}", "x")]}
    alone, second = check(json.dumps(request)), check(f"{_exchange('tool_calls')}\n{json.dumps(request)}")
    assert [(one.code, one.severity) for one in alone.findings] == [("tools.missing", "warning")]
    assert [(one.code, one.severity) for one in second.findings] == [("tools.missing", "error")]


def test_a_request_that_thinks_and_has_no_messages_is_read() -> None:
    request = {"model": "claude-opus-4-5", "max_tokens": 9, "thinking": {"type": "enabled"}, "system": "", "messages": []}
    assert check(json.dumps(request)).findings == ()


def test_a_message_of_responses_that_is_there_twice_is_found() -> None:
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
    items = [{"role": "user", "content": "Go."}, said, said, {"role": "user", "content": "On."}]
    (one,) = check(json.dumps({"model": "gpt-5", "input": items})).findings
    assert (one.code, one.place) == ("id.duplicate", "/input/2")


def test_the_answer_of_a_local_shell_names_its_call_by_the_item() -> None:
    call = {"type": "local_shell_call", "id": "ls_1", "call_id": "call_1", "action": {}, "status": "completed"}
    items = [{"role": "user", "content": "Go."}, call, {"type": "local_shell_call_output", "id": "ls_1", "output": "{}"}]
    request = {"model": "gpt-5", "tools": [{"type": "local_shell"}], "input": items}
    assert check(json.dumps(request)).findings == ()


def test_a_place_in_an_array_of_requests_is_in_the_request() -> None:
    request = {"model": "gpt-5", "messages": [{"role": "user", "content": "Go."}, *_round("a", "look", "{}", "x")]}
    assert [one.place for one in check(json.dumps([request, request])).findings] == ["/0/tools", "/1/tools"]


def test_of_the_last_messages_only_the_one_of_the_assistant_may_be_empty() -> None:
    def codes(last: dict[str, Any]) -> list[str]:
        request = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Go."}, last]}
        return [one.code for one in check(json.dumps(request)).findings]

    assert codes({"role": "user", "content": []}) == ["message.empty"]
    assert codes({"role": "assistant", "content": []}) == []
