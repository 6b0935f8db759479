"""The OpenAI Responses protocol: reading a reply.

Knows no socket. The output items go back as they came, `status` members included. Invariant: calls run only
where the response is `completed`; items of unknown types are kept and mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from remit.types.ident import Json, Wording
from remit.types.model import Call, Mend, Reading, Reply, Stop
from remit.wire.ident import settle
from remit.wire.name import foreign, tool_of
from remit.wire.openai_responses_mend import CALLS, mended
from remit.wire.openai_usage import RESPONSES, read_usage
from remit.wire.text import Node, is_object, object_of, objects_of, string_of, unread
from remit.wire.write import quote

__all__ = ["FIT", "read"]

FIT = re.compile(r"[!-~]{1,64}")
_AT = "response.output[]"
_Item = tuple[str, Mapping[str, Json]]
"""An output item with its type."""

_OURS_TO_RUN = frozenset({"computer_call", "shell_call", "local_shell_call", "apply_patch_call", "mcp_approval_request"})
"""Items that wait for an answer which this library does not give, unless the provider gave it itself."""

_MAY_WAIT = _OURS_TO_RUN | {"tool_search_call"}

_HOSTED = ("_call", "_output", "mcp_list_tools", "program")
"""How the items of tools are named that the provider runs."""


def read(body: bytes, reading: Reading) -> Reply:
    """Our reading of a response body.

    Raises:
        ProtocolError: it is not a response.
    """
    node = Node.of(body)
    whole, output = node.values, node.raw("output")
    if output is None or "status" not in whole:
        raise unread("response", "is not a response")
    items: list[_Item] = [(string_of(one, "type", _AT), one) for one in objects_of(whole["output"], "response.output")]
    kinds = [kind for kind, _ in items]
    usage = read_usage(object_of(whole, "usage", "response"), RESPONSES)
    text, refusal = _said(items)
    stop, raw_stop = _stop(whole, kinds, refusal, waits=_waits(items, kinds))
    if stop in ("calls", "end") and 0 < reading.max_tokens <= usage.output_tokens:
        stop = "length"
    calls, mends = _calls(items, stop, reading)
    output = mended(output, mends) if mends else output
    # Reasoning that nothing follows is refused when it comes back without state, and says nothing by itself.
    empty = all(kind == "reasoning" for kind in kinds)
    return Reply(
        wording=Wording("" if empty else output[1:-1].strip(" \t\r\n")),
        text=text,
        calls=calls,
        stop=stop,
        raw_stop=raw_stop,
        usage=usage,
        model=string_of(whole, "model", "response"),
        response_id=string_of(whole, "id", "response"),
        refusal=refusal if stop in ("refusal", "filter") else None,
        mends=tuple(mends),
        server_ran=any(kind not in CALLS and kind.endswith(_HOSTED) for kind in kinds),
    )


def _waits(items: list[_Item], kinds: list[str]) -> bool:
    """Whether something is asked of us that is no call of a function."""
    if _MAY_WAIT.isdisjoint(kinds):
        return False
    asked = {
        (f"{kind}_output", string_of(item, "call_id", _AT))
        for kind, item in items
        if kind in _OURS_TO_RUN or (kind == "tool_search_call" and item.get("execution") == "client")
    }
    return not asked <= {(kind, string_of(item, "call_id", _AT)) for kind, item in items}


def _stop(whole: Mapping[str, Json], kinds: list[str], refusal: str | None, *, waits: bool) -> tuple[Stop, str]:
    status = string_of(whole, "status", "response")
    if status == "incomplete":
        details = object_of(whole, "incomplete_details", "response")
        reason = string_of(details, "reason", "response.incomplete_details") if details else ""
        known: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "filter"}
        return known.get(reason, "unknown"), f"incomplete:{reason}"
    if status == "failed":
        error = object_of(whole, "error", "response")
        code = string_of(error, "code", "response.error") if error else ""
        return ("filter" if code.endswith("policy_violation") else "unknown"), f"failed:{code}"
    if status != "completed" or waits:
        return "unknown", status
    if refusal:
        return "refusal", status
    return ("calls" if any(kind in CALLS for kind in kinds) else "end"), status


def _calls(items: list[_Item], stop: Stop, reading: Reading) -> tuple[tuple[Call, ...], list[Mend]]:
    at = [(index, kind, item) for index, (kind, item) in enumerate(items) if kind in CALLS]
    if not at:
        return (), []
    ids, mends = settle([item.get("call_id") for _, _, item in at], reading, fit=FIT)
    calls: list[Call] = []
    for position, ((index, kind, item), wire_id) in enumerate(zip(at, ids, strict=True)):
        unfinished = item.get("status") in ("incomplete", "in_progress")
        cut = unfinished or (stop in ("length", "filter") and index == len(items) - 1)
        space, arguments = string_of(item, "namespace", _AT), string_of(item, "arguments", _AT)
        if kind == "custom_tool_call":
            space, arguments = foreign("custom", space).rstrip(":"), quote(string_of(item, "input", _AT))
        elif cut and not is_object(arguments):
            mends.append(Mend("call.cut", arguments, "{}", position))
        caller = object_of(item, "caller", _AT)
        calls.append(
            Call(
                position=position,
                wire_id=wire_id,
                name=tool_of(reading.names, space, string_of(item, "name", _AT)),
                arguments=arguments if arguments.strip() else "{}",
                cut=cut,
                caller=string_of(caller, "type", _AT) or "unknown" if caller is not None else "direct",
            )
        )
    return tuple(calls), mends


def _said(items: list[_Item]) -> tuple[str, str | None]:
    """The visible text, and the refusal if there is one. Where a final answer is marked, commentary is not part of it."""
    messages = [item for kind, item in items if kind == "message"]
    final = [item for item in messages if item.get("phase") == "final_answer"]
    texts: list[str] = []
    refusals: list[str] = []
    for item in messages:
        parts = [(part.get("type"), part) for part in objects_of(item.get("content"), f"{_AT}.content")]
        refusals += [string_of(part, "refusal", _AT) or "refused" for kind, part in parts if kind == "refusal"]
        if not final or item.get("phase") == "final_answer":
            texts.append("".join(string_of(part, "text", _AT) for kind, part in parts if kind == "output_text"))
    return "\n".join(filter(None, texts)), "\n".join(refusals) or None
