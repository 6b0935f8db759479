"""`docs/reference/fields.md`: one tool round trip in three protocols, as the wires write and read it.

Nothing here says where a field is. Each wire is asked to write something with a value that stands nowhere else, and the
place is where that value is found.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace

from remit.types.budget import Usage
from remit.types.ident import Json, Wording
from remit.types.model import Declaration, HeadSpec, ProtocolName, Reading, ResultText, Stop, Wire
from remit.types.outcome import Attachment
from remit.types.part import File, Image, Part, Text
from remit.wire import wire_for

__all__ = ["check", "fields"]

NAMES: dict[ProtocolName, str] = {
    "anthropic": "Anthropic Messages",
    "openai-chat": "OpenAI Chat Completions",
    "openai-responses": "OpenAI Responses",
}
WIRES: dict[ProtocolName, Wire] = {name: wire_for(name) for name in NAMES}

ARGUMENTS = '{"order_id":"A-1"}'
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}},
    "required": ["order_id"],
    "additionalProperties": False,
}
TOOL = Declaration(name="get_order", description="Read one order.", schema=SCHEMA)
SPEC = HeadSpec(model="MODEL", instructions="Be brief.", tools=(TOOL,), max_tokens=4096)
PIXEL, PDF = b"\x89PNG", b"%PDF"
CALL = ("call_1", TOOL.name, ARGUMENTS)
ANSWER = ResultText(wire_id="call_1", name=TOOL.name, text="shipped")
SHOWN = replace(ANSWER, text="a photo", attachments=((Attachment("digest", "image/png", "door.png"), PIXEL),))
IMAGE = b64encode(PIXEL).decode()
USAGE = Usage(input_tokens=1111, cache_read_tokens=222, cache_write_tokens=33, output_tokens=555, reasoning_tokens=66)
RAW = USAGE.input_tokens - USAGE.cache_read_tokens - USAGE.cache_write_tokens

WORDS: dict[ProtocolName, tuple[str, ...]] = {
    "anthropic": (
        "tool_use",
        "end_turn",
        "stop_sequence",
        "max_tokens",
        "model_context_window_exceeded",
        "refusal",
        "pause_turn",
        "compaction",
    ),
    "openai-chat": ("tool_calls", "stop", "length", "content_filter", "function_call"),
    "openai-responses": (
        "completed",
        "incomplete: max_output_tokens",
        "incomplete: content_filter",
        "failed",
        "cancelled",
        "in_progress",
        "queued",
    ),
}
"""The words that the providers' SDKs know, and one that none of them does."""
NEVER_HEARD = "a_new_word"

STOPS: dict[Stop, str] = {
    "calls": "its calls go to the gate",
    "end": "the answer is checked, and the run finishes",
    "length": "nothing runs: the reply is cut off",
    "context": "nothing runs: the context is full",
    "refusal": "nothing runs, and it is not asked again",
    "filter": "nothing runs, and it is not asked again",
    "pause": "the reply goes back unchanged, and the provider goes on",
    "compaction": "the reply goes back unchanged, and the provider goes on",
    "unknown": "nothing runs, and nothing is finished",
}

WIDE = 48
"""Characters of a line of JSON."""

HISTORY = [
    ("2023-06-13", "OpenAI", "`functions` and `function_call` in the request; one `message.function_call`, without an id"),
    ("2023-11-06", "OpenAI", "`tools` and `tool_choice`; `message.tool_calls`, an array with ids: several calls in a reply"),
    ("2023-11-21", "Anthropic", "tool use as an early beta, with Claude 2.1"),
    ("2024-04-04", "Anthropic", "tool use as a public beta of the Messages API: `tool_use` and `tool_result` blocks"),
    ("2024-05-16", "Anthropic", "the beta with streams, forced choices and images"),
    ("2024-05-30", "Anthropic", "tool use generally available; no beta header"),
    ("2024-06-06", "OpenAI", "`parallel_tool_calls`, and `tool_choice: required`"),
    ("2024-08-06", "OpenAI", "`strict` (Structured Outputs)"),
    ("2025-03-11", "OpenAI", "Responses: the flat tool; calls and answers are items of their own, with a `call_id`"),
]
OLD: tuple[Json, ...] = (
    {"functions": [{"name": "get_order", "parameters": {"type": "object"}}], "function_call": "auto"},
    {"role": "assistant", "content": None, "function_call": {"name": "get_order", "arguments": ARGUMENTS}},
    {"role": "function", "name": "get_order", "content": "shipped"},
)
"""The form of 2023: what was added to a request, the message that came, and the one that answered it."""

