"""Chat streams of the API and of compatible servers: two calls never become one, and what is unclear is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.errors import ProtocolError
from remit.types.model import Piece, Reply
from remit.wire import wire_for
from wire.streams import events, gathered, read

DONE = "[DONE]"
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def chunk(delta: Any = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {} if delta is None else delta, "logprobs": None, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 5, "model": "gpt", "choices": [choice], **more}


def counted(**more: Any) -> dict[str, Any]:
    return {**chunk(), "choices": [], "usage": USAGE, **more}


def called(*fragments: Any, **more: Any) -> dict[str, Any]:
    return chunk({"tool_calls": list(fragments)}, **more)


def part(index: Any = 0, wire_id: Any = None, name: Any = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """A fragment of a call with the members that are given; `...` leaves out the index."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    members = {"index": index, "id": wire_id, "function": function, **more}
    return {key: value for key, value in members.items() if value is not None and value is not ...}


def body(*data: Any) -> dict[str, Any]:
    return json.loads(gathered("openai-chat", events(*data, DONE).encode())[0])


def message(*data: Any) -> dict[str, Any]:
    return body(*data)["choices"][0]["message"]


def reply(*data: Any, finish: str = "tool_calls") -> Reply:
    raw, _ = gathered("openai-chat", events(*data, chunk(finish=finish), counted(), DONE).encode())
    return read("openai-chat", raw)


def calls(*data: Any) -> list[tuple[str, str, str]]:
    return [(call.wire_id, call.name, call.arguments) for call in reply(*data).calls]


def refused(*data: Any) -> None:
    gather = wire_for("openai-chat").gather({})
    with pytest.raises(ProtocolError) as caught:
        gather.feed(events(*data, chunk(finish="tool_calls"), DONE).encode())
    assert "secret" not in str(caught.value)
    with pytest.raises(ProtocolError):
        gather.body()


def test_a_completion_is_put_together() -> None:
    first = chunk({"role": "assistant", "content": "", "refusal": None}, service_tier="default", obfuscation="xyz")
    assert body(first, chunk({"content": "Hel"}), chunk({"content": "lo"}), chunk(finish="stop"), counted()) == {
        "id": "c1",
        "created": 5,
        "model": "gpt",
        "service_tier": "default",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": USAGE,
    }


def test_fragments_are_joined_by_index() -> None:
    assert calls(
        called(part(0, "a", "f", ""), part(1, "b", "g", "")),
        called(part(1, arguments='{"y":')),
        called(part(0, arguments='{"x":'), part(1, arguments="2}")),
        called(part(0, arguments="1}")),
    ) == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_two_ids_on_one_index_are_two_calls() -> None:
    assert calls(called(part(0, "a", "f", '{"x":1}')), called(part(0, "b", "f", '{"x":2}'))) == [
        ("a", "f", '{"x":1}'),
        ("b", "f", '{"x":2}'),
    ]
    in_pieces = [part(0, "a", "f", '{"x":'), part(0, arguments="1}"), part(0, "b", "f", '{"x":'), part(0, arguments="2}")]
    assert calls(*map(called, in_pieces)) == [("a", "f", '{"x":1}'), ("b", "f", '{"x":2}')]


def test_fragments_that_name_their_call_may_alternate_on_one_index() -> None:
    parts = [part(0, "a", "f", '{"x"'), part(0, "b", "g", '{"y"'), part(0, "a", arguments=":1}"), part(0, "b", arguments=":2}")]
    assert calls(*map(called, parts)) == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_a_fragment_that_could_belong_to_either_of_two_calls_is_refused() -> None:
    refused(called(part(0, "a", "f", "")), called(part(0, "b", "g", "")), called(part(0, arguments='{"y":2}')))
    refused(called(part(0, "a", "f", '{"x":')), called(part(0, "b", "g", "")), called(part(0, arguments="2}")))


def test_two_calls_without_ids_on_one_index_are_two_where_the_first_is_whole() -> None:
    found = reply(called(part(0, name="f", arguments='{"x":1}')), called(part(0, name="f", arguments='{"x":2}')))
    assert [call.arguments for call in found.calls] == ['{"x":1}', '{"x":2}']
    assert [mend.kind for mend in found.mends] == ["id.missing", "id.missing"]


def test_a_name_in_the_middle_of_a_call_is_refused() -> None:
    refused(called(part(0, "a", "get_")), called(part(0, name="secret")))
    refused(called(part(0, "a", "f", '{"x":')), called(part(0, name="g", arguments="1}")))
    refused(called(part(0, name="f", arguments="")), called(part(0, name="f", arguments="{}")))
    repeated = [part(0, "a", "f", '{"x":'), part(0, "a", "f", "1}")]
    assert calls(*map(called, repeated)) == [("a", "f", '{"x":1}')]


