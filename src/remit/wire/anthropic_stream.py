"""The Anthropic Messages protocol: a streamed reply, put together.

Knows no socket. Source: the SDK's event types and its accumulator. Arguments are joined as text and never read
before they are whole. Invariant: a message comes out only after `message_stop`, with every block begun in its
place and ended.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.types.ident import Json
from remit.types.model import Piece
from remit.wire.gather import StreamGather, index_of, parsed
from remit.wire.name import tool_of
from remit.wire.text import Node, is_object, object_of, string_of, unread
from remit.wire.write import dumped, joined, rewritten, spelled, storable

__all__ = ["AnthropicGather"]

_ADDED = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Deltas that go on with a text."""

_HOME = {**_ADDED, "input_json_delta": "tool_use", "signature_delta": "thinking", "citations_delta": "text"}
"""The kind of block that a delta belongs to; blocks of kinds that are not among these take any."""

_KINDS = frozenset(_HOME.values())
_IN_PIECES = frozenset({"text", "thinking", "tool_use"})
"""Blocks that the stream spells anew; all others are kept as they were written."""


class AnthropicGather(StreamGather):
    """`remit.types.model.Gather` for the Anthropic Messages API."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__(names)
        self._message: dict[str, Json] = {}
        self._usage: dict[str, Json] = {}
        self._blocks: list[_Block] = []
        self._spoke = False
        self._parted = False
        """Text was heard, and something else since."""

    def _take(self, name: str, data: bytes, pieces: list[Piece]) -> None:
        event = parsed(data)
        match string_of(event, "type", "stream") or name:
            case "content_block_delta":
                self._add(event, data, pieces)
            case "content_block_start":
                self._begin(event, data, pieces)
            case "content_block_stop":
                block = self._open(event)
                block.open = False
                self._parted = self._parted and block.kind != "text"
            case "message_start":
                message = object_of(event, "message", "stream")
                if message is None or self._message:
                    raise unread("stream", "does not begin one message")
                self._message = {**message}
                self._usage = {**(object_of(message, "usage", "stream") or {})}
            case "message_delta":
                self._change(event)
            case "message_stop":
                if not self._message or any(block.open for block in self._blocks):
                    raise unread("stream", "ends a message that it did not begin, or inside a block")
                self._whole = True
            case "error":
                self._error = data
            case _:
                pass

    def _begin(self, event: Mapping[str, Json], data: bytes, pieces: list[Piece]) -> None:
        given = object_of(event, "content_block", "stream")
        if not self._message or given is None or index_of(event) != len(self._blocks):
            raise unread("stream", "begins a block out of its place")
        block = _Block(given, data)
        self._blocks.append(block)
        if block.kind == "tool_use":
            space, name = (string_of(given, key, "stream") for key in ("toolset_name", "name"))
            pieces.append(Piece("call", tool_of(self._names, space, name)))
        if block.kind != "text":
            self._parted = self._spoke
        elif text := string_of(given, "text", "stream"):
            self._say(text, pieces)

    def _open(self, event: Mapping[str, Json]) -> _Block:
        index = index_of(event)
        block = self._blocks[index] if 0 <= index < len(self._blocks) else None
        if block is None or not block.open:
            raise unread("stream", "goes on with a block that is not open")
        return block

    def _add(self, event: Mapping[str, Json], data: bytes, pieces: list[Piece]) -> None:
        block, delta = self._open(event), object_of(event, "delta", "stream")
        if delta is None:
            raise unread("stream", "has a delta without its content")
        kind = string_of(delta, "type", "stream")
        text = block.add(kind, delta, data)
        if text and kind == "text_delta":
            self._say(text, pieces)
        elif text and kind == "thinking_delta":
            pieces.append(Piece("reasoning", text))

    def _say(self, text: str, pieces: list[Piece]) -> None:
        """Visible text, on a line of its own after other blocks, as the whole reply's text has it."""
        pieces.append(Piece("text", f"\n{text}" if self._parted else text))
        self._spoke, self._parted = True, False

    def _change(self, event: Mapping[str, Json]) -> None:
        """Counts are totals, and what is null says nothing new."""
        if not self._message:
            raise unread("stream", "does not begin one message")
        delta, usage = object_of(event, "delta", "stream"), object_of(event, "usage", "stream")
        beside = {key: value for key, value in event.items() if key not in ("type", "delta", "usage")}
        for key, value in (beside | {**(delta or {})}).items():
            if value is not None or key not in self._message:
                self._message[key] = value
        self._usage |= {key: value for key, value in (usage or {}).items() if value is not None}

    def _written(self) -> str:
        members = {key: value for key, value in self._message.items() if key not in ("content", "usage")}
        raw = {"content": f"[{','.join([block.text() for block in self._blocks])}]"}
        return rewritten(members, raw | ({"usage": dumped({**self._usage})} if self._usage else {}))


class _Block:
    """A content block that is being written: how it began, and what was added."""

    __slots__ = ("_added", "_citations", "_data", "_given", "_set", "kind", "open")

    def __init__(self, given: Mapping[str, Json], data: bytes) -> None:
        self.kind = string_of(given, "type", "stream")
        self.open = True
        self._given = given
        self._data = data
        """The event that it began with."""
        self._added: dict[str, list[str]] = {}
        self._citations: list[bytes] = []
        self._set: dict[str, Json] = {}

    def add(self, kind: str, delta: Mapping[str, Json], data: bytes) -> str:
        """Take a delta, return the text it adds. One of a kind that is not known means nothing, as in the SDK."""
        home = _HOME.get(kind)
        if home is not None and home != self.kind and self.kind in _KINDS:
            raise unread("stream", "has a delta that its block cannot take")
        key = _ADDED.get(kind)
        if key is not None:
            text = delta.get(key)
            if not isinstance(text, str):
                raise unread("stream", "has a delta without its text")
            self._added.setdefault(key, []).append(text)
            return text
        if kind == "citations_delta":
            self._citations.append(data)
        elif kind in ("signature_delta", "compaction_delta"):
            self._set |= {name: value for name, value in delta.items() if name != "type" and value is not None}
        return ""

    def text(self) -> str:
        """The block, whole."""
        changed: dict[str, Json] = {**self._set}
        for key in ("text", "thinking"):
            if key in self._added:
                changed[key] = joined([str(self._given.get(key) or ""), *self._added[key]])
        raw: dict[str, str] = {}
        if self._citations:
            raw["citations"] = self._cited()
        arguments = joined(self._added.get("partial_json", ()))
        if arguments.strip():
            raw["input"] = storable(arguments) if is_object(arguments) else spelled(arguments)
        elif self.kind == "tool_use" and not self._given.get("input"):
            raw["input"] = "{}"
        if self.kind in _IN_PIECES and ("input" in raw or "input" not in self._given):
            return rewritten({key: value for key, value in self._given.items() if key not in raw} | changed, raw)
        given = Node.of(self._data).child("content_block")
        kept = given.members() if given else {}
        return rewritten(changed, {key: one for key, one in kept.items() if key not in changed} | raw)

    def _cited(self) -> str:
        """Those that the block began with, and those that came, as they were written."""
        begun = Node.of(self._data).child("content_block")
        first = (begun.raw("citations") if begun and begun.value("citations") else None) or "[]"
        deltas = [Node.of(data).child("delta") for data in self._citations]
        return f"[{','.join(filter(None, (first.strip()[1:-1], *(one.raw('citation') for one in deltas if one))))}]"
