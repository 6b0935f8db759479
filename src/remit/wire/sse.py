"""Server-sent events, taken out of bytes that come in any pieces.

Knows no protocol and no JSON. Source: the HTML standard, section 9.2.6. Invariant: how the bytes were cut makes
no difference, and what has no end yet gives nothing.
"""

from __future__ import annotations

from remit.errors import ProtocolError

__all__ = ["Events", "Frame"]

Frame = tuple[str, bytes]
"""The event's name, empty where it has none, and its data."""

_MOST = 64 * 1024 * 1024
"""Bytes of one event: a reply with pictures in it is one event, and there is an end to what is held for a stream."""

_BOM = b"\xef\xbb\xbf"


class Events:
    """One stream.

    Args:
        most: bytes that one event may have.
    """

    __slots__ = ("_begun", "_cr", "_data", "_held", "_most", "_name", "_rest")

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._begun = False
        self._cr = False
        self._rest: list[bytes] = []
        self._name = ""
        self._data: list[bytes] = []
        self._held = 0

    @property
    def pending(self) -> bytes | None:
        """What came after the last whole event, None where nothing did: a stream that ends there was cut."""
        rest = b"".join(self._rest)
        return b"\n".join(filter(None, (*self._data, rest))) if rest or self._data or self._name else None

    def feed(self, data: bytes) -> list[Frame]:
        """The events that `data` completes.

        Raises:
            ProtocolError: `stream.size`: an event is longer than a reply can be.
        """
        if self._cr and data:
            data, self._cr = data[data[:1] == b"\n" :], False
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not end:
            if data:
                self._hold(data)
            return []
        lines = b"".join((*self._rest, data[:end])) if self._rest else data[:end]
        self._rest = []
        self._cr = end == len(data) and data[end - 1] == 13
        if not self._begun:
            lines, self._begun = lines.removeprefix(_BOM), True
        found = self._read(lines)
        self._held = sum(map(len, self._data))
        if end < len(data):
            self._hold(data[end:])
        elif self._held > self._most:
            raise self._too_long()
        return found

    def _hold(self, data: bytes) -> None:
        self._rest.append(data)
        self._held += len(data)
        if self._held > self._most:
            raise self._too_long()

    def _read(self, lines: bytes) -> list[Frame]:
        found: list[Frame] = []
        for line in lines.splitlines():
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif not line:
                if self._data:
                    data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                    found.append((self._name, data))
                    self._data = []
                self._name = ""
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ").decode("utf-8", "replace")
            elif line == b"data":
                self._data.append(b"")
        if any(len(data) > self._most for _, data in found):
            raise self._too_long()
        return found

    def _too_long(self) -> ProtocolError:
        return ProtocolError(f"an event of the stream has more than {self._most} bytes", code="stream.size")
