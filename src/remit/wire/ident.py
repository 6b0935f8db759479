"""Call ids on the wire: labels that pair a call with its answer, and nothing more.

Knows no protocol. Invariant: after `settle` every id fits, is unique in its reply and new to the transcript.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from re import Pattern
from typing import Literal

from remit.types.ident import Json
from remit.types.model import Mend, Reading
from remit.wire.write import storable

__all__ = ["settle"]


def settle(
    found: Sequence[Json], reading: Reading, *, fit: Pattern[str], reserved: Set[str] = frozenset()
) -> tuple[list[str], list[Mend]]:
    """The ids under which a reply's calls go on, in its order, and what was mended.

    Args:
        found: the provider's ids as read, None where there is none.
        fit: what a whole id must match.
        reserved: ids of other things in the same reply.
    """
    used, taken = reading.used_ids, set(reserved)
    ids: list[str] = []
    mends: list[Mend] = []
    for position, one in enumerate(found):
        if isinstance(one, str) and one not in taken and one not in used and fit.fullmatch(one):
            now = one
        else:
            now = _fresh(reading.mint(position), (used, taken, {other for other in found if isinstance(other, str)}))
            mends.append(Mend(_fault(one, fit), storable(one) if isinstance(one, str) else "", now, position))
        ids.append(now)
        taken.add(now)
    return ids, mends


def _fault(one: Json, fit: Pattern[str]) -> Literal["id.missing", "id.duplicate", "id.unfit"]:
    if one is None or one == "":
        return "id.missing"
    return "id.duplicate" if isinstance(one, str) and fit.fullmatch(one) else "id.unfit"


def _fresh(wanted: str, taken: Sequence[Set[str]]) -> str:
    """The minted id, or the next one like it that nothing has."""
    name, count = wanted, 1
    while any(name in ids for ids in taken):
        name, count = f"{wanted}_{count}", count + 1
    return name
