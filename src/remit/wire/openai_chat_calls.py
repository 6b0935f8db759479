"""The OpenAI Chat Completions protocol: the calls of a streamed reply, out of their fragments.

Knows no socket. A fragment says by its index, its id, or neither, which call it goes on with; servers use one index
for several calls, leave the index out, or send the id late or empty. Arguments are joined as text and never read
in part. Invariant: two calls never become one that can run; where a fragment could belong to either, the stream is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.wire.gather import joined
from remit.wire.name import tool_of
from remit.wire.text import Node, is_object, quote, spelled, unread, written

__all__ = ["Calls"]

_BODIES = {"function": "arguments", "custom": "input"}
"""The kinds of calls, each a member with that text in it."""

_OWN = frozenset({"index", "id", "type", *_BODIES})


class Calls:
    """The calls of one reply, in the order in which they began."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._calls: list[_Call] = []
        self._at: dict[int, list[_Call]] = {}
        """The calls under an index, the last one under way."""

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, fragment: Node) -> str | None:
        """Take a fragment; returns our name of the tool when a call of it is found to begin."""
        body_key = next((key for key in _BODIES if fragment.value(key) is not None), "function")
        body = fragment.child(body_key)
        name = body.string("name") if body else ""
        text = _text(body, _BODIES[body_key])
        call = self._of(fragment, name, text)
        called = bool(call.name)
        call.add(fragment, body, name, text)
        return None if called or not call.name else tool_of(self._names if body_key == "function" else {}, "", call.name)

    def text(self) -> str:
        """The `tool_calls` member."""
        return f"[{','.join(call.text() for call in self._calls)}]"

    def _of(self, fragment: Node, name: str, text: str) -> _Call:
        index, wire_id = fragment.value("index"), fragment.string("id")
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise unread("stream", "has a call whose index is not a number")
        calls = self._calls if index is None else self._at.setdefault(index, [])
        known = next((call for call in calls if wire_id and call.wire_id == wire_id), None)
        if known is not None:
            return known
        last = calls[-1] if calls else None
        if last is None and index is None and not (wire_id or name):
            raise unread("stream", "goes on with a call that did not begin")
        if last is None or (wire_id and last.wire_id) or _begins(last, name, text, whole=index is None):
            last = _Call()
            self._calls.append(last)
            if index is not None:
                calls.append(last)
        elif not wire_id and any(not call.complete for call in calls[:-1]):
            raise unread("stream", "goes on with one of two calls and does not say which")
        return last


def _begins(last: _Call, name: str, text: str, *, whole: bool) -> bool:
    """Whether a fragment that names a tool, and no call, is another call and not more of the last one.

    Args:
        whole: the server gives no index: what has a name is a call of its own.
    """
    if not name or not last.name:
        return False
    if whole or (last.complete and text.strip()):
        return True
    if name != last.name:
        raise unread("stream", "changes the name of a call")
    return False


def _text(body: Node | None, key: str) -> str:
    """What a fragment adds to a call's text; some servers send the object that the text means."""
    value = body.value(key) if body else None
    if body is None or value is None:
        return ""
    return value if isinstance(value, str) else body.raw(key) or ""


class _Call:
    __slots__ = ("_beside", "_inner", "_kind", "_texts", "_type", "name", "wire_id")

    def __init__(self) -> None:
        self.wire_id = ""
        self.name = ""
        self._kind = "function"
        self._type = ""
        self._texts: list[str] = []
        self._beside: dict[str, str] = {}
        self._inner: dict[str, str] = {}
        """Members of a server's own, which it wants back."""

    @property
    def complete(self) -> bool:
        """Its arguments are one whole object, so that nothing can follow."""
        return is_object(joined(self._texts))

    def add(self, fragment: Node, body: Node | None, name: str, text: str) -> None:
        self.wire_id = self.wire_id or fragment.string("id")
        self.name = self.name or name
        self._type = fragment.string("type") or self._type
        if text:
            self._texts.append(text)
        if body is not None:
            self._kind = body.place.rpartition(".")[2]
            self._inner |= _rest(body, {"name", _BODIES[self._kind]})
        self._beside |= _rest(fragment, _OWN)

    def text(self) -> str:
        body = {"name": spelled(self.name), _BODIES[self._kind]: spelled(joined(self._texts)), **self._inner}
        members = {"id": spelled(self.wire_id), "type": quote(self._type or self._kind), self._kind: written(body)}
        return written(members | self._beside)


def _rest(node: Node, known: frozenset[str] | set[str]) -> dict[str, str]:
    if node.values.keys() <= known:
        return {}
    return {key: raw for key, raw in node.members().items() if key not in known and raw != "null"}
