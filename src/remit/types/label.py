"""Labels: where a value came from and who may read it. Immutable; `join` is the only way to combine."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EVERYONE", "TRUSTED", "UNTRUSTED", "Label"]

EVERYONE: None = None
"""The reader set that excludes nobody."""


@dataclass(frozen=True, slots=True)
class Label:
    """Integrity x readers x sources.

    Args:
        trusted: whether somebody who could steer the model may have written it (False) or not.
        readers: subjects who may read it; `EVERYONE` (None) excludes nobody, an empty set everybody.
        sources: names of what it came from, for people to read.
    """

    trusted: bool
    readers: frozenset[str] | None = EVERYONE
    sources: frozenset[str] = frozenset()

    def join(self, other: Label) -> Label:
        """What holds both: trusted only if both are, readable only by those who may read both."""
        if other.trusted and other.readers is None and not other.sources:
            return self
        if self.readers is None:
            readers = other.readers
        else:
            readers = self.readers if other.readers is None else self.readers & other.readers
        return Label(self.trusted and other.trusted, readers, self.sources | other.sources)

    def may_flow_to(self, readers: frozenset[str] | None) -> bool:
        """Whether everybody in `readers` may read this."""
        if self.readers is None:
            return True
        return readers is not None and readers <= self.readers


TRUSTED = Label(trusted=True)
UNTRUSTED = Label(trusted=False)