def test_a_call_that_is_left_unfinished_for_another_one_under_its_index_is_refused() -> None:
    """As where a server makes up a new id for every fragment."""
    raw = events(*(called(part(0, f"{n}", "f", text)) for n, text in enumerate(("", '{"x"', ":1}"))), DONE)
    gather = wire_for("openai-chat").gather({})
    gather.feed(raw.encode())
    with pytest.raises(ProtocolError):
        gather.body()


def test_arguments_glued_together_are_never_one_call_that_can_run() -> None:
    (found,) = calls(called(part(0, "a", "f", '{"x":1}')), called(part(0, arguments='{"x":2}')))
    assert found == ("a", "f", '{"x":1}{"x":2}')
    with pytest.raises(json.JSONDecodeError):
        json.loads(found[2])


def test_calls_without_index_are_one_for_each_name() -> None:
    """Ollama before 0.4.7, Mistral, Gemini."""
    found = calls(called(part(..., "a", "f", '{"x":1}'), part(..., "b", "f", '{"x":2}')), called(part(..., "", "g", "{}")))
    assert [call[1:] for call in found] == [("f", '{"x":1}'), ("f", '{"x":2}'), ("g", "{}")]
    assert calls(called(part(..., "a", "f", '{"x"')), called(part(..., arguments=":1}"))) == [("a", "f", '{"x":1}')]
    assert calls(called(part(0, "a", "f", '{"x"')), called(part(..., "a", arguments=":1}"))) == [("a", "f", '{"x":1}')]
    refused(called(part(..., arguments="{}")))


def test_an_id_may_come_late_or_be_empty() -> None:
    assert calls(called(part(0, "", "f", "{")), called(part(0, "late", arguments="}"))) == [("late", "f", "{}")]
    assert calls(called(part(0, "a", "f", "{")), called(part(0, "", "", "}"))) == [("a", "f", "{}")]
    assert reply(called(part(0, 7, "f", "{}"))).calls[0].wire_id == "minted_0"
    found = reply(called(part(0, "", "f", "{}")))
    assert [call.wire_id for call in found.calls] == ["minted_0"]
    assert json.loads(found.wording)["tool_calls"][0]["id"] == "minted_0"


@pytest.mark.parametrize("index", ["0", 0.5, True])
def test_an_index_that_is_no_number_is_refused(index: Any) -> None:
    refused(called(part(index, "a", "f", "{}")))


@pytest.mark.parametrize(
    ("given", "read_as"),
    [({"x": 1}, '{"x": 1}'), ("", "{}"), (None, "{}"), ([], "[]"), (3, "3"), ('{"a":1,', '{"a":1,')],
)
def test_arguments_come_as_text_or_as_what_they_mean(given: Any, read_as: str) -> None:
    fragment = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": given}}
    assert calls(called(fragment)) == [("a", "f", read_as)]


def test_numbers_of_arguments_that_are_an_object_are_not_rounded() -> None:
    raw = events(called(part(0, "a", "f", {"n": "N"})), chunk(finish="stop"), DONE).replace('"N"', "12345678901234567890.10")
    assert read("openai-chat", gathered("openai-chat", raw.encode())[0]).calls[0].arguments == '{"n": 12345678901234567890.10}'


def test_what_a_server_adds_to_a_call_goes_back() -> None:
    signed = {"google": {"thought_signature": "s"}}
    (found,) = message(called(part(0, "a", "f", "{}", type="function", extra_content=signed)), chunk(finish="stop"))[
        "tool_calls"
    ]
    assert found["extra_content"] == signed
    assert found["type"] == "function"
    assert "index" not in found


def test_a_custom_tools_input_is_text() -> None:
    custom = [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "sel"}}]
    more = {"index": 0, "custom": {"input": "ect"}}
    found = reply(called(*custom), called(more))
    assert [(call.name, call.arguments) for call in found.calls] == [("custom:sql", '"select"')]
    assert json.loads(found.wording)["tool_calls"] == [
        {"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select"}}
    ]


def test_a_call_that_stands_alone_in_place_of_a_list_is_read() -> None:
    """Text Generation Inference."""
    first = chunk({"role": "assistant", "tool_calls": {"index": 0, "id": "", "function": {"name": "f", "arguments": "{"}}})
    more = chunk({"tool_calls": {"index": 0, "id": "", "function": {"name": None, "arguments": "}"}}})
    assert [call[1:] for call in calls(first, more)] == [("f", "{}")]


def test_the_form_before_tools_is_kept_and_runs_nothing() -> None:
    parts = [{"name": "send", "arguments": ""}, {"arguments": '{"a"'}, {"arguments": ":1}"}]
    found = reply(*(chunk({"function_call": one}) for one in parts), finish="function_call")
    assert (found.stop, found.calls) == ("unknown", ())
    assert json.loads(found.wording)["function_call"] == {"name": "send", "arguments": '{"a":1}'}


