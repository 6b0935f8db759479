from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from remit.check import check, mend
from remit.errors import ModelError
from remit.gate.render import render
from remit.testing import FakeProvider
from remit.types.outcome import Unknown

ASK = {"role": "user", "content": "What is the weather?"}
TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]
FUNCTIONS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def _anthropic(*messages: Any) -> str:
    return json.dumps({"model": "claude-opus-4-5", "max_tokens": 100, "tools": TOOLS, "messages": [ASK, *messages]}, indent=2)


def _use(one: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": one, "name": "look", "input": {}, **more}


def _answer(one: str, text: str = "20 degrees") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": one, "content": text}


PARALLEL = [
    {"role": "assistant", "content": [_use("a"), _use("b")]},
    {"role": "user", "content": [_answer("a"), _answer("b")]},
]


def test_a_call_without_a_result_is_answered_as_unknown_in_the_words_of_a_run() -> None:
    text = _anthropic({"role": "assistant", "content": [_use("a"), _use("b")]}, {"role": "user", "content": [_answer("b")]})
    blocks = json.loads(mend(text).text)["messages"][2]["content"]
    outcome = Unknown(code="call.without_result", message="No result of this call was kept.")
    assert blocks == [_answer("b"), {**_answer("a", render(outcome, "look").text), "is_error": True}]


@pytest.mark.parametrize("other", [" or so", ""])
def test_of_two_results_only_an_equal_one_is_left_out(other: str) -> None:
    twice = [_answer("a"), _answer("a", f"20 degrees{other}")]
    text = _anthropic({"role": "assistant", "content": [_use("a")]}, {"role": "user", "content": twice})
    mended = mend(text)
    assert (mended.text == text) == bool(other)
    assert bool([one for one in check(mended.text).findings if one.code == "result.duplicate"]) == bool(other)


def test_only_what_is_wrong_changes() -> None:
    text = _anthropic({"role": "assistant", "content": [_use("a")]}, {"role": "user", "content": [_answer("b")]})
    text = text.replace('"input": {}', '"input" : {"n":1e2,  "s":"\\u00e9"}')
    assert mend(text).text == text.replace('"tool_use_id": "b"', '"tool_use_id": "a"')


def test_valid_parallel_history_stays_byte_for_byte() -> None:
    for indent in (None, 3):
        text = json.dumps(json.loads(_anthropic(*PARALLEL)), indent=indent)
        assert check(text).findings == ()
        assert mend(text).text == text


def test_only_selected_rules_are_mended() -> None:
    text = _anthropic({"role": "assistant", "content": [_use("a")]}, {"role": "user", "content": [_answer("b")]})
    assert mend(text, codes={"tool.schema_key"}).text == text


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": [_use("a")]}, {"role": "user", "content": "And?"}],
        [{"role": "assistant", "content": [_use("a")]}],
        [{"role": "assistant", "content": [_use("a"), _use("a")]}, {"role": "user", "content": [_answer("a"), _answer("a")]}],
        [{"role": "assistant", "content": [_use("a")]}, {"role": "tool", "tool_call_id": "a", "content": "20"}],
        [{"role": "assistant", "content": [_use("")]}, {"role": "user", "content": [_answer("")]}],
        [{"role": "assistant", "content": [_use("a", input='{"x": 1}')]}, {"role": "user", "content": [_answer("a")]}],
        [{"role": "assistant", "content": [_use("a")]}, ASK, {"role": "user", "content": [_answer("a")]}],
        [{"role": "assistant", "content": [_use("a"), _answer("a")]}, {"role": "user", "content": "And?"}],
    ],
)
def test_what_was_refused_is_taken_when_it_is_mended(messages: list[Any]) -> None:
    text = _anthropic(*messages)

    async def ask() -> FakeProvider:
        async with FakeProvider(["20 degrees."] * 2) as provider:
            model = provider.model("anthropic")
            with pytest.raises(ModelError):
                await model.ask(text.encode())
            assert b"20 degrees." in await model.ask(mend(text).text.encode())
        return provider

    assert len(asyncio.run(ask()).broken) == 1


def test_what_is_no_message_shifts_nothing_and_no_message_is_lost() -> None:
    messages = [*PARALLEL, None, {"role": "assistant", "content": "20 degrees."}, {"role": "user", "content": "Thanks."}]
    assert mend(_anthropic(*messages)).text == _anthropic(*messages)
    broken = [PARALLEL[0], None, {"role": "assistant", "content": [_answer("a"), _answer("b")]}, *messages[3:]]
    mended = json.loads(mend(_anthropic(*broken)).text)["messages"]
    assert mended[1:3] == [PARALLEL[0], None]
    assert mended[-2:] == messages[3:]


def test_the_old_form_of_calls_is_given_no_ids() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    text = json.dumps([ASK, call, {"role": "function", "name": "see", "content": "20 degrees"}])
    assert mend(text).text == text
