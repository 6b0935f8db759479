"""The people of explored runs: whoever decides says yes, or does what the schedule says.

Knows what a paused run shows. Invariant: people act through the public verbs of an owner, as an application would have
them do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from remit.errors import Conflict, RemitError
from remit.owner import Remit
from remit.testing.explorer.room import Room
from remit.testing.explorer.scenario import MARK, Scenario
from remit.testing.explorer.stage import Mood
from remit.types.approval import Approval
from remit.types.ident import Json
from remit.types.principal import Principal
from remit.types.run import Paused

__all__ = ["Leaves", "People"]

_A_WHILE_S = 10 * 86_400.0
_ROUNDS = 40


class Leaves(Exception):
    """The process ends, and another takes its place; `altered`: one whose tools have other contracts."""

    def __init__(self, altered: bool) -> None:
        super().__init__("the process is replaced")
        self.altered = altered


class People:
    """Everybody who may say something about the runs of one schedule.

    Args:
        mode: what they do in place of saying yes.
        principal: whose scopes of now are asked for.
        payload: the order in what the user pasted.

    Attributes:
        now: the principal, as the application knows it now.
        pasted: what the user pasted.
    """

    def __init__(
        self, room: Room, scenario: Scenario, mode: str, mood: Mood, *, principal: Principal, payload: int | None
    ) -> None:
        self.now = principal
        self.pasted = MARK if payload is None else f"{MARK} order:{payload}"
        self._room = room
        self._scenario = scenario
        self._mode = mode
        self._mood = mood
        self._left = mode in ("deploy", "alter")

    async def principals(self, tenant: str, subject: str) -> Principal | None:
        """Who somebody is now."""
        return self.now if (self.now.tenant, self.now.subject) == (tenant, subject) else None

    async def speak(self, remit: Remit, standing: Paused) -> None:
        """Act on what a run waits for.

        Raises:
            Leaves: the process is to be replaced first.
        """
        if self._left:
            self._left = False
            raise Leaves(self._mode == "alter")
        for question in standing.questions:
            await self._answer(remit, question)
        for approval in standing.approvals:
            await self._decide(remit, approval, standing)

    async def _answer(self, remit: Remit, question: Approval) -> None:
        match self._mode:
            case "late":
                self._room.skew_s += _A_WHILE_S
            case "cancel":
                await remit.cancel(question.run, by="operator")
            case _:
                value: Json = "yes"
                await remit.answer(question, value, by=self.now)
                if self._mode == "twice":
                    await remit.answer(question, "no", by=self.now)

    async def _decide(self, remit: Remit, approval: Approval, standing: Paused) -> None:
        name = "approver" if approval.author is None else "second approver"
        person = Principal(name, approval.tenant, frozenset(approval.scope.split()))
        match self._mode:
            case "deny":
                await remit.decide(approval, False, by=person, reason="not this one")
            case "late":
                self._room.skew_s += _A_WHILE_S
            case "twice":
                both = (remit.decide(approval, allow, by=person) for allow in (True, False))
                await asyncio.gather(*both)
                await remit.decide(approval, True, by=person)
            case "edit":
                await self._edit(remit, approval, person)
            case "withdraw" if approval.operation is not None:
                await remit.withdraw(approval.operation, by="operator")
            case "cancel":
                await remit.cancel(standing.id, by="operator")
            case "revoke":
                self.now = Principal(self.now.subject, self.now.tenant)
                await remit.decide(approval, True, by=person)
            case "stricter" if not self._mood.strict:
                self._mood.strict = True
                await remit.decide(approval, True, by=person)
            case _:
                await remit.decide(approval, True, by=person)

    async def _edit(self, remit: Remit, approval: Approval, person: Principal) -> None:
        edited = None if approval.author is not None else self._scenario.edits.get(approval.tool)
        with suppress(Conflict):
            await remit.decide(approval, True, by=person, arguments=edited)

    def become_plain(self) -> None:
        """From now on they say yes."""
        self._mode = ""

    async def serve(self, remit: Remit) -> None:
        """Bring every run to its end."""
        for row in reversed(await remit.runs(limit=None)):
            if row.status == "ended":
                continue
            standing = await remit.run_to_end(row.id)
            for _ in range(_ROUNDS):
                if not isinstance(standing, Paused):
                    break
                await self.speak(remit, standing)
                standing = await remit.run_to_end(row.id)

    async def settle(self, remit: Remit, happened: Mapping[str, bool]) -> list[str]:
        """Say of each operation what the books say; what was wrong with that."""
        wrong: list[str] = []
        for operation, did in happened.items():
            try:
                row = await remit.settle(operation, did, by="operator", reason="looked in the books")
            except RemitError as error:
                wrong.append(f"operation {operation} could not be settled: {error.code}")
                continue
            if row.state != ("succeeded" if did else "failed"):
                wrong.append(f"operation {operation} was settled by a person and is {row.state}")
        return wrong