def test_reasoning_refusals_and_unknown_members_are_kept() -> None:
    details = [{"type": "reasoning.text", "text": "2"}]
    deltas = [
        {"role": "", "content": None, "reasoning_content": "2 and", "tool_calls": None, "function_call": None},
        {"reasoning_content": " 2", "reasoning_details": details, "vendor": {"n": 1}, "index": 0},
        {"refusal": "I will"},
        {"refusal": " not", "reasoning_details": details, "vendor": {"n": 2}},
    ]
    assert message(*map(chunk, deltas), chunk(finish="stop")) == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "2 and 2",
        "reasoning_details": [*details, *details],
        "vendor": {"n": 2},
        "refusal": "I will not",
    }


def test_content_in_parts_becomes_one_list() -> None:
    """Mistral's models that think."""
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    data = [chunk({"content": thinking}), chunk({"content": "4"}), chunk({"content": [{"type": "text", "text": "!"}]})]
    assert message(*data, chunk(finish="stop"))["content"] == [
        *thinking,
        {"type": "text", "text": "4"},
        {"type": "text", "text": "!"},
    ]
    assert reply(*data, finish="stop").text == "4!"


def test_counts_may_come_alone_with_every_chunk_or_never() -> None:
    often = [chunk({"content": "a"}, usage={"prompt_tokens": 7, "completion_tokens": n}) for n in (1, 2)]
    assert reply(*often, finish="stop").usage.output_tokens == 3
    timed = {**chunk(finish="stop"), "usage": USAGE, "timings": {"predicted_ms": 3.5}}
    found = body(chunk({"content": "a"}), timed)
    assert (found["usage"], found["timings"]) == (USAGE, {"predicted_ms": 3.5})
    assert body(chunk({"content": "a"}), chunk(finish="stop", usage=None))["usage"] is None


def test_pieces_are_heard_as_they_come_under_our_names() -> None:
    gather = wire_for("openai-chat").gather({"send": "mail.send"})
    data = [
        chunk({"role": "assistant", "reasoning": "h", "reasoning_content": "h"}),
        chunk({"content": ""}),
        chunk({"content": "Let"}),
        called(part(0, "a")),
        called(part(0, name="send", arguments="{")),
        called(part(0, arguments="}")),
        called(part(1, "b", "other", "{}")),
    ]
    assert [piece for one in data for piece in gather.feed(events(one).encode())] == [
        Piece("reasoning", "h"),
        Piece("text", "Let"),
        Piece("call", "mail.send"),
        Piece("call", "other"),
    ]


@pytest.mark.parametrize("end", ["data: [DONE]\n\n", "data: [DONE]\n", "data: [DONE]", "data:[DONE]", ""])
def test_a_finish_reason_and_a_clean_end_are_enough(end: str) -> None:
    raw = events(called(part(0, "a", "f", "{}")), chunk(finish="tool_calls"), counted()) + end
    assert read("openai-chat", gathered("openai-chat", raw.encode())[0]).stop == "calls"


@pytest.mark.parametrize(
    "raw",
    [
        "",
        events(chunk({"content": "a"})),
        events(called(part(0, "a", "f", "{}"))),
        events(chunk({"content": "a"}), chunk(finish="")),
        events(chunk(finish="stop")) + "data: {",
        events(chunk(finish="stop")) + "data: [DON",
        events(chunk(finish="stop"), called(part(0, "a", "f", ""))),
        "data: [DONE]",
    ],
)
def test_everything_else_is_cut(raw: str) -> None:
    gather = wire_for("openai-chat").gather({})
    gather.feed(raw.encode())
    with pytest.raises(ProtocolError) as caught:
        gather.body()
    assert caught.value.code == "stream.cut"


def test_done_without_a_finish_reason_is_whole_and_runs_nothing() -> None:
    raw, _ = gathered("openai-chat", events(called(part(0, "a", "f", "{}")), DONE).encode())
    assert read("openai-chat", raw).stop == "unknown"


@pytest.mark.parametrize(
    "data",
    [
        [{**chunk(), "choices": [{"index": 1, "delta": {"content": "x"}}]}],
        [{**chunk(), "choices": [{"index": 0, "delta": {}}, {"index": 1, "delta": {}}]}],
        [chunk(finish="stop"), chunk(finish="length")],
        [{"choices": "secret"}],
        ["secret{"],
        [DONE],
    ],
)
def test_what_is_not_one_reply_is_refused(data: list[Any]) -> None:
    refused(*data)


@pytest.mark.parametrize(
    "error",
    [{"error": {"message": "busy", "code": 503}}, {"error": "busy"}, {"object": "error", "message": "busy", "code": 400}],
)
def test_an_error_inside_the_stream_is_the_providers_body(error: dict[str, Any]) -> None:
    gather = wire_for("openai-chat").gather({})
    gather.feed(events(chunk({"content": "a"}), error, DONE).encode())
    assert json.loads(gather.error or b"") == error
    with pytest.raises(ProtocolError):
        gather.body()