Written = Callable[[Wire], str]


def fields() -> str:
    """The page."""
    return "\n".join(
        [
            "# Fields\n",
            "<!-- Written by docs/generate.py from the code. Change the code, then run: make docs -->\n",
            "One tool round trip, in the three protocols of two providers. Everything on this page but the history at its end",
            "was written by Remit's wires, which were asked to declare a tool, propose a call, answer it, and so on. What the",
            "providers call these things in their own words is in their documentation.\n",
            "## Where things are\n",
            "A place that ends in `[]` is in an array. A dash: the protocol has no place for it.\n",
            table(
                ["", *NAMES.values()],
                [[said, *(_place(wire, write, value) for wire in WIRES.values())] for said, write, value in _questions()],
            ),
            "## As it is written\n",
            *(_side_by_side(said, note, write) for said, note, write in _examples()),
            "## Why it stopped\n",
            "How Remit reads each word with which a provider says why its model stopped. Only `calls` lets tools run. The last",
            "row is a word that nobody knows yet. A stop that contradicts the reply is `unknown`; but Chat servers say `stop`",
            "beside whole calls, the provider itself where a function was forced, so that is read as `calls`. A reply whose",
            "output tokens reach the cap counts as `length`, whatever its word.\n",
            *(_stops(name) for name in NAMES),
            table(["read as", "then"], [[f"`{stop}`", said] for stop, said in STOPS.items()]),
            _history(),
        ]
    )


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def check() -> None:
    """Every word that a wire writes is in the table, and every stop that there is is said."""
    for name, wire in WIRES.items():
        for stop in STOPS:
            written = _word(name, json.loads(wire.reply("hm", stop=stop))) if _writes(wire, stop) else None
            assert written is None or written in {*WORDS[name], "unknown"}, (name, stop, written)
    assert set(STOPS) == set(Stop.__args__)  # type: ignore[attr-defined]


# where things are


def _questions() -> Iterator[tuple[str, Written, object]]:
    """What is asked for: a name, what is written, and the value whose place is looked for."""
    yield "the model", _body(SPEC), "MODEL"
    yield "instructions", _body(SPEC), "Be brief."
    yield "cap of the reply", _body(SPEC), 4096
    yield "what the user says", _body(SPEC), "Where is A-1?"
    yield "a tool's name", _body(SPEC), TOOL.name
    yield "a tool's description", _body(SPEC), TOOL.description
    yield "a tool's schema", _body(SPEC), SCHEMA
    yield "keep to the schema", _body(replace(SPEC, tools=(replace(TOOL, strict=True),))), True
    yield "must call this tool", _body(replace(SPEC, tool_choice=TOOL.name, tools=(TOOL, replace(TOOL, name="other")))), _CHOSEN
    yield "an image from the user", _user(Image(PIXEL, "image/png")), _IMAGE
    yield "a call's id", _reply, "call_1"
    yield "a call's tool", _reply, TOOL.name
    yield "a call's arguments, as text", _reply, ARGUMENTS
    yield "a call's arguments, as an object", _reply, json.loads(ARGUMENTS)
    yield "why it stopped", _spent, _STOP
    yield "an answer's call", _answers(ANSWER), "call_1"
    yield "an answer", _answers(ANSWER), "shipped"
    yield "an image in an answer", _answers(SHOWN), _IMAGE
    yield "an answer says that it went wrong", _answers(replace(ANSWER, error=True)), True
    yield "input tokens in all", _spent, USAGE.input_tokens
    yield "input tokens that no cache was asked for", _spent, RAW
    yield "input tokens from a cache", _spent, USAGE.cache_read_tokens
    yield "input tokens into a cache", _spent, USAGE.cache_write_tokens
    yield "output tokens, reasoning included", _spent, USAGE.output_tokens
    yield "tokens of reasoning", _spent, USAGE.reasoning_tokens
    yield "as a stream", _streamed, True


