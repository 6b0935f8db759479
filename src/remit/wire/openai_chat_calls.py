"""The OpenAI Chat Completions protocol: the calls of a streamed reply, out of their fragments.

Knows no socket. A fragment says by its index, its id, or neither, which call it goes on with; servers use one index
for several calls, leave the index out, or send the id late or empty. Arguments are joined as text and never read
in part. Invariant: two calls never become one that can run; where a fragment could belong to either, the stream is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.types.ident import Json
from remit.wire.name import tool_of
from remit.wire.text import Node, is_object, object_of, string_of, unread
from remit.wire.write import joined, rewritten

__all__ = ["Fragments"]

_BODIES = {"function": "arguments", "custom": "input"}
"""The kinds of calls, each a member with that text in it."""

_OWN = frozenset({"index", "id", "type", *_BODIES})
_INNER = frozenset({"name", *_BODIES.values()})


class Fragments:
    """The calls of one reply, in the order in which they began."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._calls: list[_Call] = []
        self._at: dict[int, list[_Call]] = {}
        """The calls under an index, the last one under way."""

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, fragment: Mapping[str, Json], place: int, data: bytes) -> str | None:
        """Take a fragment; returns our name of the tool when a call of it is found to begin.

        Args:
            place: where it stands in its chunk, and `data` is the chunk.
        """
        kind = "custom" if fragment.get("custom") is not None and fragment.get("function") is None else "function"
        body = object_of(fragment, kind, "stream") or {}
        name, text = string_of(body, "name", "stream"), body.get(_BODIES[kind])
        if text is not None and not isinstance(text, str):
            text = _raw(data, place, kind)
        call = self._of(fragment, name, text or "")
        called = bool(call.name)
        call.add(kind, fragment, body, text or "")
        return None if called or not call.name else tool_of(self._names if kind == "function" else {}, "", call.name)

    def text(self) -> str:
        """The `tool_calls` member.

        Raises:
            ProtocolError: a call was left for another one under its index, and is not whole: who knows whose the rest was.
        """
        if any(not call.complete for calls in self._at.values() for call in calls[:-1]):
            raise unread("stream", "leaves a call unfinished for another one")
        return f"[{','.join([call.text() for call in self._calls])}]"

    def _of(self, fragment: Mapping[str, Json], name: str, text: str) -> _Call:
        index, wire_id = fragment.get("index"), _id(fragment)
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise unread("stream", "has a call whose index is not a number")
        calls = self._calls if index is None else self._at.setdefault(index, [])
        if wire_id:
            for known in calls:
                if known.wire_id == wire_id:
                    return known
        last = calls[-1] if calls else None
        if last is None and index is None and not (wire_id or name):
            raise unread("stream", "goes on with a call that did not begin")
        if last is None or (wire_id and last.wire_id) or _begins(last, name, text):
            last = _Call()
            self._calls.append(last)
            if index is not None:
                calls.append(last)
        elif not wire_id and any(not call.complete for call in calls[:-1]):
            raise unread("stream", "goes on with one of two calls and does not say which")
        return last


def _begins(last: _Call, name: str, text: str) -> bool:
    """Whether a fragment that names a tool, and no call that is known, is another call and not more of the last one."""
    if not name or not last.name:
        return False
    if last.complete and text.strip():
        return True
    raise unread("stream", "names a tool in the middle of a call")


def _id(fragment: Mapping[str, Json]) -> str:
    """The fragment's id; one that is no text cannot stand, and gets mended like one that is missing."""
    return string_of(fragment, "id", "stream") if isinstance(fragment.get("id"), str) else ""


def _raw(data: bytes, place: int, kind: str) -> str:
    """Arguments that came as what they mean, as they were written."""
    delta = Node.of(data).children("choices")[0].child("delta")
    alone = delta is not None and isinstance(delta.value("tool_calls"), dict)
    call = (delta.child("tool_calls") if alone else delta.children("tool_calls")[place]) if delta else None
    body = call.child(kind) if call else None
    return (body.raw(_BODIES[kind]) if body else None) or ""


class _Call:
    __slots__ = ("_beside", "_complete", "_inner", "_kind", "_texts", "_type", "name", "wire_id")

    def __init__(self) -> None:
        self.wire_id = ""
        self.name = ""
        self._kind = "function"
        self._type = ""
        self._texts: list[str] = []
        self._complete: bool | None = None
        """None until it is asked for, and again when text has come."""
        self._beside: dict[str, Json] = {}
        self._inner: dict[str, Json] = {}
        """Members of a server's own, which it wants back."""

    @property
    def complete(self) -> bool:
        """Its arguments are one whole object, so that nothing can follow."""
        if self._complete is None:
            self._complete = is_object(joined(self._texts))
        return self._complete

    def add(self, kind: str, fragment: Mapping[str, Json], body: Mapping[str, Json], text: str) -> None:
        self.wire_id = self.wire_id or _id(fragment)
        self.name = self.name or string_of(body, "name", "stream")
        self._type = string_of(fragment, "type", "stream") or self._type
        if text:
            self._texts.append(text)
            self._complete = None
        if body:
            self._kind = kind
        if not _INNER.issuperset(body):
            self._inner |= {key: value for key, value in body.items() if key not in _INNER and value is not None}
        if not _OWN.issuperset(fragment):
            self._beside |= {key: value for key, value in fragment.items() if key not in _OWN and value is not None}

    def text(self) -> str:
        body: dict[str, Json] = {"name": self.name, _BODIES[self._kind]: joined(self._texts), **self._inner}
        members: dict[str, Json] = {"id": self.wire_id, "type": self._type or self._kind, self._kind: body}
        return rewritten(members | self._beside, {})
