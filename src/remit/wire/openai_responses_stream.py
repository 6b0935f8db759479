"""The OpenAI Responses protocol: a streamed reply.

Knows no socket. Its last event holds the whole response, which is cut out as it was written; what comes before is
only to be shown. Servers that leave the last event's output empty have sent each item whole before, and there it is
taken from. Invariant: a response comes out only of `response.completed`, `.incomplete` or `.failed`.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.types.ident import Json
from remit.types.model import Piece
from remit.wire.gather import StreamGather, index_of, parsed
from remit.wire.name import foreign, tool_of
from remit.wire.text import Node, object_of, string_of, unread
from remit.wire.write import written

__all__ = ["OpenAIResponsesGather"]

_COMPLETED = "response.completed"
_LAST = (_COMPLETED, "response.incomplete", "response.failed")
_REASONING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ITEMS = ("response.output_item.added", "response.output_item.done")
_READ = frozenset({"error", "response.output_text.delta", *_ITEMS, *_LAST, *_REASONING})
"""The events that matter here; the others, some of which repeat the whole response, are not even parsed."""


class OpenAIResponsesGather(StreamGather):
    """`remit.types.model.Gather` for OpenAI Responses."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__(names)
        self._response = ""
        self._items: dict[int, bytes] = {}
        """The events of the items that are done, by their places; empty until they are."""
        self._parted = False
        self._spoke = False

    def _take(self, name: str, data: bytes, pieces: list[Piece]) -> None:
        if (name and name not in _READ and name != "message") or data == b"[DONE]":
            return
        if name in _LAST:
            self._end(name, data)
            return
        event = parsed(data)
        kind = string_of(event, "type", "stream") or name
        if kind == "response.output_text.delta":
            self._say(string_of(event, "delta", "stream"), pieces)
        elif kind in _REASONING:
            if text := string_of(event, "delta", "stream"):
                pieces.append(Piece("reasoning", text))
        elif kind == "response.output_item.added":
            self._begin(event, pieces)
        elif kind == "response.output_item.done":
            self._items[index_of(event, "output_index")] = data
        elif kind in _LAST:
            self._end(kind, data)
        elif kind == "error":
            self._error = data

    def _end(self, kind: str, data: bytes) -> None:
        event = Node.of(data)
        response = event.child("response")
        if response is not None:
            self._response = self._filled(response, event.raw("response") or "", completed=kind == _COMPLETED)
            self._whole = True
        elif kind == "response.failed":
            self._error = data
        else:
            raise unread("stream", "ends without its response")

    def _begin(self, event: Mapping[str, Json], pieces: list[Piece]) -> None:
        item = object_of(event, "item", "stream")
        self._items.setdefault(index_of(event, "output_index"), b"")
        kind = string_of(item, "type", "stream") if item else ""
        if item is None or kind == "message":
            self._parted = self._spoke
            return
        space = string_of(item, "namespace", "stream")
        if kind == "custom_tool_call":
            space = foreign("custom", space).rstrip(":")
        if kind in ("function_call", "custom_tool_call"):
            pieces.append(Piece("call", tool_of(self._names, space, string_of(item, "name", "stream"))))

    def _say(self, text: str, pieces: list[Piece]) -> None:
        """Visible text; each message is on lines of its own, as in the whole reply's text."""
        if text:
            pieces.append(Piece("text", f"\n{text}" if self._parted else text))
            self._spoke, self._parted = True, False

    def _filled(self, response: Node, text: str, *, completed: bool) -> str:
        if not completed or response.value("output") or not self._items:
            return text
        if not all(self._items.values()):
            raise unread("stream", "ends before its items did")
        items = [Node.of(self._items[place]).raw("item") or "null" for place in sorted(self._items)]
        return written(response.members() | {"output": f"[{','.join(items)}]"})

    def _written(self) -> str:
        return self._response
