"""The cases of OpenAI Responses."""

from __future__ import annotations

from typing import Any

from testing.provider.cases import LOOSE, SCHEMA, Body, Case, add, drop, each, put

HI = {"role": "user", "content": "hi"}
LOOK = {"type": "function", "name": "look", "description": "d", "parameters": LOOSE, "strict": False}
PLAIN: Body = {"model": "fake", "input": [HI], "tools": [LOOK], "store": False}


def call(one: str, **more: Any) -> Body:
    return {"type": "function_call", "call_id": one, "name": "look", "arguments": "{}", **more}


def output(one: str, **more: Any) -> Body:
    return {"type": "function_call_output", "call_id": one, "output": "found", **more}


def items(*found: Body, **more: Any) -> Body:
    return {**PLAIN, "input": [HI, *found], **more}


REASON = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
PAIR = items(call("a"), call("b"), output("a"), output("b"))
THOUGHT = items(REASON, call("a", id="fc_1"), output("a"))
SAID = [(PLAIN, {"id": "resp_1", "output": [REASON, call("a", id="fc_1")]})]
STORED = [({**PLAIN, "store": True}, {"id": "resp_1", "output": [{"type": "message", "id": "msg_1"}, call("a", id="fc_1")]})]
SPOKEN = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}

RESPONSES_CASES: list[Case] = [
    Case("openai-responses.model", "you must provide a model parameter", PLAIN, drop("model")),
    Case(
        "openai-responses.tool.name",
        (
            "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'."
        ),
        PLAIN,
        put("tools.0.name", "look up"),
        param="tools[0].name",
    ),
    Case(
        "openai-responses.tool.name.long",
        (
            "Invalid 'tools[0].name': string too long. Expected a string with maximum length 64, but got a string with "
            "length 65 instead."
        ),
        PLAIN,
        put("tools.0.name", "l" * 65),
        put("tools.0.name", "l" * 64),
        param="tools[0].name",
    ),
    Case(
        "openai-responses.tool.strict",
        (
            "Invalid schema for function 'look': In context=(), 'additionalProperties' is required to be supplied and to "
            "be false."
        ),
        PLAIN,
        put("tools.0.strict", True),
        each(put("tools.0.strict", True), put("tools.0.parameters", SCHEMA)),
        param="tools[0].parameters",
    ),
    Case(
        "openai-responses.tool.strict",
        (
            "Invalid schema for function 'look': In context=(), 'required' is required to be supplied and to be an array "
            "including every key in properties. Missing 'a'."
        ),
        PLAIN,
        each(put("tools.0.strict", True), put("tools.0.parameters", {**SCHEMA, "required": []})),
        param="tools[0].parameters",
    ),
    Case(
        "openai-responses.tool.strict",
        "Invalid schema for function 'look': In context=('properties', 'a', 'anyOf', '1'), 'allOf' is not permitted.",
        PLAIN,
        each(
            put("tools.0.strict", True),
            put("tools.0.parameters", {**SCHEMA, "properties": {"a": {"anyOf": [{"type": "string"}, {"allOf": []}]}}}),
        ),
        each(
            put("tools.0.strict", True),
            put("tools.0.parameters", {**SCHEMA, "properties": {"a": {"anyOf": [{"type": "string"}, SCHEMA]}}}),
        ),
        param="tools[0].parameters",
    ),
    Case(
        "openai-responses.answer.strict",
        (
            "Invalid schema for response_format 'n': In context=(), 'additionalProperties' is required to be supplied and "
            "to be false."
        ),
        PLAIN,
        put("text", {"format": {"type": "json_schema", "name": "n", "strict": True, "schema": LOOSE}}),
        put("text", {"format": {"type": "json_schema", "name": "n", "strict": True, "schema": SCHEMA}}),
        param="text.format",
    ),
    Case(
        "openai-responses.tool_choice.alone",
        "'tool_choice' is only allowed when 'tools' are specified.",
        PLAIN,
        each(drop("tools"), put("tool_choice", "required")),
        put("tools", []),
        param="tool_choice",
    ),
    Case(
        "openai-responses.tool_choice.unknown",
        "Invalid value for 'tool_choice': no function named 'loook' was specified in the 'tools' parameter.",
        PLAIN,
        put("tool_choice", {"type": "function", "name": "loook"}),
        put("tool_choice", {"type": "function", "name": "look"}),
        param="tool_choice",
    ),
    Case(
        "openai-responses.tool_choice.unknown",
        "Invalid value for 'tool_choice': no function named 'loook' was specified in the 'tools' parameter.",
        PLAIN,
        put("tool_choice", {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "loook"}]}),
        put("tool_choice", {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]}),
        param="tool_choice",
    ),
    Case(
        "openai-responses.input",
        "Missing required parameter: 'input'.",
        PLAIN,
        put("input", []),
        put("input", "hi"),
        param="input",
        error="missing_required_parameter",
    ),
    Case(
        "openai-responses.item",
        "Missing required parameter: 'input[1].type'.",
        PLAIN,
        add("input", {"call_id": "a"}),
        param="input[1].type",
        error="missing_required_parameter",
    ),
    Case(
        "openai-responses.role",
        "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        PLAIN,
        put("input.0.role", "tool"),
        put("input.0.role", "developer"),
        param="input[0]",
        error="invalid_value",
    ),
    Case(
        "openai-responses.max_tokens",
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 15 instead.",
        PLAIN,
        put("max_output_tokens", 15),
        put("max_output_tokens", 16),
        param="max_output_tokens",
        error="integer_below_min_value",
    ),
    Case(
        "openai-responses.state.twice",
        (
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one "
            "of them."
        ),
        PLAIN,
        each(put("previous_response_id", "resp_1"), put("conversation", "conv_1")),
        put("previous_response_id", "resp_1"),
        said=STORED,
        param="previous_response_id",
        error="mutually_exclusive_parameters",
    ),
    Case(
        "openai-responses.state.unknown",
        "Previous response with id 'resp_2' not found.",
        items(output("a"), previous_response_id="resp_1"),
        put("previous_response_id", "resp_2"),
        said=STORED,
        param="previous_response_id",
        error="previous_response_not_found",
    ),
    Case(
        "openai-responses.state.unknown",
        "Previous response with id 'resp_1' not found.",
        PLAIN,
        put("previous_response_id", "resp_1"),
        said=SAID,
        param="previous_response_id",
        error="previous_response_not_found",
    ),
    Case(
        "openai-responses.reference",
        "Item with id 'msg_2' not found.",
        PLAIN,
        add("input", {"type": "item_reference", "id": "msg_2"}),
        add("input", {"type": "item_reference", "id": "msg_1"}),
        said=STORED,
        param="input",
    ),
    Case(
        "openai-responses.part",
        "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image' and 'input_file'.",
        PLAIN,
        put("input.0.content", [{"type": "output_text", "text": "hi"}]),
        put("input.0.content", [{"type": "input_text", "text": "hi"}]),
        param="input[0].content[0]",
        error="invalid_value",
    ),
    Case(
        "openai-responses.part",
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        items(SPOKEN),
        put("input.1.content.0.type", "input_text"),
        put("input.1.content", "as text"),
        param="input[1].content[0]",
        error="invalid_value",
    ),
    Case(
        "openai-responses.id.twice",
        "Duplicate item found with id msg_1. Remove duplicate items from your input and try again.",
        items(SPOKEN, {**SPOKEN, "id": "msg_2"}),
        put("input.2.id", "msg_1"),
        param="input",
    ),
    Case(
        "openai-responses.id.prefix",
        "Invalid 'input[2].id': 'call_1'. Expected an ID that begins with 'fc'.",
        THOUGHT,
        put("input.2.id", "call_1"),
        param="input[2].id",
        error="invalid_value",
    ),
    Case(
        "openai-responses.call_id",
        (
            "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with "
            "length 65 instead."
        ),
        PAIR,
        each(put("input.1.call_id", "a" * 65), put("input.3.call_id", "a" * 65)),
        param="input[1].call_id",
    ),
    Case(
        "openai-responses.call_id",
        "Invalid 'input[1].call_id': string too short. Expected a string, but got a string with length 0 instead.",
        PAIR,
        each(put("input.1.call_id", ""), put("input.3.call_id", "")),
        param="input[1].call_id",
    ),
    Case(
        "openai-responses.call",
        "Missing required parameter: 'input[1].arguments'.",
        PAIR,
        put("input.1.arguments", {}),
        param="input[1].arguments",
        error="missing_required_parameter",
    ),
    Case(
        "openai-responses.output",
        "Missing required parameter: 'input[3].output'.",
        PAIR,
        put("input.3.output", {}),
        put("input.3.output", [{"type": "input_text", "text": "x"}]),
        param="input[3].output",
        error="missing_required_parameter",
    ),
    Case(
        "openai-responses.call.twice",
        "Duplicate function call with call_id a.",
        PAIR,
        put("input.2.call_id", "a"),
        put("input", [HI, call("a"), output("a"), call("a"), output("a")]),
        param="input",
    ),
    Case(
        "openai-responses.output.orphan",
        "No tool call found for function call output with call_id a.",
        PLAIN,
        add("input", output("a")),
        param="input",
    ),
    Case(
        "openai-responses.output.orphan",
        "No tool call found for function call output with call_id a.",
        PAIR,
        put("input", [HI, output("a"), call("a")]),
        put("input", [call("a"), output("a")]),
        param="input",
    ),
    Case(
        "openai-responses.output.orphan",
        "No tool call found for function call output with call_id a.",
        items(
            {"type": "custom_tool_call", "call_id": "a", "name": "n", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "a", "output": "y"},
        ),
        put("input.2.type", "function_call_output"),
        param="input",
    ),
    Case(
        "openai-responses.output.twice",
        "Duplicate function call output with call_id a.",
        PAIR,
        add("input", output("a")),
        param="input",
    ),
    Case("openai-responses.output.missing", "No tool output found for function call b.", PAIR, drop("input.4"), param="input"),
    Case(
        "openai-responses.output.missing",
        "No tool output found for function call a.",
        items(call("a"), SPOKEN),
        add("input", HI),
        put("input.1.async", True),
        param="input",
    ),
    Case(
        "openai-responses.reasoning.alone",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        THOUGHT,
        put("input", [HI, call("a"), output("a"), REASON]),
        param="input",
    ),
    Case(
        "openai-responses.reasoning.alone",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        THOUGHT,
        put("input", [REASON, HI]),
        put("input", [REASON, SPOKEN, HI]),
        param="input",
    ),
    Case(
        "openai-responses.reasoning.missing",
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        THOUGHT,
        drop("input.1"),
        said=SAID,
        param="input",
    ),
    Case(
        "openai-responses.reasoning.missing",
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        THOUGHT,
        put("input.1.id", "rs_2"),
        said=SAID,
        param="input",
    ),
    Case(
        "openai-responses.approval",
        "No approval request found for approval response with id mcpr_1.",
        items(
            {"type": "mcp_approval_request", "id": "mcpr_1"}, {"type": "mcp_approval_response", "approval_request_id": "mcpr_1"}
        ),
        drop("input.1"),
        param="input",
    ),
]
