from __future__ import annotations

import json
from typing import Any

import pytest

from check.corpus import ROOT, WHY, requests
from remit.check import check, cut, documents
from remit.errors import InputError
from remit.testing.provider import RULES
from remit.testing.provider.asked import Asked
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import first_broken


def _call(one: str) -> dict[str, Any]:
    return {"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}}


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look twice."},
    {"role": "assistant", "content": None, "tool_calls": [_call("a"), _call("b")]},
    {"role": "tool", "tool_call_id": "a", "content": "one"},
    {"role": "tool", "tool_call_id": "b", "content": "two"},
    {"role": "assistant", "content": "Both seen."},
    {"role": "user", "content": "Again."},
    {"role": "assistant", "content": None, "tool_calls": [_call("c")]},
]
TEXT = json.dumps(MESSAGES, indent=1)


def _kept(**how: Any) -> list[Any]:
    return json.loads(cut(documents(TEXT)[0], **how).text)


@pytest.mark.parametrize(("last", "kept"), [(0, [0]), (1, [0, 6]), (2, [0, 5, 6]), (8, [0, 1, 2, 3, 4, 5, 6])])
def test_a_call_that_is_open_at_the_end_is_not_kept(last: int, kept: list[int]) -> None:
    assert _kept(last=last) == [MESSAGES[index] for index in kept]


def test_of_a_transcript_that_was_cut_by_hand_closed_rounds_are_kept() -> None:
    by_hand = [MESSAGES[0], *MESSAGES[3:7]]
    kept = json.loads(cut(documents(json.dumps(by_hand))[0], last=9).text)
    assert kept == [MESSAGES[0], *MESSAGES[5:7]]
    half = [*MESSAGES[:4], *MESSAGES[5:7]]
    assert json.loads(cut(documents(json.dumps(half))[0], last=9).text) == [MESSAGES[0], *MESSAGES[5:7]]
    assert json.loads(cut(documents(json.dumps(half))[0], before="/5").text) == MESSAGES[:2]


@pytest.mark.parametrize(("before", "kept"), [(8, 7), (7, 7), (6, 6), (5, 5), (4, 2), (3, 2), (2, 2), (1, 1), (0, 1)])
def test_before_a_place_only_closed_rounds_are_kept(before: int, kept: int) -> None:
    if before < 8:
        assert _kept(before=f"/{before}") == MESSAGES[:kept]


@pytest.mark.parametrize(("last", "first"), [(1, 6), (2, 5), (3, 5), (4, 5), (5, 2), (6, 1), (9, 1)])
def test_of_the_last_messages_only_closed_rounds_are_kept_and_the_instructions_stay(last: int, first: int) -> None:
    closed = MESSAGES[:7]
    kept = cut(documents(json.dumps(closed))[0], last=last)
    assert json.loads(kept.text) == [MESSAGES[0], *closed[max(first, 1) :]]
    assert kept.kept + kept.dropped == 7


def test_a_place_that_is_in_no_message_is_refused() -> None:
    for place in ("/nowhere", "/99", "/messages/0"):
        with pytest.raises(InputError, match="in none of the messages"):
            cut(documents(TEXT)[0], before=place)
    with pytest.raises(InputError, match="this is none"):
        cut(documents("{}")[0], last=1)


@pytest.mark.skipif(ROOT is None, reason=WHY)
def test_wherever_real_traffic_is_cut_the_rest_has_no_open_round() -> None:
    for form, request in requests():
        key = "input" if form == "openai-responses" else "messages"
        if isinstance(request[key], str) or "previous_response_id" in request:
            continue
        (document,) = documents(json.dumps(request))
        for last in range(len(request[key])):
            kept = cut(document, last=last)
            codes = {one.code for one in check(kept.text).findings if one.severity == "error"}
            assert codes == set()
            whole = json.loads(kept.text)
            if whole[key]:
                broken = first_broken(RULES[form], Asked(form, kept.text.encode(), Memory()))
                assert broken is None or ("result" not in broken.code and "output" not in broken.code)


@pytest.mark.parametrize("value", [{"model": "gpt-5", "input": "Hello."}, {"role": "user", "content": "Hello."}])
def test_where_there_is_no_list_there_is_nothing_to_cut(value: object) -> None:
    with pytest.raises(InputError, match="this is none"):
        cut(documents(json.dumps(value))[0], last=1)


def test_a_result_is_not_parted_from_the_reference_to_its_call() -> None:
    reference = {"type": "item_reference", "id": "fc_1"}
    result = {"type": "function_call_output", "call_id": "a", "output": "x"}
    items = [{"role": "user", "content": "Go."}, reference, result, {"role": "user", "content": "On."}]
    kept = cut(documents(json.dumps({"model": "gpt-5", "input": items}))[0], last=2)
    assert json.loads(kept.text)["input"] == items[3:]