_CHOSEN, _IMAGE, _STOP = object(), object(), object()
"""Stand for: the tool's name, within what chooses; the image, in base64 or as a URL that holds it; the word of the end."""


def _place(wire: Wire, write: Written, value: object) -> str:
    whole: Json = json.loads(write(wire))
    if value is _CHOSEN:
        assert isinstance(whole, dict)
        whole, value = {"tool_choice": whole["tool_choice"]}, TOOL.name
    if value is _STOP:
        assert isinstance(whole, dict)
        value = _word(wire.protocol, whole)
    if value is _IMAGE:
        value = IMAGE if IMAGE in write(wire) and f"base64,{IMAGE}" not in write(wire) else f"data:image/png;base64,{IMAGE}"
    found = list(dict.fromkeys(_paths(whole, value)))
    return "<br>".join(f"`{one}`" for one in found) or "-"


def _paths(node: Json, value: object, at: str = "") -> Iterator[str]:
    if type(node) is type(value) and node == value:
        yield at
    elif isinstance(node, dict):
        for key, inner in node.items():
            yield from _paths(inner, value, f"{at}.{key}" if at else key)
    elif isinstance(node, list):
        for inner in node:
            yield from _paths(inner, value, f"{at}[]")


def _body(spec: HeadSpec) -> Written:
    return lambda wire: wire.body(wire.head(spec), [wire.user([Text("Where is A-1?")])]).decode()


def _user(*parts: Part) -> Written:
    return lambda wire: _listed(wire.user(parts))


def _streamed(wire: Wire) -> str:
    plain, streamed = json.loads(wire.body(wire.head(SPEC), [])), json.loads(wire.body(wire.head(SPEC), [], stream=True))
    return json.dumps({key: value for key, value in streamed.items() if key not in plain or plain[key] != value})


def _reply(wire: Wire) -> str:
    return wire.reply("", [CALL]).decode()


def _spent(wire: Wire) -> str:
    return wire.reply("Hello.", usage=USAGE).decode()


def _answers(*answers: ResultText) -> Written:
    return lambda wire: _listed(wire.results(answers))


def _listed(wording: Wording) -> str:
    """Messages as they stand in the body: one, or several with commas between them."""
    listed = json.loads(f"[{wording}]")
    return json.dumps(listed[0] if len(listed) == 1 else listed)


# as it is written


def _examples() -> Iterator[tuple[str, str, Written]]:
    second = replace(ANSWER, wire_id="call_2", text="lost")
    parts = [Text("Look:"), Image(PIXEL, "image/png"), File(PDF, "application/pdf", "bill.pdf")]
    yield "Declare a tool", "", _members("tools", "tool_choice")
    forced, alone = replace(SPEC, tool_choice=TOOL.name), replace(SPEC, parallel=False)
    yield "Force it", '`Agent(tool_choice="get_order")`.', _members("tool_choice", spec=forced)
    yield "One call at a time", "`Agent(parallel=False)`.", _members("tool_choice", "parallel_tool_calls", spec=alone)
    yield "The model proposes a call", "The part of a reply that goes back with the next request.", _wording
    yield "Answer two calls", "", _answers(ANSWER, second)
    yield (
        "Answer that it went wrong",
        "Anthropic has a flag. In the other two the text says it; Remit's texts say it everywhere.",
        _answers(replace(ANSWER, text="get_order failed. Nothing changed.", error=True)),
    )
    yield "Answer with an image", "Chat answers hold text only, so the image is named in words.", _answers(SHOWN)
    yield "A user sends an image and a file", "", _user(*parts)
    yield "Ask for a stream", "What is added to a request; the usage is always asked for.", _streamed


def _members(*names: str, spec: HeadSpec = SPEC) -> Written:
    def write(wire: Wire) -> str:
        body = json.loads(_body(spec)(wire))
        return json.dumps({name: body[name] for name in names if name in body})

    return write


