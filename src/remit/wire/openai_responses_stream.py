"""The OpenAI Responses protocol: a streamed reply.

Knows no socket. Its last event holds the whole response, which is cut out as it was written; what comes before is
only to be shown. Servers that leave the last event's output empty have sent each item whole before, and there it is
taken from. Invariant: a response comes out only of `response.completed`, `.incomplete` or `.failed`.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.types.model import Piece
from remit.wire.gather import StreamGather, index_of
from remit.wire.name import foreign, tool_of
from remit.wire.text import Node, unread, written

__all__ = ["OpenAIResponsesGather"]

_LAST = ("response.completed", "response.incomplete", "response.failed")
_REASONING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ITEMS = ("response.output_item.added", "response.output_item.done")
_READ = frozenset({"error", "response.output_text.delta", *_ITEMS, *_LAST, *_REASONING})
"""The events that matter here; the others, some of which repeat the whole response, are not even parsed."""


class OpenAIResponsesGather(StreamGather):
    """`remit.types.model.Gather` for OpenAI Responses."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__(names)
        self._response = ""
        self._items: dict[int, str] = {}
        """The items by their places, as they were written; empty until they are done."""
        self._parted = False
        self._spoke = False

    def _take(self, name: str, data: bytes, pieces: list[Piece]) -> None:
        if (name and name not in _READ and name != "message") or data == b"[DONE]":
            return
        event = Node.of(data)
        kind = event.string("type") or name
        if kind == "response.output_text.delta":
            self._say(event.string("delta"), pieces)
        elif kind in _REASONING:
            if text := event.string("delta"):
                pieces.append(Piece("reasoning", text))
        elif kind == "response.output_item.added":
            self._begin(event, pieces)
        elif kind == "response.output_item.done":
            self._items[index_of(event, "output_index")] = event.raw("item") or ""
        elif kind in _LAST and (response := event.child("response")) is not None:
            self._response = self._filled(response, completed=kind == "response.completed")
            self._whole = True
        elif kind in ("error", "response.failed"):
            self._error = data
        elif kind in _LAST:
            raise unread("stream", "ends without its response")

    def _begin(self, event: Node, pieces: list[Piece]) -> None:
        item = event.child("item")
        self._items.setdefault(index_of(event, "output_index"), "")
        kind = item.string("type") if item else ""
        if item is None or kind == "message":
            self._parted = self._spoke
            return
        space = item.string("namespace")
        if kind == "custom_tool_call":
            space = foreign("custom", space).rstrip(":")
        if kind in ("function_call", "custom_tool_call"):
            pieces.append(Piece("call", tool_of(self._names, space, item.string("name"))))

    def _say(self, text: str, pieces: list[Piece]) -> None:
        """Visible text; each message is on lines of its own, as in the whole reply's text."""
        if text:
            pieces.append(Piece("text", f"\n{text}" if self._parted else text))
            self._spoke, self._parted = True, False

    def _filled(self, response: Node, *, completed: bool) -> str:
        if not completed or response.value("output") or not self._items:
            return response.text[response.start : response.end]
        if not all(self._items.values()):
            raise unread("stream", "ends before its items did")
        output = f"[{','.join(self._items[place] for place in sorted(self._items))}]"
        return written(response.members() | {"output": output})

    def _written(self) -> str:
        return self._response
