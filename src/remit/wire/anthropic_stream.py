"""The Anthropic Messages protocol: a streamed reply, put together.

Knows no socket. Source: the SDK's event types and its accumulator. Arguments are joined as text and never read
before they are whole. Invariant: a message comes out only after `message_stop`, with every block begun in its
place and ended.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.types.model import Piece
from remit.wire.gather import StreamGather, index_of, joined
from remit.wire.name import tool_of
from remit.wire.text import Node, is_object, spelled, storable, unread, written

__all__ = ["AnthropicGather"]

_ADDED = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Deltas that go on with a text."""

_HOME = {**_ADDED, "input_json_delta": "tool_use", "signature_delta": "thinking", "citations_delta": "text"}
"""The kind of block that a delta belongs to; blocks of kinds that are not among these take any."""


class AnthropicGather(StreamGather):
    """`remit.types.model.Gather` for the Anthropic Messages API."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__(names)
        self._message: Node | None = None
        self._blocks: list[_Block] = []
        self._changes: dict[str, str] = {}
        """Members of the message that `message_delta` sets, as written."""
        self._usage: dict[str, str] = {}
        self._parted = False
        """Text was heard, and something else since."""
        self._spoke = False

    def _take(self, name: str, data: bytes, pieces: list[Piece]) -> None:
        event = Node.of(data)
        match event.string("type") or name:
            case "content_block_delta":
                self._add(event, pieces)
            case "content_block_start":
                self._begin(event, pieces)
            case "content_block_stop":
                self._stop(event)
            case "message_start":
                self._start(event)
            case "message_delta":
                self._change(event)
            case "message_stop":
                if self._message is None or any(block.open for block in self._blocks):
                    raise unread("stream", "ends a message that it did not begin, or inside a block")
                self._whole = True
            case "error":
                self._error = data
            case _:
                pass

    def _start(self, event: Node) -> None:
        message = event.child("message")
        if message is None or self._message is not None:
            raise unread("stream", "does not begin one message")
        self._message = message
        usage = message.child("usage")
        self._usage = usage.members() if usage else {}

    def _begin(self, event: Node, pieces: list[Piece]) -> None:
        given = event.child("content_block")
        if self._message is None or given is None or index_of(event) != len(self._blocks):
            raise unread("stream", "begins a block out of its place")
        block = _Block(given)
        self._blocks.append(block)
        if block.kind == "tool_use":
            pieces.append(Piece("call", tool_of(self._names, given.string("toolset_name"), given.string("name"))))
        if block.kind != "text":
            self._parted = self._spoke
        elif text := given.string("text"):
            self._say(text, pieces)

    def _stop(self, event: Node) -> None:
        block = self._open(event)
        block.open = False
        self._parted = self._parted and block.kind != "text"

    def _open(self, event: Node) -> _Block:
        index = index_of(event)
        block = self._blocks[index] if 0 <= index < len(self._blocks) else None
        if block is None or not block.open:
            raise unread("stream", "goes on with a block that is not open")
        return block

    def _add(self, event: Node, pieces: list[Piece]) -> None:
        block, delta = self._open(event), event.child("delta")
        if delta is None:
            raise unread("stream", "has a delta without its content")
        kind = delta.string("type")
        text = block.add(kind, delta)
        if text and kind == "text_delta":
            self._say(text, pieces)
        elif text and kind == "thinking_delta":
            pieces.append(Piece("reasoning", text))

    def _say(self, text: str, pieces: list[Piece]) -> None:
        """Visible text, on a line of its own after other blocks, as the whole reply's text has it."""
        pieces.append(Piece("text", f"\n{text}" if self._parted else text))
        self._spoke, self._parted = True, False

    def _change(self, event: Node) -> None:
        """Counts are totals, and what is null says nothing new."""
        delta, usage = event.child("delta"), event.child("usage")
        if self._message is None:
            raise unread("stream", "does not begin one message")
        beside = {key: raw for key, raw in event.members().items() if key not in ("type", "delta", "usage")}
        self._changes |= beside
        self._changes |= delta.members() if delta else {}
        self._usage |= {key: raw for key, raw in usage.members().items() if raw != "null"} if usage else {}

    def _written(self) -> str:
        members = self._message.members() if self._message else {}
        members |= {key: raw for key, raw in self._changes.items() if raw != "null" or key not in members}
        members["content"] = f"[{','.join(block.text() for block in self._blocks)}]"
        if self._usage:
            members["usage"] = written(self._usage)
        return written(members)


class _Block:
    """A content block that is being written: how it began, and what was added."""

    __slots__ = ("_added", "_citations", "_given", "_set", "kind", "open")

    def __init__(self, given: Node) -> None:
        self.kind = given.string("type")
        self.open = True
        self._given = given
        self._added: dict[str, list[str]] = {}
        self._citations: list[str] = []
        self._set: dict[str, str] = {}

    def add(self, kind: str, delta: Node) -> str:
        """Take a delta, return the text it adds. One of a kind that is not known means nothing, as in the SDK."""
        home = _HOME.get(kind)
        if home is not None and home != self.kind and self.kind in _HOME.values():
            raise unread("stream", "has a delta that its block cannot take")
        key = _ADDED.get(kind)
        if key is not None:
            text = delta.value(key)
            if not isinstance(text, str):
                raise unread("stream", "has a delta without its text")
            self._added.setdefault(key, []).append(text)
            return text
        if kind == "citations_delta":
            self._citations.append(delta.raw("citation") or "null")
        elif kind in ("signature_delta", "compaction_delta"):
            self._set |= {name: raw for name, raw in delta.members().items() if name != "type" and raw != "null"}
        return ""

    def text(self) -> str:
        members = self._given.members() | self._set
        for key in ("text", "thinking"):
            if key in self._added:
                members[key] = spelled(joined([self._given.string(key), *self._added[key]]))
        if self._citations:
            cited = members.get("citations", "null").strip()[1:-1] if self._given.value("citations") else ""
            members["citations"] = f"[{','.join(filter(None, (cited, *self._citations)))}]"
        text = joined(self._added.get("partial_json", ()))
        if text.strip():
            members["input"] = storable(text) if is_object(text) else spelled(text)
        elif self.kind == "tool_use" and not self._given.value("input"):
            members["input"] = "{}"
        return written(members)
