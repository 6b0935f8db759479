"""The OpenAI Chat Completions protocol: the mends of a reply, made in its text, and a recorded reply as a response again.

Knows no stop reason and no journal. Invariant: what no mend names keeps its bytes; what is restored reads as the
reply that was recorded, and its ids need no mend.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.types.model import Mend, Reply
from remit.wire.openai_usage import CHAT, written_usage
from remit.wire.text import Node, Splices
from remit.wire.write import quote, written

__all__ = ["enveloped", "mended", "restore"]


def mended(text: str, mends: Sequence[Mend]) -> str:
    """The message that `text` is, with the mends of its calls."""
    return _changed(text, [(mend, mend.now) for mend in mends])


def enveloped(text: str) -> str:
    """The message with a role and without an empty `tool_calls`; its members are as they were written."""
    message = Node.of(text.encode())
    members = {key: raw for key, raw in message.members().items() if key != "tool_calls" or message.value(key)}
    return written(members | {"role": '"assistant"'})


def restore(reply: Reply) -> bytes:
    """A response body that reads as `reply`; a call that was cut off gets its broken arguments back."""
    cut_off = [(mend, mend.was) for mend in reply.mends if mend.kind == "call.cut"]
    message = _changed(reply.wording, cut_off) if reply.wording else '{"role":"assistant","content":null}'
    choice = f'{{"index":0,"message":{message},"logprobs":null,"finish_reason":{quote(reply.raw_stop or None)}}}'
    return (
        f'{{"id":{quote(reply.response_id)},"object":"chat.completion","created":0,"model":{quote(reply.model)},'
        f'"choices":[{choice}],"usage":{quote(written_usage(reply.usage, CHAT))}}}'
    ).encode()


def _changed(text: str, changes: Sequence[tuple[Mend, str]]) -> str:
    message = Node.of(text.encode())
    items = message.children("tool_calls")
    splices = Splices()
    for mend, now in changes:
        function = items[mend.position].child("function")
        if mend.kind != "call.cut":
            splices.member(items[mend.position], "id", quote(now))
        elif function is not None:
            splices.member(function, "arguments", quote(now))
    return splices.apply(message.text, 0, len(message.text))
