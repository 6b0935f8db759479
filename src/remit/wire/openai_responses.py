"""The OpenAI Responses protocol: what we write.

Knows no socket and keeps no state, here or there: `store` is off and reasoning goes back encrypted. Source:
the types of the `openai` SDK 3.57. Invariant: one `function_call_output` item per call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from remit.errors import InputError
from remit.types.budget import Usage
from remit.types.ident import Json, Wording
from remit.types.model import Gather, HeadSpec, ProtocolName, Reading, Reply, ResultText, Stop
from remit.types.part import File, Image, Part, Text
from remit.types.server_tool import waits_for_approval
from remit.wire import media, openai_responses_history, openai_responses_mend, openai_responses_reply
from remit.wire.name import wire_name, wire_names, wire_names_of
from remit.wire.openai_responses_stream import OpenAIResponsesGather
from remit.wire.openai_usage import RESPONSES, written_usage
from remit.wire.request import check_server_tools, finish, join, renamed
from remit.wire.schema import answer_schema, is_strict
from remit.wire.write import quote

__all__ = ["OpenAIResponsesWire"]

_OURS = "it is set from the agent"
_STREAMED = "replies stream where somebody listens"
_STATELESS = "no state is kept at the provider"
_REFUSED = {
    "input": "the conversation is the journal's",
    "model": _OURS,
    "tools": _OURS,
    "instructions": _OURS,
    "prompt": _OURS,
    "stream": _STREAMED,
    "stream_options": _STREAMED,
    "background": "no state is kept at the provider",
    "previous_response_id": _STATELESS,
    "conversation": _STATELESS,
    "store": _STATELESS,
    "truncation": "nothing is cut silently",
}
_RUN_THERE = (
    "web_search",
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
    "shell",
    "tool_search",
    "programmatic_tool_calling",
)
_ENCRYPTED = "reasoning.encrypted_content"
_NO_REASONING = ("gpt-3", "gpt-4", "chatgpt-")
"""Models that refuse a request for encrypted reasoning, because they have none."""

_STATUS: dict[Stop, tuple[str, str | None]] = {
    "calls": ("completed", None),
    "end": ("completed", None),
    "refusal": ("completed", None),
    "length": ("incomplete", "max_output_tokens"),
    "filter": ("incomplete", "content_filter"),
    "unknown": ("cancelled", None),
}


class OpenAIResponsesWire:
    """`remit.types.model.Wire` for OpenAI Responses."""

    @property
    def protocol(self) -> ProtocolName:
        return "openai-responses"

    def names(self, tools: Sequence[str]) -> Mapping[str, str]:
        return wire_names(tools)

    def head(self, spec: HeadSpec) -> Wording:
        own: dict[str, Json] = {"model": spec.model, "max_output_tokens": spec.max_tokens, "store": False}
        if spec.instructions.strip():
            own["instructions"] = spec.instructions
        own |= _tools(spec)
        schema = answer_schema(spec.answer_schema)
        if schema is not None:
            named: Json = {"type": "json_schema", "name": "answer", "schema": schema, "strict": is_strict(schema)}
            own["text"] = {"format": named}
        return finish(own, _including(spec), refused=_REFUSED, caps=("max_output_tokens",))

    def body(self, head: Wording, messages: Sequence[Wording], *, stream: bool = False) -> bytes:
        return join(head, "input", messages, stream=stream)

    def head_for(self, head: Wording, model: str) -> Wording:
        return renamed(head, model)

    def gather(self, names: Mapping[str, str]) -> Gather:
        return OpenAIResponsesGather(names)

    def user(self, parts: Sequence[Part]) -> Wording:
        match media.spoken(parts):
            case [Text(text=text)]:
                content = f'[{{"type":"input_text","text":{quote(text)}}}]'
            case kept:
                content = quote([_part(part) for part in kept])
        return Wording(f'{{"type":"message","role":"user","content":{content}}}')

    def results(self, results: Sequence[ResultText]) -> Wording:
        return Wording(",".join(map(_result, results)))

    def reply(
        self,
        text: str = "",
        calls: Sequence[tuple[str, str, str]] = (),
        *,
        stop: Stop | None = None,
        usage: Usage | None = None,
        place: int = 0,
    ) -> bytes:
        stop = stop or ("calls" if calls else "end")
        if stop not in _STATUS:
            raise InputError(f"the openai-responses protocol has no stop {stop}", code="stop.unknown")
        status, reason = _STATUS[stop]
        done = "completed" if status == "completed" else "incomplete"
        items = _called(calls, done)
        if stop == "refusal":
            items.insert(0, _spoken({"type": "refusal", "refusal": text or "refused"}, done, place))
        elif text:
            items.insert(0, _spoken({"type": "output_text", "text": text, "annotations": []}, done, place))
        whole: dict[str, Json] = {
            "id": "resp_scripted",
            "object": "response",
            "created_at": 0,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "model": "scripted",
            "output": items,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": written_usage(usage, RESPONSES),
        }
        return quote(whole).encode()

    def read(self, body: bytes, reading: Reading) -> Reply:
        return openai_responses_reply.read(body, reading)

    def restore(self, reply: Reply) -> bytes:
        return openai_responses_mend.restore(reply)

    def load(self, messages: Sequence[Json]) -> tuple[Wording, ...]:
        openai_responses_history.check(messages)
        return tuple(Wording(quote(message)) for message in messages)


def _including(spec: HeadSpec) -> HeadSpec:
    """Ask for reasoning in the form that goes back without state, beside what the settings include."""
    if spec.model.startswith(_NO_REASONING):
        return spec
    wanted = spec.settings.get("include")
    included = list(wanted) if isinstance(wanted, list) else []
    if _ENCRYPTED not in included:
        included.append(_ENCRYPTED)
    return replace(spec, settings={**spec.settings, "include": included})


def _tools(spec: HeadSpec) -> dict[str, Json]:
    names = wire_names_of(spec)
    tools = [_declared(spec, index, names) for index in range(len(spec.tools))]
    tools += _hosted(spec.server_tools)
    if not tools:
        return {}
    own: dict[str, Json] = {"tools": tools, **_bound(spec.server_tools)}
    if spec.tool_choice in ("none", "required"):
        own["tool_choice"] = spec.tool_choice
    elif spec.tool_choice != "auto":
        if spec.tool_choice not in names:
            raise InputError("tool_choice names a tool that the agent does not have", code="tool_choice.unknown")
        own["tool_choice"] = {"type": "function", "name": names[spec.tool_choice]}
    return own if spec.parallel else {**own, "parallel_tool_calls": False}


def _hosted(tools: Sequence[Mapping[str, Json]]) -> list[Json]:
    for tool in tools:
        if waits_for_approval(tool):
            why = "a hosted mcp server needs require_approval: never; its approvals are not the gate's"
            raise InputError(why, code="server_tool.approval")
    bare = [{key: value for key, value in tool.items() if key != "max_uses"} for tool in tools]
    return check_server_tools(bare, _RUN_THERE)


def _bound(tools: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The provider counts the uses of all its tools together, so that a bound holds only where each has one."""
    uses = [tool["max_uses"] for tool in tools if "max_uses" in tool]
    counts = [one for one in uses if isinstance(one, int) and not isinstance(one, bool) and one > 0]
    if not uses:
        return {}
    if len(counts) < len(tools):
        why = "give every provider-run tool its max_uses, a number over 0, or none: the provider counts them together"
        raise InputError(why, code="server_tool.max_uses")
    return {"max_tool_calls": sum(counts)}


