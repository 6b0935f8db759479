from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from check.corpus import FILES, ROOT, WHY, requests, text_of
from check.test_source import ANTHROPIC, CHAT, OLD, RESPONSES
from remit.check import Document, Form, check, convert, documents, neutral, read
from remit.testing.provider import RULES
from remit.testing.provider.asked import Asked
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import first_broken
from remit.types.model import ProtocolName

EVERY: tuple[Form, ...] = get_args(ProtocolName)
SAME: dict[Form, list[Any]] = {"anthropic": ANTHROPIC, "openai-chat": CHAT, "openai-responses": RESPONSES}


def _one(value: Any, form: Form | None = None) -> Document:
    return documents(value if isinstance(value, str) else json.dumps(value), form=form)[0]


def _neutral(document: Document) -> Any:
    transcript = read(document)
    return transcript and neutral(transcript)


@pytest.mark.parametrize("to", EVERY)
@pytest.mark.parametrize("form", EVERY)
def test_a_round_of_calls_goes_over_whole(form: Form, to: Form) -> None:
    source = _one(SAME[form])
    made = convert(source, to)
    assert made is not None
    assert made.losses == ()
    assert _neutral(_one(made.text)) == _neutral(source)


def test_arguments_go_over_as_they_were_written() -> None:
    odd = '{ "n": 1e2, "big": 123456789012345678901234567890 ,"s":"\\u00e9"}'
    source = json.loads(json.dumps(CHAT))
    source[1]["tool_calls"][0]["function"]["arguments"] = odd
    made = convert(_one(source), "anthropic")
    assert made is not None
    assert odd in made.text
    back = convert(_one(made.text), "openai-chat")
    assert back is not None
    assert json.loads(back.text)[1]["tool_calls"][0]["function"]["arguments"] == odd


def test_a_document_that_is_in_the_protocol_already_stays_byte_for_byte() -> None:
    text = json.dumps(CHAT, indent=7)
    made = convert(_one(text), "openai-chat")
    assert made is not None
    assert made.text == text


def test_the_old_form_gets_ids_and_says_so() -> None:
    made = convert(_one(OLD), "anthropic")
    assert made is not None
    assert {one.what for one in made.losses} == {"id", "function_call"}
    blocks = json.loads(made.text)
    assert blocks[1]["content"][0]["id"] == blocks[2]["content"][0]["tool_use_id"] != ""


@pytest.mark.parametrize(
    ("block", "what"),
    [
        ({"type": "thinking", "thinking": "a", "signature": "b"}, "thought"),
        ({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, "cache_control"),
        ({"type": "server_tool_use", "id": "a", "name": "web_search", "input": {}}, "server_tool_use"),
    ],
)
def test_what_only_one_provider_has_is_named(block: dict[str, Any], what: str) -> None:
    source = json.loads(json.dumps(ANTHROPIC))
    source[1]["content"].insert(0, block)
    made = convert(_one(source), "openai-chat")
    assert made is not None
    assert [(one.place, one.what) for one in made.losses] == [("/1/content/0", what)]


@pytest.mark.parametrize(("arguments", "kept"), [("{", "{"), ("[1]", "[1]"), ('"x"', '"x"')])
def test_arguments_that_are_no_object_are_kept_and_named(arguments: str, kept: str) -> None:
    source = json.loads(json.dumps(CHAT))
    source[1]["tool_calls"][0]["function"]["arguments"] = arguments
    made = convert(_one(source), "anthropic")
    assert made is not None
    assert json.loads(made.text)[1]["content"][0]["input"] == {"arguments": kept}
    assert [one.what for one in made.losses] == ["arguments"]


def test_settings_and_tools_that_all_have_go_over() -> None:
    tool = {"name": "look", "description": "Look.", "input_schema": {"type": "object", "properties": {}}}
    source = {
        "model": "claude-opus-4-5",
        "max_tokens": 100,
        "temperature": 0.5,
        "system": "Be brief.",
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "tools": [tool],
        "messages": ANTHROPIC,
    }
    chat, responses = convert(_one(source), "openai-chat"), convert(_one(source), "openai-responses")
    assert chat is not None
    assert responses is not None
    assert [one.what for one in (*chat.losses, *responses.losses)] == ["model", "model"]
    said = json.loads(chat.text)
    assert (said["max_completion_tokens"], said["tool_choice"], said["parallel_tool_calls"]) == (100, "required", False)
    assert json.loads(responses.text)["max_output_tokens"] == 100
    back = convert(_one(chat.text), "anthropic")
    assert back is not None
    assert json.loads(back.text) == source


@pytest.mark.skipif(ROOT is None, reason=WHY)
@pytest.mark.parametrize("to", EVERY)
@pytest.mark.parametrize("file", FILES)
def test_every_exchange_says_the_same_in_every_protocol_or_the_loss_is_named(file: str, to: Form) -> None:
    for source in documents(text_of(file)):
        made = convert(source, to)
        assert (made is None) == (read(source) is None)
        if made is None or source.form == to:
            continue
        target = _one(made.text, to)
        assert _neutral(target) == _neutral(source) or [one for one in made.losses if one.what != "model"]
        assert source.form is not None
        back = convert(target, source.form)
        assert back is not None
        assert _neutral(_one(back.text, source.form)) == _neutral(target)


@pytest.mark.skipif(ROOT is None, reason=WHY)
@pytest.mark.parametrize("to", EVERY)
def test_what_a_real_request_is_converted_to_is_taken_by_the_fake_provider(to: Form) -> None:
    for _, request in requests():
        if {"previous_response_id", "conversation"} & {*request}:
            continue
        made = convert(_one(request), to)
        assert made is not None
        named = {**json.loads(made.text), "model": "claude-haiku-4-5" if to == "anthropic" else "gpt-5"}
        named.setdefault("max_tokens", 100) if to == "anthropic" else None
        assert [one.code for one in check(made.text, form=to).findings if one.severity == "error"] == []
        assert first_broken(RULES[to], Asked(to, json.dumps(named).encode(), Memory())) is None


def test_of_several_requests_in_an_array_each_is_its_own_part() -> None:
    requests = [{"model": "gpt-5", "messages": [{"role": "user", "content": one}]} for one in ("a", "b")]
    found = documents(json.dumps(requests, indent=2))
    made = [convert(one, "openai-chat", line=True) for one in found]
    assert [json.loads(one.text) for one in made if one] == requests
    assert all("\n" not in one.text for one in made if one)
