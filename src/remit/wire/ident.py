"""Call ids on the wire: labels that pair a call with its answer, and nothing more.

Knows no protocol. Invariant: after `settle` every id fits, is unique in its reply and new to the transcript.
"""

from __future__ import annotations

from collections.abc import Sequence
from re import Pattern
from typing import Literal

from remit.types.ident import Json
from remit.types.model import Mend, Reading
from remit.wire.text import storable

__all__ = ["settle"]


def settle(
    found: Sequence[Json], reading: Reading, *, fit: Pattern[str], reserved: frozenset[str] = frozenset()
) -> tuple[list[str], list[Mend]]:
    """The ids under which a reply's calls go on, in its order, and what was mended.

    Args:
        found: the provider's ids as read, None where there is none.
        fit: what a whole id must match.
        reserved: ids of other things in the same reply.
    """
    taken = set(reading.used_ids | reserved)
    natural = {one for one in found if isinstance(one, str)}
    ids: list[str] = []
    mends: list[Mend] = []
    for position, one in enumerate(found):
        fault = _fault(one, fit, taken)
        if fault is None and isinstance(one, str):
            now = one
        else:
            now = _fresh(reading.mint(position), taken | natural)
            mends.append(Mend(fault or "id.unfit", storable(one) if isinstance(one, str) else "", now, position))
        ids.append(now)
        taken.add(now)
    return ids, mends


def _fault(one: Json, fit: Pattern[str], taken: set[str]) -> Literal["id.missing", "id.duplicate", "id.unfit"] | None:
    if one is None or one == "":
        return "id.missing"
    if not isinstance(one, str) or not fit.fullmatch(one):
        return "id.unfit"
    return "id.duplicate" if one in taken else None


def _fresh(wanted: str, taken: set[str]) -> str:
    """The minted id, or the next one like it that nothing has."""
    name, count = wanted, 1
    while name in taken:
        name, count = f"{wanted}_{count}", count + 1
    return name
