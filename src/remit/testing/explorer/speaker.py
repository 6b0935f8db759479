"""The model of explored runs: it says what the scenario's script says next, and sees that it is asked by the provider's rules.

Knows scripts, protocols and the rules of the fake provider. Invariant: what it says follows from what it is sent; only
whether the reply arrives is the schedule's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from remit import ambient
from remit.errors import ModelError
from remit.model import Said, ScriptedModel
from remit.testing.explorer.scenario import MARK, Scenario, Script
from remit.testing.explorer.schedule import Schedule
from remit.testing.provider.asked import Asked
from remit.testing.provider.book import RULES
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import first_broken
from remit.types.ident import Json
from remit.types.model import ProtocolName, Streaming

__all__ = ["Speaker", "tagged"]

_TAG = re.compile(r"\((?:request|task) ([\w.-]+)\)")
_ORDER = re.compile(rf"{MARK} order:(\d+)")
_FINAL = "That is all."


def tagged(text: str, number: int) -> str:
    """A request's words, by which the model knows it again."""
    return f"{text} (request {number})"


class Speaker:
    """What stands for the model in all processes of a schedule.

    Args:
        known: digests of requests that keep the rules, shared by all schedules.

    Attributes:
        asked: how many requests arrived.
        broken: the rules that requests broke.
        bodies: what it was sent.
    """

    def __init__(self, scenario: Scenario, schedule: Schedule, protocol: ProtocolName, known: set[int]) -> None:
        self.asked = 0
        self.broken: list[str] = []
        self.bodies: list[bytes] = []
        self._scenario = scenario
        self._protocol: ProtocolName = protocol
        self._modes = {one.nth: one.mode for one in schedule.of("model")}
        self._known = known

    def model(self) -> ScriptedModel:
        """A model of one process."""
        return _Model(self, self._protocol)

    async def hear(self, body: bytes) -> None:
        """Take a request in; it may go wrong.

        Raises:
            ModelError: its reply does not arrive.
        """
        self.asked += 1
        self.bodies.append(body)
        self._judge(body)
        match self._modes.get(self.asked, ""):
            case "lost":
                raise ModelError("the connection was lost", code="model.unavailable", retryable=True, sent=True)
            case "limited":
                raise ModelError("too many requests", code="model.rate_limited", retryable=True, status=429, retry_after_s=1.0)
            case "slow":
                await ambient.sleep(5.0)
            case _:
                pass

    def say(self, body: dict[str, Json]) -> Said:
        """What comes next."""
        if self._modes.get(self.asked) == "garbage":
            return b"<html>no service</html>"
        name, turn = _place(body)
        script = self._script(name)
        if callable(script):
            return script(body)
        if self._scenario.swaps and (order := _last_order(body)) is not None and not _obeyed(body):
            return tuple(self._scenario.swaps[order]) or _FINAL
        return script[turn] if turn < len(script) else _last(script)

    def _script(self, name: str) -> Script:
        if name.isdigit():
            return self._scenario.scripts[int(name)]
        return self._scenario.children.get(name, ())

    def _judge(self, body: bytes) -> None:
        if hash(body) in self._known:
            return
        broken = first_broken(RULES[self._protocol], Asked(self._protocol, body, Memory()))
        if broken is None:
            self._known.add(hash(body))
        else:
            self.broken.append(f"{broken.code}: {broken.message}")


def _last(script: Sequence[Said]) -> Said:
    """What is said when everything was: the answer once more."""
    return script[-1] if script and isinstance(script[-1], str) else _FINAL


class _Model(ScriptedModel):
    """A scripted model that hears before it says."""

    def __init__(self, speaker: Speaker, protocol: ProtocolName) -> None:
        super().__init__(speaker.say, protocol=protocol)
        self._speaker = speaker

    async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
        """The next reply, if it arrives."""
        await self._speaker.hear(body)
        return await super().ask(body, stream)


def _messages(body: dict[str, Json]) -> Sequence[Json]:
    listed = body.get("messages", body.get("input"))
    return listed if isinstance(listed, list) else [listed]


def _is_model(message: Json) -> bool:
    if not isinstance(message, dict):
        return False
    return message.get("role") == "assistant" or message.get("type") in ("function_call", "reasoning")


def _place(body: dict[str, Json]) -> tuple[str, int]:
    """Which script is played, and how many replies it had."""
    name, turns = "", 0
    spoke = False
    for message in _messages(body):
        if _is_model(message):
            turns += not spoke
            spoke = True
            continue
        spoke = False
        found = _TAG.findall(str(message))
        if found and isinstance(message, dict) and message.get("role") == "user":
            name, turns = str(found[-1]), 0
    return name, turns


def _last_order(body: dict[str, Json]) -> int | None:
    found = _ORDER.findall(str(_messages(body)))
    return int(found[-1]) if found else None


def _obeyed(body: dict[str, Json]) -> bool:
    """Whether the model has spoken since it read the order."""
    spoke = False
    for message in _messages(body):
        if not _is_model(message) and _ORDER.search(str(message)):
            spoke = False
        elif _is_model(message):
            spoke = True
    return spoke
