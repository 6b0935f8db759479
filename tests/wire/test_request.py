"""Heads of requests: declarations, choice, caching, answers and settings, as the SDKs' own types take them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import message_create_params as anthropic_params
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params

from remit.errors import InputError
from remit.types.ident import Wording
from remit.types.model import Declaration, HeadSpec, ProtocolName, Reading, ResultText, Wire
from remit.types.outcome import Attachment
from remit.types.part import File, Image, Text
from remit.wire import wire_for
from wire.corpus import accept, no_mint

PARAMS: dict[ProtocolName, Any] = {
    "anthropic": anthropic_params.MessageCreateParamsNonStreaming,
    "openai-chat": chat_params.CompletionCreateParamsNonStreaming,
    "openai-responses": responses_params.ResponseCreateParamsNonStreaming,
}
PNG = b"\x89PNG"
PDF = b"%PDF-1.7"
ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {"total": {"type": "integer", "minimum": 0}, "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
    "required": ["total", "note"],
}

every = pytest.mark.parametrize("protocol", PARAMS)


def spec(**changes: Any) -> HeadSpec:
    tools = (
        Declaration(name="files.read", description="Read.", schema={"type": "object", "properties": {"p": {"type": "string"}}}),
        Declaration(name="send", description="Send.", schema={"properties": {}}, strict=True),
    )
    return HeadSpec(**{"model": "m", "instructions": "Be brief.", "tools": tools, "max_tokens": 64, **changes})


def said(wire: Wire, text: str, calls: Any = ()) -> Wording:
    """What a model said, as it goes back."""
    return wire.read(wire.reply(text, calls), Reading(max_tokens=64, names={}, mint=no_mint)).wording


def request(protocol: ProtocolName, **changes: Any) -> dict[str, Any]:
    wire = wire_for(protocol)
    body = json.loads(wire.body(wire.head(spec(**changes)), [wire.user([Text("hi")])]))
    accept(PARAMS[protocol], body)
    return body


@every
@pytest.mark.parametrize("choice", ["auto", "none", "required", "files.read"])
@pytest.mark.parametrize("parallel", [True, False])
def test_requests_are_what_the_sdk_takes(protocol: ProtocolName, choice: str, parallel: bool) -> None:
    body = request(protocol, tool_choice=choice, parallel=parallel, answer_schema=ANSWER, settings={"temperature": 0.5})
    assert body["temperature"] == 0.5
    assert len(body["tools"]) == 2
    if protocol == "anthropic":
        said = body.get("tool_choice", {}).get("disable_parallel_tool_use", False)
        assert said == (not parallel and choice != "none")
    else:
        assert body.get("parallel_tool_calls", True) == parallel


def test_the_parallel_switch_and_tool_choice_are_left_out_where_there_are_no_tools() -> None:
    for protocol in PARAMS:
        body = request(protocol, tools=(), parallel=False)
        assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)


def test_a_named_choice_is_the_wire_name() -> None:
    for protocol in PARAMS:
        wire = wire_for(protocol)
        (name,) = [name for name, tool in wire.names(["files.read"]).items() if tool == "files.read"]
        assert json.dumps(request(protocol, tool_choice="files.read")["tool_choice"]).count(f'"{name}"') == 1
        with pytest.raises(InputError):
            request(protocol, tool_choice="other")


def test_caching_is_on_for_anthropic_unless_it_is_turned_off() -> None:
    assert request("anthropic")["cache_control"] == {"type": "ephemeral"}
    assert request("anthropic", settings={"cache_control": None})["cache_control"] is None


def test_responses_keep_no_state_and_bring_reasoning_back() -> None:
    body = request("openai-responses", settings={"include": ["file_search_call.results"]})
    assert body["store"] is False
    assert body["include"] == ["file_search_call.results", "reasoning.encrypted_content"]
    assert "include" not in request("openai-responses", model="gpt-4o")


def test_the_answer_schema_is_closed_and_its_limits_are_said_in_words() -> None:
    sent = request("anthropic", answer_schema=ANSWER)["output_config"]["format"]["schema"]
    assert sent["additionalProperties"] is False
    assert sent["properties"]["total"] == {"type": "integer", "description": '{"minimum":0}'}
    assert request("openai-chat", answer_schema=ANSWER)["response_format"]["json_schema"]["strict"] is True
    loose = {**ANSWER, "required": ["total"]}
    assert request("openai-responses", answer_schema=loose)["text"]["format"]["strict"] is False
    assert "output_config" not in request("anthropic", answer_schema={"type": "array"})


def test_settings_stand_beside_the_answer_format() -> None:
    body = request("openai-responses", answer_schema=ANSWER, settings={"text": {"verbosity": "low"}})
    assert body["text"]["verbosity"] == "low"
    assert body["text"]["format"]["type"] == "json_schema"
    effort = request("anthropic", answer_schema=ANSWER, settings={"output_config": {"effort": "low"}})
    assert set(effort["output_config"]) == {"effort", "format"}


REFUSED: list[tuple[ProtocolName, dict[str, Any]]] = [
    *[(protocol, {name: value}) for protocol in PARAMS for name, value in {"stream": True, "model": "x", "tools": []}.items()],
    *[(protocol, {"stream": False}) for protocol in PARAMS],
    ("openai-chat", {"stream_options": {}}),
    ("openai-responses", {"stream_options": {}}),
    ("anthropic", {"messages": []}),
    ("anthropic", {"system": "obey"}),
    ("anthropic", {"max_tokens": 65}),
    ("anthropic", {"max_tokens": True}),
    ("openai-chat", {"n": 2}),
    ("openai-chat", {"n": True}),
    ("openai-chat", {"functions": []}),
    ("openai-chat", {"store": True}),
    ("openai-chat", {"web_search_options": {}}),
    ("openai-chat", {"max_tokens": 65}),
    ("openai-responses", {"previous_response_id": "r"}),
    ("openai-responses", {"conversation": "c"}),
    ("openai-responses", {"store": True}),
    ("openai-responses", {"background": True}),
    ("openai-responses", {"truncation": "auto"}),
    ("openai-responses", {"instructions": "obey"}),
    ("openai-responses", {"input": []}),
]


@pytest.mark.parametrize(("protocol", "settings"), REFUSED)
def test_settings_that_would_break_the_journal_are_refused(protocol: ProtocolName, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        wire_for(protocol).head(spec(settings=settings))
    assert caught.value.code == "settings.refused"
    assert next(iter(settings)) in str(caught.value)


def test_settings_that_say_what_is_done_anyway_pass() -> None:
    assert request("openai-chat", settings={"n": 1, "store": False})["n"] == 1
    assert request("openai-responses", settings={"store": False, "truncation": "disabled"})["truncation"] == "disabled"


def test_the_older_spelling_of_the_cap_can_be_chosen_for_compatible_servers() -> None:
    body = request("openai-chat", settings={"max_tokens": 64})
    assert body["max_tokens"] == 64
    assert "max_completion_tokens" not in body


HERE: list[tuple[ProtocolName, dict[str, Any]]] = [
    ("anthropic", {"type": "bash_20250124", "name": "bash"}),
    ("anthropic", {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}),
    ("anthropic", {"type": "memory_20250818", "name": "memory"}),
    ("anthropic", {"type": "computer_toolset_20260801"}),
    ("anthropic", {"type": "browser_toolset_20260801"}),
    ("anthropic", {"type": "custom", "name": "f", "input_schema": {}}),
    ("anthropic", {"name": "no_type", "input_schema": {}}),
    ("openai-chat", {"type": "function", "function": {"name": "f"}}),
    ("openai-chat", {"type": "custom", "custom": {"name": "f"}}),
    ("openai-chat", {"function": {"name": "f"}}),
    ("openai-responses", {"type": "function", "name": "f"}),
    ("openai-responses", {"type": "namespace", "name": "n", "tools": []}),
    ("openai-responses", {"type": "local_shell"}),
    ("openai-responses", {"type": "shell"}),
    ("openai-responses", {"type": "shell", "environment": {"type": "local"}}),
    ("openai-responses", {"type": "apply_patch"}),
    ("openai-responses", {"type": "computer"}),
    ("openai-responses", {"type": "tool_search", "execution": "client"}),
    ("openai-responses", {"type": "mcp", "server_label": "s", "server_url": "https://s"}),
]


@pytest.mark.parametrize(("protocol", "tool"), HERE)
def test_tools_that_the_provider_does_not_run_itself_are_refused_as_server_tools(
    protocol: ProtocolName, tool: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        wire_for(protocol).head(spec(server_tools=(tool,)))


THERE: list[tuple[ProtocolName, dict[str, Any]]] = [
    ("anthropic", {"type": "web_search_20260318", "name": "web_search", "max_uses": 3}),
    ("anthropic", {"type": "web_fetch_20260318", "name": "web_fetch", "max_uses": 3}),
    ("anthropic", {"type": "code_execution_20260521", "name": "code_execution"}),
    ("anthropic", {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}),
    ("openai-responses", {"type": "mcp", "server_label": "s", "server_url": "https://s", "require_approval": "never"}),
    ("openai-responses", {"type": "web_search"}),
    ("openai-responses", {"type": "file_search", "vector_store_ids": ["v"]}),
    ("openai-responses", {"type": "code_interpreter", "container": {"type": "auto"}}),
    ("openai-responses", {"type": "image_generation"}),
    ("openai-responses", {"type": "shell", "environment": {"type": "container_auto"}}),
    ("openai-responses", {"type": "tool_search", "execution": "server"}),
    ("openai-responses", {"type": "programmatic_tool_calling"}),
]


@pytest.mark.parametrize(("protocol", "tool"), THERE)
def test_provider_run_tools_are_declared_verbatim(protocol: ProtocolName, tool: dict[str, Any]) -> None:
    assert request(protocol, server_tools=(tool,))["tools"][-1] == tool


@pytest.mark.parametrize(
    ("protocol", "tool"),
    [
        ("anthropic", {"type": "mcp_toolset", "mcp_server_name": "s"}),
        ("anthropic", {"type": "advisor_20260301", "name": "advisor", "max_uses": 1}),
        ("openai-chat", {"type": "browser_search"}),
        ("openai-chat", {"type": "openrouter:web_search", "parameters": {}}),
    ],
)
def test_provider_run_tools_that_the_sdks_do_not_know_are_declared_verbatim(
    protocol: ProtocolName, tool: dict[str, Any]
) -> None:
    wire = wire_for(protocol)
    assert json.loads(wire.body(wire.head(spec(server_tools=(tool,))), []))["tools"][-1] == tool


def test_responses_count_the_uses_of_all_provider_run_tools_together() -> None:
    search, files = {"type": "web_search"}, {"type": "file_search", "vector_store_ids": ["v"]}
    body = request("openai-responses", server_tools=({**search, "max_uses": 3}, {**files, "max_uses": 2}))
    assert body["max_tool_calls"] == 5
    assert body["tools"][-2:] == [search, files]
    assert "max_tool_calls" not in request("openai-responses", server_tools=(search, files))


@pytest.mark.parametrize(
    ("protocol", "tools"),
    [
        ("openai-responses", ({"type": "web_search", "max_uses": 3}, {"type": "image_generation"})),
        ("openai-responses", ({"type": "web_search", "max_uses": 0},)),
        ("openai-responses", ({"type": "web_search", "max_uses": True},)),
        ("anthropic", ({"type": "code_execution_20260521", "name": "code_execution", "max_uses": 3},)),
    ],
)
def test_a_bound_that_would_not_hold_is_refused(protocol: ProtocolName, tools: Any) -> None:
    with pytest.raises(InputError) as caught:
        wire_for(protocol).head(spec(server_tools=tools))
    assert caught.value.code == "server_tool.max_uses"


@every
def test_a_stream_is_asked_for_with_its_usage_and_the_rest_stays(protocol: ProtocolName) -> None:
    wire = wire_for(protocol)
    for head in (wire.head(spec()), wire.head(spec(instructions=""))):
        for messages in ([wire.user([Text("hi")])], []):
            plain, streamed = (json.loads(wire.body(head, messages, stream=stream)) for stream in (False, True))
            asked = {"stream": True}
            if protocol == "openai-chat":
                asked["stream_options"] = {"include_usage": True}  # type: ignore[assignment]
            assert streamed == {**plain, **asked}
            assert "stream" not in plain


@every
def test_a_head_for_another_model_differs_in_the_name_alone(protocol: ProtocolName) -> None:
    wire = wire_for(protocol)
    head = wire.head(spec(model='gpt-5 "a"', instructions='"model":"x"', settings={"metadata": {"model": "y"}}))
    other = wire.head_for(head, "gpt-5-é")
    assert other != head
    assert {**json.loads(wire.body(head, [])), "model": "gpt-5-é"} == json.loads(wire.body(other, []))
    assert wire.head_for(other, 'gpt-5 "a"') == head


@every
def test_messages_carry_text_images_and_files(protocol: ProtocolName) -> None:
    wire = wire_for(protocol)
    parts = [
        Text("look"),
        Text(" "),
        Image(PNG, "image/png"),
        File(PDF, "application/pdf", name="a.pdf"),
        File(b"x,y", "text/csv"),
    ]
    body = json.loads(wire.body(wire.head(spec()), [wire.user(parts)]))
    accept(PARAMS[protocol], body)
    said = json.dumps(body)
    assert "iVBORw==" in said
    assert "x,y" in said
    assert "JVBERi0xLjc=" in said


@every
@pytest.mark.parametrize(
    "parts", [[], [Text(" \n")], [Image(b"", "image/png")], [Image(b"x", "image/tiff")], [File(b"\xff", "text/plain")]]
)
def test_messages_that_providers_refuse_are_refused_here(protocol: ProtocolName, parts: list[Any]) -> None:
    with pytest.raises(InputError):
        wire_for(protocol).user(parts)


@every
def test_answers_follow_the_calls_with_their_attachments(protocol: ProtocolName) -> None:
    wire = wire_for(protocol)
    asked = said(wire, "", [("a", "files.read", '{"p":1}'), ("b", "send", "{}"), ("c", "send", "{}")])
    picture = (Attachment("d" * 64, "image/png", "p.png"), PNG)
    other = (Attachment("e" * 64, "application/zip", "z.zip"), b"zip")
    answers = [
        ResultText(wire_id="a", name="files.read", text="seen", attachments=(picture, other)),
        ResultText(wire_id="b", name="send", text="refused", error=True, attachments=(picture,)),
        ResultText(wire_id="c", name="send", text=""),
    ]
    body = json.loads(wire.body(wire.head(spec()), [wire.user([Text("go")]), asked, wire.results(answers)]))
    accept(PARAMS[protocol], body)
    wire.load(body.get("messages", body.get("input"))[1 if protocol == "openai-chat" else 0 :])
    assert "[z.zip: application/zip, 3 bytes, not shown]" in json.dumps(body)
    assert json.dumps(body).count("iVBORw==") == (0 if protocol == "openai-chat" else 1)
    if protocol == "anthropic":
        results = body["messages"][-1]["content"]
        assert [one.get("is_error", False) for one in results] == [False, True, False]
        assert all(one["content"] for one in results)
    if protocol == "openai-chat":
        assert [one["role"] for one in body["messages"]] == ["system", "user", "assistant", "tool", "tool", "tool"]


@every
def test_empty_wordings_are_left_out_of_the_body(protocol: ProtocolName) -> None:
    wire = wire_for(protocol)
    one, other = wire.user([Text("one")]), wire.user([Text("two")])
    head = wire.head(spec(instructions=""))
    empty = said(wire, "")
    assert empty == ""
    assert wire.body(head, [one, empty, other]) == wire.body(head, [one, other])
    assert json.loads(wire.body(head, [])).get("messages", []) == []


def test_the_sdk_types_do_refuse_what_is_wrong() -> None:
    wire = wire_for("anthropic")
    body = json.loads(wire.body(wire.head(spec()), [wire.user([Text("hi")])]))
    body["messages"][0]["content"] = [{"type": "text"}]
    with pytest.raises(Exception, match="validation error"):
        accept(PARAMS["anthropic"], body)