def _declared(spec: HeadSpec, index: int, names: Mapping[str, str]) -> Json:
    """`strict` is always said: left out, the API tries strict mode and may read the schema otherwise."""
    tool = spec.tools[index]
    return {
        "type": "function",
        "name": names[tool.name],
        "description": tool.description,
        "parameters": {"type": "object", **tool.schema},
        "strict": tool.strict,
    }


def _part(part: Part) -> Json:
    match part:
        case Text(text=text):
            return {"type": "input_text", "text": text}
        case Image(data=data, media_type=kind):
            return {"type": "input_image", "detail": "auto", "image_url": media.data_url(kind, data)}
        case File(data=data, media_type=kind, name=name):
            text = media.as_text(kind, data)
            if text is not None:
                return {"type": "input_text", "text": f"{name}:\n{text}"}
            return {"type": "input_file", "filename": name, "file_data": media.data_url(kind, data)}


def _result(result: ResultText) -> str:
    """One answer; the protocol has no error flag for functions, the text says it."""
    kind = "custom_tool_call_output" if result.name.startswith("custom:") else "function_call_output"
    output = quote(_shown(result) if result.attachments else result.text)
    return f'{{"type":"{kind}","call_id":{quote(result.wire_id)},"output":{output}}}'


def _shown(result: ResultText) -> Json:
    output: list[Json] = [{"type": "input_text", "text": result.text}] if result.text else []
    for attachment, data in result.attachments:
        part = None if result.error else media.as_part(attachment, data)
        output.append(_part(part if part is not None else Text(media.described(attachment, data))))
    return output


def _called(calls: Sequence[tuple[str, str, str]], status: str) -> list[Json]:
    items: list[Json] = []
    for wire_id, tool, arguments in calls:
        items.append(
            {
                "type": "function_call",
                "call_id": wire_id,
                "name": wire_name(tool),
                "arguments": arguments,
                "status": status,
            }
        )
    return items


def _spoken(content: Json, status: str, place: int) -> Json:
    """A message item; its id, which must be there and its own, follows from what it says and where."""
    item_id = f"msg_{sha256(quote([place, content]).encode()).hexdigest()[:24]}"
    return {"type": "message", "id": item_id, "role": "assistant", "status": status, "content": [content]}
