"""Masking of a text while it is being written.

Knows the shapes of secrets and no screen. Invariant: what it lets out, one piece after the other, is what the whole text
is when it is masked at once; so what may still become part of a secret is held back until it is known.
"""

from __future__ import annotations

from remit.trace.engine import compiled
from remit.trace.redact import MASK, Redactor

__all__ = ["StreamRedactor"]

_MASK = MASK.encode()
_SPACE = (b" ", b"\t", b"\n", b"\r", b"\f")
"""White space as rules have it: none of them looks across it from one side, and words are whole before it."""
_ALONE = "\u2e80"
"""From here on a letter is a word of its own, as scripts without spaces have them; no shape begins with one."""
_SHARE = 32
"""Looked at anew is what is held once it has grown by so large a part, so that the work stays linear."""


class StreamRedactor:
    """Takes a text piece by piece, and gives what of it can be shown.

    Args:
        redactor: what is masked.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._declared = _Declared(redactor) if redactor.spellings else None
        self._shapes = _Shapes(redactor) if redactor.rules else None

    def feed(self, text: str) -> str:
        """What may be shown now that this was written."""
        if self._declared is None and self._shapes is None:
            return text
        data = text.encode("utf-8", "replace")
        if self._declared is not None:
            data = self._declared.feed(data)
        if self._shapes is not None:
            data = self._shapes.feed(data)
        return data.decode()

    def end(self) -> str:
        """The rest: nothing more is written. Then it begins anew."""
        data = b"" if self._declared is None else self._declared.end()
        if self._shapes is not None:
            data = self._shapes.feed(data) + self._shapes.end()
        return data.decode()


class _Declared:
    """The first of two passes: values that were declared secret are masked."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        forms = [*(form.encode() for form in redactor.spellings), _MASK]
        self._begins = frozenset(form[:size] for form in forms for size in range(1, len(form)))
        self._longest = max(map(len, forms))
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        self._held += data
        cut = self._settled(self._held)
        shown, self._held = self._held[:cut], self._held[cut:]
        return self._redactor.without_declared(shown)

    def end(self) -> bytes:
        shown, self._held = self._held, b""
        return self._redactor.without_declared(shown)

    def _settled(self, data: bytes) -> int:
        """How much of the beginning is masked the same, whatever follows."""
        last = range(max(0, len(data) - self._longest), len(data))
        cut = next((at for at in last if data[at:] in self._begins), len(data))
        return next((begin for begin, end in self._redactor.declared_spans(data) if begin < cut < end), cut)


class _Shapes:
    """The second: what has the shape of a secret. A mask is an end to every shape."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        opens = "|".join(rule.opens for rule in redactor.rules if rule.opens)
        self._open = compiled(rf"(?:{opens})\z") if opens else None
        self._held = b""
        self._new = b""

    def feed(self, data: bytes) -> bytes:
        self._new += data
        if len(self._new) * _SHARE < len(self._held):
            return b""
        held, self._new = self._held + self._new, b""
        masked = held.rfind(_MASK)
        begin = 0 if masked < 0 else masked + len(_MASK)
        cut = begin + self._settled(held[begin:])
        self._held = held[cut:]
        return self._masked(held[:cut])

    def end(self) -> bytes:
        shown, self._held, self._new = self._held + self._new, b"", b""
        return self._masked(shown)

    def _settled(self, data: bytes) -> int:
        """How much of the beginning is masked the same, whatever follows: whole words that no shape goes out of."""
        cut = _whole_words(data)
        if cut == 0:
            return 0
        begun = None if self._open is None else self._open.search(data)
        if begun is not None:
            cut = min(cut, begun.span()[0])
        for begin, end in reversed(self._redactor.shape_spans(data)):
            if begin < cut and (end > cut or end == len(data)):
                cut = begin
            elif end <= cut:
                rounded = _whole_words(data[:cut])
                if end <= rounded:
                    return rounded
                cut = min(begin, rounded)
        return _whole_words(data[:cut])

    def _masked(self, data: bytes) -> bytes:
        return self._redactor.text(data.decode()).encode() if data else data


def _whole_words(data: bytes) -> int:
    """How much of it are whole words."""
    cut = max(data.rfind(space) for space in _SPACE) + 1
    for letter in data[cut:].decode():
        if letter < _ALONE:
            break
        cut += len(letter.encode())
    return cut
