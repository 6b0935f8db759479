"""Ids that the other protocol takes: the same ones where it does, else made ones, the same for a call and its result.

Invariant: two calls that are apart in the source are apart in what is written.
"""

from __future__ import annotations

import re

from remit.check.convert.paper import Losses
from remit.check.pair import Pairs
from remit.check.transcript import Call, Form, Result

__all__ = ["Ids"]

_FIT = re.compile(r"[a-zA-Z0-9_-]+")
_LONGEST = 64


class Ids:
    """The ids of one transcript.

    Args:
        pairs: which result answers which call.
        to: the protocol that must take them.
        losses: where made ids are noted.
    """

    def __init__(self, pairs: Pairs, to: Form, losses: Losses) -> None:
        self._to: Form = to
        self._made: dict[int, str] = {}
        self._used = {one.id for rounds in pairs.rounds for one in rounds.calls}
        for pair in pairs.pairs:
            if not self._fits(pair.call.id) or not pair.result.id:
                self._name(pair.call, losses)
                self._made[id(pair.result)] = self._made.get(id(pair.call), pair.call.id)
        for rounds in pairs.rounds:
            for call in rounds.calls:
                if not self._fits(call.id):
                    self._name(call, losses)

    def of(self, item: Call | Result) -> str:
        """The id to write."""
        return self._made.get(id(item), item.id)

    def _fits(self, one: str) -> bool:
        match self._to:
            case "anthropic":
                return _FIT.fullmatch(one) is not None
            case "openai-chat":
                return bool(one)
            case "openai-responses":
                return 1 <= len(one) <= _LONGEST

    def _name(self, call: Call, losses: Losses) -> None:
        if id(call) in self._made or self._fits(call.id):
            return
        number = len(self._made) + 1
        while f"call_{number}" in self._used:
            number += 1
        self._used.add(f"call_{number}")
        self._made[id(call)] = f"call_{number}"
        why = "the call has none, and one was made" if not call.id else "the other provider does not take it, and one was made"
        losses.add(call.place, "id", why)
