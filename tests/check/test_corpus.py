from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from check.corpus import FILES, ROOT, WHY, lines_of, requests, text_of, thinking
from check.plant import PLANTS, Plot
from remit.check import MENDS, Form, check, documents, mend
from remit.testing.provider import RULES
from remit.testing.provider.asked import Asked
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import Broken, first_broken

pytestmark = pytest.mark.skipif(ROOT is None, reason=WHY)

MUTATIONS = 1_000
REAL = {
    (
        "traffic/trajectories-openai-chat",
        "id.missing",
    ): 31,  # SWE-agent keeps ids under `tool_call_ids`, which no provider reads
    ("traffic/vercel-fixtures", "source.stream"): 1,  # a stream with two beginnings
    ("traffic/vercel-fixtures", "source.unknown"): 22,  # Bedrock, Cohere, Google
    ("traffic/anthropic-messages", "id.reused"): 2,
    ("traffic/trajectories-openai-chat", "id.reused"): 10,
    ("taubench/gpt-4o-airline", "id.reused"): 38,
    ("taubench/gpt-4o-airline", "write.repeated"): 2,  # the double booking: twice the trip is booked while the first one stands
}
"""All that is found in the corpus, each kind looked at: none of it is a false alarm."""


def _broken(form: Form, text: str) -> Broken | None:
    return first_broken(RULES[form], Asked(form, text.encode(), Memory()))


def test_nothing_is_found_in_real_traffic_that_is_not_there() -> None:
    found = Counter((file, one.code) for file in FILES for one in check(text_of(file)).findings)
    assert found == REAL


def test_the_double_booking_is_found_and_repeats_after_an_error_are_not() -> None:
    lines = [json.loads(line) for line in text_of("taubench/gpt-4o-airline").splitlines()]
    found = [one for one in check(text_of("taubench/gpt-4o-airline")).findings if one.code == "write.repeated"]
    assert {one.line for one in found} == {76}
    messages = lines[75]["messages"]
    made = [json.loads(message["content"])["reservation_id"] for message in messages if _is_booking(message)]
    assert made == ["HATHAT", "HATHAU", "HATHAV"]
    again = [json.loads(messages[int(one.place.split("/")[2]) + 1]["content"])["reservation_id"] for one in found]
    assert again == ["HATHAU", "HATHAV"]
    cancelled = [call for message in messages for call in _calls(message) if call["name"] == "cancel_reservation"]
    assert [json.loads(one["arguments"])["reservation_id"] for one in cancelled] == ["HATHAU"]
    assert len([line for line in lines if _repeats(line["messages"])]) > 1


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [call["function"] for call in message.get("tool_calls") or []]


def _is_booking(message: dict[str, Any]) -> bool:
    return message.get("name") == "book_reservation" and message["content"].startswith("{")


def _repeats(messages: list[dict[str, Any]]) -> bool:
    calls = [call for message in messages for call in _calls(message)]
    books = [call["arguments"] for call in calls if call["name"] == "book_reservation"]
    return len(books) != len(set(books))


@pytest.mark.parametrize("file", [one for one in FILES if "trajectories" not in one])
def test_what_is_valid_stays_byte_for_byte(file: str) -> None:
    text = text_of(file)
    assert mend(text).text == text


def test_what_can_be_mended_in_real_traffic_is() -> None:
    mended = mend(text_of("traffic/trajectories-openai-chat"))
    assert Counter(mended.codes) == {"id.missing": 31}
    assert [one for one in check(mended.text).findings if one.severity == "error"] == []


def test_the_form_of_every_request_is_recognized() -> None:
    for form, request in requests():
        assert [one.form for one in documents(json.dumps(request))] == [form]


def test_the_rules_agree_with_the_fake_provider_on_real_requests() -> None:
    for form, request in requests():
        text = json.dumps(request)
        assert _broken(form, text) is None
        assert [one.code for one in check(text).findings if one.severity == "error"] == []


