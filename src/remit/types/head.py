"""Where runs stood at a moment, to be kept where nobody who can write the ledger can write.

Knows no store. Invariant: equal heads have one text, and a text that was changed is not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from remit.canonical import digest, encode, parse, to_plain
from remit.errors import InputError
from remit.types.given import is_count
from remit.types.ident import Digest, Json, RunId

__all__ = ["Head", "Heads"]

_FORM = "remit.head.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where one run stood: after how many events, in which page of the ledger, and under which hash. 0 and "": no event yet."""

    run: RunId
    sequence: int
    page: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """Where runs stood at one moment.

    Args:
        at_ms: when, by the clock of whoever asked.
        whole: whether these are all runs that there were.
    """

    at_ms: int
    whole: bool
    heads: tuple[Head, ...]

    @property
    def digest(self) -> Digest:
        """One digest over all of it: enough to be printed, signed or sent to somebody."""
        return digest(_FORM, encode(self._plain()))

    def of(self, run: RunId) -> Head | None:
        """That run's."""
        return next((one for one in self.heads if one.run == run), None)

    def plain(self) -> dict[str, Json]:
        """As a JSON document."""
        return {**self._plain(), "digest": self.digest}

    def _plain(self) -> dict[str, Json]:
        heads: list[Json] = [
            {"run": one.run, "sequence": one.sequence, "page": one.page, "hash": one.hash} for one in self.heads
        ]
        return {"form": _FORM, "at_ms": self.at_ms, "runs": "all" if self.whole else "some", "heads": heads}

    @staticmethod
    def read(text: str) -> Heads:
        """The heads in a JSON text.

        Raises:
            InputError: it holds none (`head.invalid`), or its digest is not that of what it says (`head.altered`).
        """
        try:
            found = cast("dict[str, Json]", to_plain(parse(text)))
            if found["form"] != _FORM or not is_count(found["at_ms"], 0) or found["runs"] not in ("all", "some"):
                raise ValueError
            heads = tuple(map(_head, cast("Sequence[dict[str, Json]]", found["heads"])))
            read = Heads(at_ms=found["at_ms"], whole=found["runs"] == "all", heads=heads)
            said = found["digest"]
        except (InputError, KeyError, TypeError, ValueError) as error:
            message = "this is no head of a ledger; give what `remit audit head` printed"
            raise InputError(message, code="head.invalid") from error
        if said != read.digest:
            raise InputError("the head was altered since it was exported, and proves nothing", code="head.altered")
        return read


def _head(one: dict[str, Json]) -> Head:
    run, sequence, page, link = one["run"], one["sequence"], one["page"], one["hash"]
    if not (isinstance(run, str) and isinstance(link, str) and is_count(sequence, 0) and is_count(page, 0)):
        raise ValueError
    return Head(run=RunId(run), sequence=sequence, page=page, hash=link)
