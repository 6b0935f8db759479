"""The Anthropic Messages protocol: the mends of a reply, made in its text, and a recorded reply as a response again.

Knows no stop reason and no journal. Invariant: what no mend names keeps its bytes; what is restored reads as the
reply that was recorded, whatever cap it is read with, and its ids need no mend.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from remit.types.budget import Usage
from remit.types.ident import Json
from remit.types.model import Mend, Reply
from remit.wire.text import Node, Splices
from remit.wire.write import quote

__all__ = ["counted", "mended", "restore"]


_DROPPED = ("text.empty", "thought.last")
"""The mends that leave out a block."""


def mended(message: Node, mends: Sequence[Mend]) -> str:
    """The content of the message, with its mends."""
    blocks = message.children("content")
    uses = _uses(blocks)
    splices = Splices()
    for mend in mends:
        if mend.kind == "call.cut":
            splices.member(uses[mend.position], "input", mend.now)
        elif mend.kind not in _DROPPED:
            splices.member(uses[mend.position], "id", quote(mend.now))
    _drop(blocks, {mend.position for mend in mends if mend.kind in _DROPPED}, splices)
    return splices.apply(message.text, *message.spans["content"])


def _uses(blocks: list[Node]) -> list[Node]:
    return [block for block in blocks if block.value("type") == "tool_use"]


def _drop(blocks: list[Node], dropped: Collection[int], splices: Splices) -> None:
    """Cut out blocks, each with one of the commas beside it."""
    first = next((index for index in range(len(blocks)) if index not in dropped), len(blocks))
    if 0 < first < len(blocks):
        splices.put(blocks[0].start, blocks[first].start, "")
    for index in dropped:
        if index > first:
            splices.put(blocks[index - 1].end, blocks[index].end, "")


def restore(reply: Reply) -> bytes:
    """A response body that reads as `reply`."""
    details: Json = {"type": "refusal", "explanation": reply.refusal} if reply.refusal else None
    return (
        f'{{"id":{quote(reply.response_id)},"type":"message","role":"assistant","model":{quote(reply.model)},'
        f'"content":{_content(reply)},"stop_reason":{quote(reply.raw_stop or None)},"stop_sequence":null,'
        f'"stop_details":{quote(details)},"usage":{quote(_spent(reply))}}}'
    ).encode()


def _spent(reply: Reply) -> dict[str, Json]:
    """What was spent may be more than the reply's own, and more than its cap: unless it reached it, it stands where none is."""
    spent = counted(reply.usage)
    own: dict[str, Json] = {"input_tokens": 0, "output_tokens": 0} if reply.usage.reported else {}
    if reply.stop == "length":
        if reply.usage.reported:
            return spent
        own = {"output_tokens": spent.pop("output_tokens", 0)}
    details = {key: spent.pop(key) for key in ("output_tokens_details",) if key in spent}
    return {**own, "iterations": [{"type": "compaction", **spent}], **details}


def counted(usage: Usage) -> dict[str, Json]:
    """Usage as the provider counts it; of one that is not reported, what there is."""
    spent: dict[str, Json] = {
        "input_tokens": usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }
    if not usage.reported:
        spent = {name: value for name, value in spent.items() if value != 0}
    if usage.reasoning_tokens:
        spent["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return spent


def _content(reply: Reply) -> str:
    """The content as it came: a call that was cut off gets its broken arguments back, and what was left out its place."""
    empty = {mend.position: mend.was if mend.kind == "thought.last" else _blank(mend.was) for mend in _drops(reply)}
    if not reply.wording:
        return f"[{','.join(empty[position] for position in sorted(empty))}]"
    message = Node.of(reply.wording.encode())
    blocks = message.children("content")
    uses = _uses(blocks)
    splices = Splices()
    for mend in reply.mends:
        if mend.kind == "call.cut":
            splices.member(uses[mend.position], "input", quote(mend.was))
    kept = 0
    for position in range(len(blocks) + len(empty)):
        if position not in empty:
            kept += 1
        elif kept:
            splices.put(blocks[kept - 1].end, blocks[kept - 1].end, f",{empty[position]}")
        else:
            splices.put(blocks[0].start, blocks[0].start, f"{empty[position]},")
    return splices.apply(message.text, *message.spans["content"])


def _drops(reply: Reply) -> list[Mend]:
    return [mend for mend in reply.mends if mend.kind in _DROPPED]


def _blank(text: str) -> str:
    return f'{{"type":"text","text":{quote(text)}}}'
