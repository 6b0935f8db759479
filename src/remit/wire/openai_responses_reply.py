"""The OpenAI Responses protocol: reading a reply.

Knows no socket. The output items go back as they came, `status` members included. Invariant: calls run only
where the response is `completed`; items of unknown types are kept and mean nothing.
"""

from __future__ import annotations

import re

from remit.types.ident import Wording
from remit.types.model import Call, Mend, Reading, Reply, Stop
from remit.wire.ident import settle
from remit.wire.name import foreign, tool_of
from remit.wire.openai_usage import RESPONSES, read_usage
from remit.wire.text import Node, Splices, is_object, quote, unread

__all__ = ["FIT", "read"]

FIT = re.compile(r"[!-~]{1,64}")
_CALLS = ("function_call", "custom_tool_call")
_Item = tuple[str, Node]
"""An output item with its type."""

_OURS_TO_RUN = frozenset({"computer_call", "shell_call", "local_shell_call", "apply_patch_call", "mcp_approval_request"})
"""Items that wait for an answer which this library does not give, unless the provider gave it itself."""

_HOSTED = ("_call", "_output", "mcp_list_tools")
"""How the items of tools are named that the provider runs."""


def read(body: bytes, reading: Reading) -> Reply:
    """Our reading of a response body.

    Raises:
        ProtocolError: it is not a response.
    """
    whole = Node.of(body)
    if "output" not in whole.values or "status" not in whole.values:
        raise unread("response", "is not a response")
    items = [(item.string("type"), item) for item in whole.children("output")]
    kinds = [kind for kind, _ in items]
    usage = read_usage(whole.child("usage"), RESPONSES)
    text, refusal = _said(items)
    stop, raw_stop = _stop(whole, kinds, refusal)
    if stop in ("calls", "end") and 0 < reading.max_tokens <= usage.output_tokens:
        stop = "length"
    splices = Splices()
    calls, mends = _calls(items, stop, splices, reading)
    # Reasoning that nothing follows is refused when it comes back without state, and says nothing by itself.
    empty = all(kind == "reasoning" for kind in kinds)
    return Reply(
        wording=Wording("" if empty else splices.apply(whole.text, items[0][1].start, items[-1][1].end)),
        text=text,
        calls=calls,
        stop=stop,
        raw_stop=raw_stop,
        usage=usage,
        model=whole.string("model"),
        response_id=whole.string("id"),
        refusal=refusal if stop in ("refusal", "filter") else None,
        mends=tuple(mends),
        hosted=any(kind not in _CALLS and kind.endswith(_HOSTED) for kind in kinds),
    )


def _stop(whole: Node, kinds: list[str], refusal: str | None) -> tuple[Stop, str]:
    status = whole.string("status")
    if status == "incomplete":
        details = whole.child("incomplete_details")
        reason = details.string("reason") if details else ""
        known: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "filter"}
        return known.get(reason, "unknown"), f"incomplete:{reason}"
    if status == "failed":
        error = whole.child("error")
        code = error.string("code") if error else ""
        return ("filter" if code.endswith("policy_violation") else "unknown"), f"failed:{code}"
    if status != "completed" or any(kind in _OURS_TO_RUN and f"{kind}_output" not in kinds for kind in kinds):
        return "unknown", status
    if refusal:
        return "refusal", status
    return ("calls" if any(kind in _CALLS for kind in kinds) else "end"), status


def _calls(items: list[_Item], stop: Stop, splices: Splices, reading: Reading) -> tuple[tuple[Call, ...], list[Mend]]:
    at = [(index, kind, item) for index, (kind, item) in enumerate(items) if kind in _CALLS]
    ids, mends = settle([item.value("call_id") for _, _, item in at], reading, fit=FIT)
    for mend in mends:
        splices.member(at[mend.position][2], "call_id", quote(mend.now))
    calls: list[Call] = []
    for position, ((index, kind, item), wire_id) in enumerate(zip(at, ids, strict=True)):
        unfinished = item.string("status") in ("incomplete", "in_progress")
        cut = unfinished or (stop in ("length", "filter") and index == len(items) - 1)
        space, arguments = item.string("namespace"), item.string("arguments")
        if kind == "custom_tool_call":
            space, arguments = foreign("custom", space).rstrip(":"), quote(item.string("input"))
        elif cut and not is_object(arguments):
            splices.member(item, "arguments", '"{}"')
            mends.append(Mend("call.cut", arguments, "{}", position))
        caller = item.child("caller")
        calls.append(
            Call(
                position=position,
                wire_id=wire_id,
                name=tool_of(reading.names, space, item.string("name")),
                arguments=arguments if arguments.strip() else "{}",
                cut=cut,
                caller=caller.string("type") or "unknown" if caller else "direct",
            )
        )
    return tuple(calls), mends


def _said(items: list[_Item]) -> tuple[str, str | None]:
    """The visible text, and the refusal if there is one. Where a final answer is marked, commentary is not part of it."""
    messages = [item for kind, item in items if kind == "message"]
    final = [item for item in messages if item.string("phase") == "final_answer"]
    texts: list[str] = []
    refusals: list[str] = []
    for item in messages:
        parts = item.children("content")
        refusals += [part.string("refusal") or "refused" for part in parts if part.string("type") == "refusal"]
        if item in final or not final:
            texts.append("".join(part.string("text") for part in parts if part.string("type") == "output_text"))
    return "\n".join(filter(None, texts)), "\n".join(refusals) or None
