"""The OpenAI Chat Completions protocol, and what compatible servers make of it: a streamed reply, put together.

Knows no socket. Source: the SDK's accumulator, and recorded streams. Every member of a delta goes into the message,
known or not: compatible servers want their own back. Invariant: a completion comes out only after `[DONE]`, or
after a finish reason with nothing behind it.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.types.ident import Json
from remit.types.model import Piece
from remit.wire.gather import StreamGather, joined
from remit.wire.openai_chat_calls import Calls
from remit.wire.text import Node, quote, spelled, unread, written

__all__ = ["OpenAIChatGather"]

_REASONING = ("reasoning_content", "reasoning")
"""Two spellings; a server that sends both sends the same text twice."""

_CALLED = ("tool_calls", "function_call")
_DONE = b"[DONE]"
_OF_CHUNKS = frozenset({"object", "choices", "usage", "obfuscation"})
"""Members that are about a chunk, or are put together elsewhere."""


class OpenAIChatGather(StreamGather):
    """`remit.types.model.Gather` for OpenAI Chat Completions."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__(names)
        self._members: dict[str, Node] = {}
        """The completion's own members, each with the first chunk that gives it."""
        self._usage: Node | None = None
        self._said: dict[str, list[str | Node]] = {}
        """Members of the message in pieces: text, or the delta in which something else stands."""
        self._calls = Calls(names)
        self._legacy: dict[str, list[str]] = {}
        self._finish = ""
        self._ended = False
        """A finish reason came, and nothing of the message after it."""

    def _take(self, name: str, data: bytes, pieces: list[Piece]) -> None:
        if data.strip() == _DONE:
            self._whole = self._begun_message()
            if not self._whole:
                raise unread("stream", "is done without a message")
            return
        chunk = Node.of(data)
        values = chunk.values
        if values.get("error") is not None or values.get("object") == "error":
            self._error = data
            return
        for key, value in values.items():
            if key not in self._members and key not in _OF_CHUNKS and value not in (None, ""):
                self._members[key] = chunk
        if isinstance(values.get("usage"), dict):
            self._usage = chunk
        choices = chunk.children("choices")
        if len(choices) > 1 or any(choice.value("index") not in (0, None) for choice in choices):
            raise unread("stream", "has more than one choice")
        for choice in choices:
            self._choose(choice, pieces)

    def _choose(self, choice: Node, pieces: list[Piece]) -> None:
        delta, finish = choice.child("delta"), choice.string("finish_reason")
        added = self._add(delta, pieces) if delta else False
        if finish and self._finish and finish != self._finish:
            raise unread("stream", "ends its message in two ways")
        self._finish = finish or self._finish
        self._ended = bool(finish) or (self._ended and not added)

    def _add(self, delta: Node, pieces: list[Piece]) -> bool:
        """Take a delta; returns whether it says anything."""
        says = False
        for key, value in delta.values.items():
            if key == "index" or (value is None and key in _CALLED):
                continue
            if value is None:
                self._said.setdefault(key, [])
            elif key == "tool_calls":
                says |= self._call(delta, pieces)
            elif key == "function_call":
                says |= self._legacy_call(delta)
            else:
                self._said.setdefault(key, []).append(value if isinstance(value, str) else delta)
                says |= bool(value) and key != "role"
        self._hear(delta.values, pieces)
        return says

    def _hear(self, said: Mapping[str, Json], pieces: list[Piece]) -> None:
        for key in _REASONING:
            text = said.get(key)
            if text and isinstance(text, str):
                pieces.append(Piece("reasoning", text))
                break
        content = said.get("content")
        for part in content if isinstance(content, list) else ():
            text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
            if text and isinstance(text, str):
                pieces.append(Piece("text", text))
        if content and isinstance(content, str):
            pieces.append(Piece("text", content))

    def _call(self, delta: Node, pieces: list[Piece]) -> bool:
        alone = delta.child("tool_calls") if isinstance(delta.value("tool_calls"), dict) else None
        fragments = [alone] if alone is not None else delta.children("tool_calls")
        for fragment in fragments:
            begun = self._calls.take(fragment)
            if begun is not None:
                pieces.append(Piece("call", begun))
        return bool(fragments)

    def _legacy_call(self, delta: Node) -> bool:
        """The form before tools; it is kept, and never answered."""
        fragment = delta.child("function_call")
        for key in ("name", "arguments"):
            if fragment is not None and key in fragment.values:
                self._legacy.setdefault(key, []).append(fragment.string(key))
        return True

    def _begun_message(self) -> bool:
        return bool(self._said or self._legacy or self._finish or len(self._calls))

    def _ends_here(self) -> bool:
        rest = self._events.pending
        clean = self._ended if rest is None else rest.removeprefix(b"data:").strip() == _DONE
        return clean and self._begun_message()

    def _written(self) -> str:
        choice = {"index": "0", "message": self._message(), "logprobs": "null", "finish_reason": quote(self._finish or None)}
        members = {key: chunk.raw(key) or "null" for key, chunk in self._members.items()}
        members |= {"object": '"chat.completion"', "choices": f"[{written(choice)}]"}
        members["usage"] = (self._usage.raw("usage") if self._usage is not None else None) or "null"
        return written(members)

    def _message(self) -> str:
        roles = [role for role in self._said.get("role", ()) if isinstance(role, str) and role]
        members = {"role": quote(roles[-1] if roles else "assistant"), "content": "null"}
        members |= {key: _together(key, pieces) for key, pieces in self._said.items() if key != "role"}
        if self._legacy:
            members["function_call"] = written({key: spelled(joined(texts)) for key, texts in self._legacy.items()})
        if len(self._calls):
            members["tool_calls"] = self._calls.text()
        return written(members)


def _together(key: str, pieces: list[str | Node]) -> str:
    """A member out of its pieces: texts are one text, lists one list, and of everything else the last stands."""
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if not pieces:
        return "null"
    if len(texts) == len(pieces):
        return spelled(joined(texts))
    if not any(isinstance(piece, Node) and isinstance(piece.value(key), list) for piece in pieces):
        return next(piece.raw(key) or "null" for piece in reversed(pieces) if isinstance(piece, Node))
    items: list[str] = []
    for piece in pieces:
        if isinstance(piece, Node):
            raw = (piece.raw(key) or "null").strip()
            items.append(raw[1:-1].strip() if isinstance(piece.value(key), list) else raw)
        elif piece:
            items.append(f'{{"type":"text","text":{spelled(piece)}}}')
    return f"[{','.join(filter(None, items))}]"