@pytest.fixture(scope="module")
def planted() -> list[tuple[tuple[str, ...], Plot, str]]:
    """Valid requests with one fault in each; the faults take turns."""
    chance = random.Random(20261130)
    base = [(form, json.dumps(request)) for form, request in requests()]
    found: list[tuple[tuple[str, ...], Plot, str]] = []
    while len(found) < MUTATIONS:
        codes, plant = PLANTS[len(found) % len(PLANTS)]
        form, text = chance.choice(base)
        plot = Plot(form, json.loads(text), chance)
        if plant(plot):
            found.append((codes, plot, json.dumps(plot.listed if plot.bare else plot.request)))
    return found


def test_every_planted_fault_is_found(planted: list[tuple[tuple[str, ...], Plot, str]]) -> None:
    missed = [
        (codes, plot.form)
        for codes, plot, text in planted
        if not {one.code for one in check(text, form=plot.form).findings} & {*codes}
    ]
    assert len(planted) == MUTATIONS
    assert missed == []


def test_what_is_mended_is_taken_by_the_fake_provider(planted: list[tuple[tuple[str, ...], Plot, str]]) -> None:
    tried = Counter[str]()
    for codes, plot, text in planted:
        if codes[0] in MENDS:
            mended = mend(text, form=plot.form)
            assert mended.codes, codes
            assert _broken(plot.form, mended.text) is None, (codes, plot.form)
            assert mend(mended.text, form=plot.form).text == mended.text
            tried[codes[0]] += 1
    assert set(tried) == set(MENDS)


def test_what_the_fake_provider_refuses_is_an_error(planted: list[tuple[tuple[str, ...], Plot, str]]) -> None:
    unseen = [
        (codes, broken.code)
        for codes, plot, text in planted
        if not plot.bare
        and (broken := _broken(plot.form, text)) is not None
        and not [one for one in check(text, form=plot.form).findings if one.severity == "error"]
    ]
    assert unseen == []


def test_injections_that_pose_as_somebody_are_found_and_plain_sentences_are_not() -> None:
    """Of AgentDojo's texts two kinds of three; those that read like any sentence are not told from words."""
    found = Counter[tuple[str, bool]]()
    for entry in lines_of("agentdojo/attack_payloads"):
        call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages = [
            {"role": "user", "content": "Look it up."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": f"Rent: 1100.\n{entry['payload']}"},
        ]
        codes = {one.code for one in check(json.dumps(messages)).findings}
        found[entry["attack"], "injection.order" in codes] += 1
    assert found == {("important_instructions", True): 14, ("ignore_previous", True): 14, ("direct", False): 14}


@pytest.mark.parametrize("fault", ["dropped", "changed", "moved", "unsigned"])
def test_a_planted_fault_in_thinking_is_found(fault: str) -> None:
    tried = 0
    for form, response, follow in thinking():
        lines = [json.dumps({"request": None, "response": json.loads(response)}), follow]
        assert check("\n".join(lines), form=form).findings == ()
        request = json.loads(follow)
        if _spoil(form, request, fault):
            tried += 1
            codes = {one.code for one in check("\n".join([lines[0], json.dumps(request)]), form=form).findings}
            assert codes & {f"thought.{'order' if fault == 'moved' else fault}"}
    assert tried > 0


def _spoil(form: Form, request: dict[str, Any], fault: str) -> bool:
    said = request["messages"][1]["content"] if form == "anthropic" else request["input"]
    thought = next(one for one in said if one["type" if "type" in one else "role"] in ("thinking", "reasoning"))
    match fault:
        case "dropped":
            said.remove(thought)
        case "moved":
            said.remove(thought)
            said.insert(len(said) if form == "anthropic" else len(said) - 1, thought)
        case "changed" if form == "anthropic":
            thought["thinking"] += " And more."
        case "unsigned" if form == "anthropic":
            del thought["signature"]
        case _:
            return False
    return True