def _wording(wire: Wire) -> str:
    return _listed(wire.read(wire.reply("", [CALL]), _reading(wire)).wording)


def _reading(wire: Wire) -> Reading:
    return Reading(max_tokens=4096, names=wire.names([TOOL.name]), mint=lambda position: f"minted_{position}")


def _side_by_side(said: str, note: str, write: Written) -> str:
    cells = [f"<td>\n\n```json\n{_laid_out(json.loads(write(wire)))}\n```\n\n</td>" for wire in WIRES.values()]
    heads = "".join(f"<th>{name}</th>" for name in NAMES.values())
    lead = f"### {said}\n\n{note}\n" if note else f"### {said}\n"
    return f'{lead}\n<table>\n<tr>{heads}</tr>\n<tr valign="top">\n' + "\n".join(cells) + "\n</tr>\n</table>\n"


def _laid_out(value: Json, at: str = "") -> str:
    """JSON on as few lines as are narrow enough to stand beside two others."""
    line = json.dumps(value)
    if len(at) + len(line) <= WIDE or not isinstance(value, dict | list) or not value:
        return line
    inner = f"{at}  "
    if isinstance(value, dict):
        members = [f"{inner}{json.dumps(key)}: {_laid_out(one, inner)}" for key, one in value.items()]
    else:
        members = [f"{inner}{_laid_out(one, inner)}" for one in value]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return opening + "\n" + ",\n".join(members) + f"\n{at}{closing}"


# why it stopped


def _stops(name: ProtocolName) -> str:
    rows = [[f"`{word}`", _read(name, word), _read(name, word, CALL)] for word in (*WORDS[name], NEVER_HEARD)]
    return f"### {NAMES[name]}\n\n" + table(["its word", "and no call", "and a call"], rows)


def _read(name: ProtocolName, word: str, *calls: tuple[str, str, str]) -> str:
    wire = WIRES[name]
    body: dict[str, Json] = json.loads(wire.reply("Hm.", calls))
    match name:
        case "anthropic":
            body["stop_reason"] = word
        case "openai-chat":
            body["choices"] = [{**choice, "finish_reason": word} for choice in json.loads(wire.reply("Hm.", calls))["choices"]]
        case "openai-responses":
            status, _, reason = word.partition(": ")
            body |= {"status": status, "incomplete_details": {"reason": reason} if reason else None}
    return f"`{wire.read(json.dumps(body).encode(), _reading(wire)).stop}`"


def _writes(wire: Wire, stop: Stop) -> bool:
    try:
        wire.reply("hm", stop=stop)
    except ValueError:
        return False
    return True


def _word(name: ProtocolName, body: dict[str, Json]) -> str:
    match name:
        case "anthropic":
            return str(body["stop_reason"])
        case "openai-chat":
            choices = body["choices"]
            assert isinstance(choices, list)
            assert isinstance(choices[0], dict)
            return str(choices[0]["finish_reason"])
        case "openai-responses":
            details = body["incomplete_details"]
            return f"{body['status']}: {details['reason']}" if isinstance(details, dict) else str(body["status"])


# how it came to this


def _history() -> str:
    rows = [[date, who, what] for date, who, what in HISTORY]
    shown = "\n".join(json.dumps(one) for one in OLD)
    return "\n".join(
        [
            "## How it came to this\n",
            table(["day", "provider", "what came"], rows),
            "The form of June 2023: what is added to a request, the message that comes, and the message that answers it.\n",
            f"```json\n{shown}\n```\n",
            "A call had no id, so there could be only one in a reply, and its answer named the function. The OpenAI SDK still",
            "has types for it, marked as deprecated. Remit writes none of it, refuses `functions` and `function_call` as",
            "settings, and reads a `function_call` as `unknown`: there is no id to answer it by.\n",
            "To tell the forms apart in code or text of any age: `parameters` right under `functions` is of 2023; `function`",
            "inside `tools` is Chat Completions; `input_schema` is Anthropic; `type`, `name` and `parameters` side by side is",
            "Responses.\n",
        ]
    )
