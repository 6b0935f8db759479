"""Reading an imported history: the checks that its three protocols share.

Knows no protocol. Invariant: an error names the place and never what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remit.errors import ProtocolError
from remit.types.ident import Json

__all__ = ["Rounds", "member_list", "member_text", "objects", "refused", "role_of"]


def refused(place: str, why: str) -> ProtocolError:
    """The error for a history that the provider would refuse, or that must not be imported."""
    return ProtocolError(f"{place}: {why}", code="protocol.history", place=place)


def objects(values: Sequence[Json], place: str) -> list[Mapping[str, Json]]:
    """The values, all of which must be JSON objects."""
    found: list[Mapping[str, Json]] = []
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            raise refused(f"{place}[{index}]", "is not an object")
        found.append(value)
    return found


def role_of(message: Mapping[str, Json], place: str, roles: Sequence[str]) -> str:
    """A message's role, one of `roles`. Instructions come from the agent, never from a history."""
    role = message.get("role")
    if role in ("system", "developer"):
        raise refused(place, "instructions come from the agent; leave system messages out")
    if not isinstance(role, str) or role not in roles:
        raise refused(f"{place}.role", f"must be one of {', '.join(roles)}")
    return role


def member_text(value: Mapping[str, Json], key: str, place: str) -> str:
    """A member that must be a string with something in it."""
    text = value.get(key)
    if not isinstance(text, str) or not text:
        raise refused(f"{place}.{key}", "must be a string that is not empty")
    return text


def member_list(value: Mapping[str, Json], key: str, place: str) -> list[Mapping[str, Json]]:
    """A member that must be an array of objects; none where it is absent or null."""
    items = value.get(key)
    if items is None:
        return []
    if not isinstance(items, list):
        raise refused(f"{place}.{key}", "must be an array")
    return objects(items, f"{place}.{key}")


class Rounds:
    """Calls that wait for their answers, each of which comes once."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._answered: set[str] = set()

    @property
    def waiting(self) -> bool:
        return bool(self._open)

    def called(self, wire_id: str, place: str) -> None:
        """A call under a new id."""
        if wire_id in self._open or wire_id in self._answered:
            raise refused(place, "has the id of an earlier call")
        self._open[wire_id] = place

    def answered(self, wire_id: str, place: str) -> None:
        """An answer to an open call."""
        if wire_id in self._answered:
            raise refused(place, "answers a call a second time")
        if self._open.pop(wire_id, None) is None:
            raise refused(place, "answers no call that waits for it")
        self._answered.add(wire_id)

    def closed(self, why: str = "has no answer right after it") -> None:
        """Every call has had its answer."""
        for place in self._open.values():
            raise refused(place, why)

    def forget(self) -> None:
        """Ids may be used again from here."""
        self._answered.clear()
