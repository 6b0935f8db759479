"""The OpenAI Chat Completions protocol, and what compatible servers make of it: a streamed reply, put together.

Knows no socket. Source: the SDK's accumulator, and recorded streams. Every member of a delta goes into the message,
known or not: compatible servers want their own back. Invariant: a completion comes out only after `[DONE]`, or
after a finish reason with nothing behind it.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.types.ident import Json
from remit.types.model import Piece
from remit.wire.gather import StreamGather, parsed
from remit.wire.openai_chat_calls import Fragments
from remit.wire.text import object_of, objects_of, string_of, unread
from remit.wire.write import dumped, joined, rewritten

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
        self._members: dict[str, Json] = {}
        """The completion's own members, each as it was first given."""
        self._usage: Json = None
        self._said: dict[str, list[Json]] = {}
        """Members of the message in pieces."""
        self._calls = Fragments(names)
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
        chunk = parsed(data)
        if chunk.get("error") is not None or chunk.get("object") == "error":
            self._error = data
            return
        for key, value in chunk.items():
            if key not in self._members and key not in _OF_CHUNKS and value not in (None, ""):
                self._members[key] = value
        usage = chunk.get("usage")
        if usage is not None:
            self._usage = usage
        choices = objects_of(chunk.get("choices"), "stream.choices")
        if len(choices) > 1 or any(choice.get("index") not in (0, None) for choice in choices):
            raise unread("stream", "has more than one choice")
        for choice in choices:
            self._choose(choice, data, pieces)

    def _choose(self, choice: Mapping[str, Json], data: bytes, pieces: list[Piece]) -> None:
        delta, finish = object_of(choice, "delta", "stream"), string_of(choice, "finish_reason", "stream")
        added = self._add(delta, data, pieces) if delta else False
        if finish and self._finish and finish != self._finish:
            raise unread("stream", "ends its message in two ways")
        self._finish = finish or self._finish
        self._ended = bool(finish) or (self._ended and not added)

    def _add(self, delta: Mapping[str, Json], data: bytes, pieces: list[Piece]) -> bool:
        """Take a delta; returns whether it says anything."""
        says = False
        for key, value in delta.items():
            if key == "index" or (value is None and key in _CALLED):
                continue
            if key == "tool_calls":
                says |= self._call(value, data, pieces)
            elif key == "function_call":
                says |= self._legacy_call(delta)
            else:
                self._said.setdefault(key, []).append(value)
                says |= bool(value) and key != "role"
        self._hear(delta, pieces)
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

    def _call(self, given: Json, data: bytes, pieces: list[Piece]) -> bool:
        """Fragments of calls, in a list; Text Generation Inference sends one alone."""
        fragments = objects_of([given] if isinstance(given, dict) else given, "stream.tool_calls")
        for place, fragment in enumerate(fragments):
            begun = self._calls.take(fragment, place, data)
            if begun is not None:
                pieces.append(Piece("call", begun))
        return bool(fragments)

    def _legacy_call(self, delta: Mapping[str, Json]) -> bool:
        """The form before tools; it is kept, and never answered."""
        fragment = object_of(delta, "function_call", "stream") or {}
        for key in ("name", "arguments"):
            if key in fragment:
                self._legacy.setdefault(key, []).append(string_of(fragment, key, "stream"))
        return True

    def _begun_message(self) -> bool:
        return bool(self._said or self._legacy or self._finish or len(self._calls))

    def _ends_here(self) -> bool:
        rest = self._events.pending
        clean = self._ended if rest is None else rest.removeprefix(b"data:").strip() == _DONE
        return clean and self._begun_message()

    def _written(self) -> str:
        choice: dict[str, Json] = {"index": 0, "logprobs": None, "finish_reason": self._finish or None}
        choices = f"[{rewritten(choice, {'message': self._message()})}]"
        return rewritten({**self._members, "object": "chat.completion"}, {"choices": choices, "usage": dumped(self._usage)})

    def _message(self) -> str:
        members: dict[str, Json] = {"role": "assistant", "content": None}
        members |= {key: _together(pieces) for key, pieces in self._said.items() if key != "role"}
        roles = [role for role in self._said.get("role", ()) if role and isinstance(role, str)]
        if roles:
            members["role"] = roles[-1]
        if self._legacy:
            members["function_call"] = {key: joined(texts) for key, texts in self._legacy.items()}
        return rewritten(members, {"tool_calls": self._calls.text()} if len(self._calls) else {})


def _together(pieces: list[Json]) -> Json:
    """A member out of its pieces: texts are one text, lists one list, and of everything else the last stands."""
    given = [piece for piece in pieces if piece is not None]
    texts = [piece for piece in given if isinstance(piece, str)]
    if len(texts) == len(given):
        return joined(texts) if texts else None
    if not any(isinstance(piece, list) for piece in given):
        return given[-1]
    items: list[Json] = []
    for piece in given:
        if isinstance(piece, list):
            items += piece
        elif not isinstance(piece, str):
            items.append(piece)
        elif piece:
            items.append({"type": "text", "text": piece})
    return items
