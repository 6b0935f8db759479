from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.check import check, documents, mend, read

CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
CHAT = [
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "seen"},
]
OLD = [
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
    {"role": "function", "name": "look", "content": "seen"},
]
ANTHROPIC = [
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1.0}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "seen"}]},
]
RESPONSES = [
    {"role": "user", "content": "Look."},
    {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"a": 1}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
]
FORMS = [(CHAT, "openai-chat"), (OLD, "openai-chat"), (ANTHROPIC, "anthropic"), (RESPONSES, "openai-responses")]


@pytest.mark.parametrize(("messages", "form"), FORMS)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_messages_is_recognized(messages: list[object], form: str, indent: int | None) -> None:
    (one,) = documents(json.dumps(messages, indent=indent))
    assert (one.form, one.what) == (form, "messages")
    assert check(json.dumps(messages, indent=indent)).findings == ()


@pytest.mark.parametrize(("messages", "form"), FORMS)
def test_a_message_a_line_is_one_transcript(messages: list[object], form: str) -> None:
    text = "\n".join(json.dumps(one) for one in messages) + "\n"
    (one,) = documents(text)
    assert (one.form, one.layout) == (form, "lines")
    assert mend(text).text == text


def test_a_message_a_line_is_mended_line_by_line() -> None:
    lines = [json.dumps(one) for one in CHAT[:2]] + [json.dumps({"role": "user", "content": "Well?"})]
    mended = mend("\n".join(lines) + "\n").text.splitlines()
    assert [mended[0], mended[1], mended[3]] == lines
    assert "unknown" in json.loads(mended[2])["content"]


def test_the_forms_say_the_same_of_the_same_conversation() -> None:
    said = [read(documents(json.dumps(one))[0]) for one in (CHAT, ANTHROPIC, RESPONSES)]
    assert all(one is not None for one in said)
    names = {tuple((call.name, call.asked) for call in one.calls) for one in said if one is not None}
    assert names == {(("look", '{"a":1}'),)}


def test_arguments_are_the_text_that_was_sent() -> None:
    text = json.dumps(ANTHROPIC).replace('{"a": 1.0}', '{ "a" : 1.00 }')
    transcript = read(documents(text)[0])
    assert transcript is not None
    assert transcript.calls[0].arguments == '{ "a" : 1.00 }'


def test_the_chunks_of_a_stream_are_the_response_that_they_make() -> None:
    chunks = [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "He"}}]},
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "llo"}, "finish_reason": "stop"}]},
    ]
    as_lines = "\n".join(json.dumps(one) for one in chunks)
    as_events = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
    for text in (json.dumps(chunks), as_lines, as_events):
        (one,) = documents(text)
        transcript = read(one)
        assert (one.form, one.what) == ("openai-chat", "stream")
        assert transcript is not None
        assert transcript.messages[0].text == "Hello"


def test_a_named_form_goes_before_what_it_looks_like() -> None:
    (one,) = documents(json.dumps([{"role": "user", "content": "Hello"}]), form="anthropic")
    assert one.form == "anthropic"


KEYS = (
    *("role", "content", "type", "id", "name", "input", "arguments", "function", "tool_calls", "tool_use_id", "call_id"),
    *("tool_call_id", "output", "messages", "request", "response", "tools", "model", "choices", "message", "delta"),
    *("thinking", "signature", "function_call", "system"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS) | st.text(max_size=3),
            inner
            | st.sampled_from(["user", "assistant", "tool", "tool_use", "tool_result", "function_call", "message", "text"]),
            max_size=6,
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_whatever_the_json_is_it_is_checked_and_mended_without_an_error(value: object) -> None:
    text = json.dumps(value)
    check(text)
    for form in ("anthropic", "openai-chat", "openai-responses"):
        check(text, form=form)
        json.loads(mend(text, form=form).text)


@given(st.text())
def test_whatever_the_text_is_it_is_checked_and_stays(text: str) -> None:
    check(text)
    mend(text)


@pytest.mark.parametrize(
    "text", ["", " ", "\ufeff", "{", "[1, 2", "nonsense", "[" * 5_000, "1" * 5_000, "null", "data: x\n\n", "{}\n{"]
)
def test_what_is_no_transcript_is_said_to_be_none(text: str) -> None:
    assert {one.code for one in check(text).findings} <= {"source.not_json", "source.unknown"}
    assert check(text).findings != ()
    assert mend(text).text == text


def test_tools_that_the_provider_runs_tell_whose_protocol_it_is() -> None:
    used = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "look", "server_name": "s", "input": {}}
    (one,) = documents(json.dumps([{"role": "user", "content": "Go."}, {"role": "assistant", "content": [used]}]))
    assert one.name == "anthropic messages"
    listed = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []}
    asked = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "look", "server_label": "s", "arguments": "{}"}
    (other,) = documents(json.dumps([{"role": "user", "content": "Go."}, listed, asked]))
    assert other.name == "openai-responses messages"
