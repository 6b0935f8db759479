"""The OpenAI Responses protocol: the mends of a reply, made in its text, and a recorded reply as a response again.

Knows no status and no journal. Invariant: what no mend names keeps its bytes; what is restored reads as the reply
that was recorded, and its ids need no mend.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.types.ident import Json
from remit.types.model import Mend, Reply
from remit.wire.openai_usage import RESPONSES, written_usage
from remit.wire.text import Node, Splices
from remit.wire.write import quote

__all__ = ["CALLS", "mended", "restore"]

CALLS = ("function_call", "custom_tool_call")
"""The items that are calls of ours."""


def mended(output: str, mends: Sequence[Mend]) -> str:
    """The array of items that `output` is, with its mends."""
    return _changed(output, [(mend, mend.now) for mend in mends])


def restore(reply: Reply) -> bytes:
    """A response body that reads as `reply`; a call that was cut off gets its broken arguments back."""
    status, _, reason = reply.raw_stop.partition(":")
    error: Json = {"code": reason, "message": ""} if status == "failed" else None
    details: Json = {"reason": reason} if status == "incomplete" else None
    output = _changed(f"[{reply.wording}]", [(mend, mend.was) for mend in reply.mends if mend.kind == "call.cut"])
    return (
        f'{{"id":{quote(reply.response_id)},"object":"response","created_at":0,"status":{quote(status)},'
        f'"error":{quote(error)},"incomplete_details":{quote(details)},"model":{quote(reply.model)},'
        f'"output":{output},"parallel_tool_calls":true,"tool_choice":"auto","tools":[],'
        f'"usage":{quote(written_usage(reply.usage, RESPONSES))}}}'
    ).encode()


def _changed(output: str, changes: Sequence[tuple[Mend, str]]) -> str:
    whole = Node.of(f'{{"output":{output}}}'.encode())
    calls = [item for item in whole.children("output") if item.value("type") in CALLS]
    splices = Splices()
    for mend, now in changes:
        splices.member(calls[mend.position], "arguments" if mend.kind == "call.cut" else "call_id", quote(now))
    return splices.apply(whole.text, *whole.spans["output"])
