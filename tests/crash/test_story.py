"""Stories that a seed tells: processes that leave in the middle, people who decide, edit, withdraw, settle and cancel."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from remit import (
    CANNOT_TELL,
    DID_NOT,
    TRUSTED,
    Agent,
    Budget,
    Context,
    Happened,
    InputError,
    NoEffect,
    Principal,
    Remit,
    ScriptedModel,
    Tool,
    always,
    call,
    idempotent,
    key,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.errors import Conflict, NotFound, RunOwned

ALICE = Principal("alice")
BOB = Principal("bob", scopes=frozenset({"boss"}))
PEOPLE_ARE_LATE = (Conflict, RunOwned, NotFound, InputError)


class Story:
    """One outside world, one ledger file, several processes one after the other."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.source = random.Random(seed)
        self.path = folder / "remit.db"
        self.effects: list[tuple[str, str]] = []
        self.ids: set[str] = set()
        self.turns = 0
        self.on_wait = self.source.choice(["hold", "answer"])
        self.protocol = self.source.choice(["anthropic", "openai-chat", "openai-responses"])

    # the world

    def act(self, kind: str, name: str, operation: str) -> str:
        """What may go wrong before the effect, and after it."""
        chance = self.source.random()
        if chance < 0.1:
            raise NoEffect("declined")
        if chance < 0.2:
            raise ConnectionError("before")
        if kind != "keyed" or operation not in self.ids:
            self.effects.append((kind, name))
        self.ids.add(operation)
        if chance < 0.5:
            raise ConnectionError("after")
        return "done"

    def look(self, arguments: dict[str, str], ctx: object) -> object:
        if self.source.random() < 0.6:
            return CANNOT_TELL
        return Happened("done") if ("asked", arguments["name"]) in self.effects else DID_NOT

    def tools(self) -> list[Tool]:
        recoveries = {
            "keyed": idempotent(window_s=60),
            "asked": reconcile(self.look, settle_s=0.01),
            "blind": manual,
        }
        return [self.writer(kind, recovery, signed) for kind, recovery in recoveries.items() for signed in (False, True)]

    def writer(self, kind: str, recovery: object, signed: bool) -> Tool:
        @tool(
            name=f"{kind}_signed" if signed else kind,
            effect=write(once_per=key(kind, "name"), recovery=recovery),  # type: ignore[arg-type]
            timeout_s=0.05,
            approve=always(scope="boss") if signed else never,
            label=TRUSTED,
        )
        async def act(name: str, number: int, ctx: Context[None]) -> str:
            """Act.

            Args:
                name: what
                number: how much
            """
            assert ctx.operation_id is not None
            if self.source.random() < 0.1:
                await asyncio.sleep(0.1)
            done = self.act(kind, name, ctx.operation_id)
            if self.source.random() < 0.1:
                await asyncio.sleep(0.1)
            return done

        return act

    def reply(self, body: dict[str, object]) -> object:
        self.turns += 1
        if self.source.random() < 0.35 or self.turns > 12:
            return "Done."
        names = [one.name for one in self.tools()]
        return [
            call(self.source.choice(names), name=self.source.choice("xyz"), number=self.source.choice([1, 1, 1, 2]))
            for _ in range(self.source.randint(1, 3))
        ]

    # the processes

    def process(self) -> Remit:
        model = ScriptedModel(self.reply, protocol=self.protocol)  # type: ignore[arg-type]
        budget = Budget(turns=6, repeats=3)
        agent = Agent("a", model=model, instructions="Act.", tools=self.tools(), on_wait=self.on_wait, budget=budget)  # type: ignore[arg-type]
        return Remit(ledger=self.path, agents=[agent], drain_s=0)

    async def live(self, *, first: bool) -> None:
        """One process: it is asked for something, people do what they like, and it leaves, politely or not."""
        remit = self.process()
        await remit.__aenter__()
        if first or self.source.random() < 0.5:
            request = f"q{self.source.randint(0, 2)}"
            await remit.submit("a", "go", principal=ALICE, conversation="c", request_id=request)
        for _ in range(self.source.randint(1, 5)):
            await pause(self.source.random() * 0.05)
            with contextlib.suppress(*PEOPLE_ARE_LATE):
                await self.meddle(remit)
        if self.source.random() < 0.7:
            await remit.abandon()
        else:
            await remit.__aexit__(None, None, None)

    async def meddle(self, remit: Remit) -> None:
        chance, waiting = self.source.random(), await remit.approvals()
        if waiting and chance < 0.6:
            await self.decide(remit, self.source.choice(waiting))
        elif chance < 0.75:
            unknown = await remit.operations(state=("unknown",))
            if unknown:
                row = self.source.choice(unknown)
                happened = (kind_of(row.tool), json.loads(row.arguments)["name"]) in self.effects
                await remit.settle(row, happened, by=BOB, reason="the books say so")
        elif chance < 0.8:
            rows = await remit.runs()
            if rows:
                await remit.cancel(self.source.choice(rows).id, by="ops")
        elif chance < 0.9:
            await remit.recover()

    async def decide(self, remit: Remit, row: object) -> None:
        chance = self.source.random()
        if chance < 0.15 and row.operation is not None:  # type: ignore[attr-defined]
            await remit.withdraw(row.operation, by="ops")  # type: ignore[attr-defined]
        elif chance < 0.3:
            mine = {"name": self.source.choice("xyz"), "number": 7}
            await remit.decide(row, True, by=BOB, arguments=mine)  # type: ignore[arg-type]
        else:
            await remit.decide(row, chance < 0.8, by=BOB)  # type: ignore[arg-type]

    async def end(self) -> list[str]:
        """The last process: everything is decided, everything ends; and what is wrong then."""
        async with self.process() as remit:
            for _ in range(400):
                if all(one.status == "ended" for one in await remit.runs()):
                    break
                for row in await remit.approvals():
                    with contextlib.suppress(*PEOPLE_ARE_LATE):
                        await remit.decide(row, self.source.random() < 0.5, by=BOB)
                await pause(0.01)
            return await self.wrong(remit)

    async def wrong(self, remit: Remit) -> list[str]:
        found = [f"happened {times} times: {what}" for what, times in Counter(self.effects).items() if times > 1]
        for row in await remit.runs():
            if row.status != "ended":
                found.append(f"{row.id} is {row.status}")
                continue
            events = [one.event for one in await remit.events(row.id)]
            made = Counter(f"{one.turn}.{made.position}" for one in events if one.kind == "model.replied" for made in one.calls)
            if made != Counter(one.call for one in events if one.kind == "call.ended"):
                found.append(f"{row.id} does not have one answer for each proposal")
        operations = await remit.operations(limit=10_000)
        succeeded = {(kind_of(one.tool), json.loads(one.arguments)["name"]) for one in operations if one.state == "succeeded"}
        possible = succeeded | {
            (kind_of(one.tool), json.loads(one.arguments)["name"]) for one in operations if one.state == "unknown"
        }
        found += [f"recorded, and did not happen: {one}" for one in succeeded - {*self.effects}]
        found += [f"happened, and is not recorded: {one}" for one in {*self.effects} - possible]
        return found + await remit.verify()


def kind_of(name: str) -> str:
    return name.partition("_")[0]


async def pause(seconds: float) -> None:
    """Let the process go on for a moment."""
    await asyncio.sleep(seconds)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_story_a_seed_tells_each_effect_happens_once_and_each_call_has_one_answer(seed: int, tmp_path: Path) -> None:
    async def tell() -> list[str]:
        async with asyncio.timeout(30):
            story = Story(seed, tmp_path)
            for life in range(story.source.randint(1, 3)):
                await story.live(first=life == 0)
            return await story.end()

    assert asyncio.run(tell()) == []
