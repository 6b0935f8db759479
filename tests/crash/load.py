"""What runs in the processes that are killed: agents with a tool of every kind, requests without end, people who decide.

Invariant: what a model says follows from the request that it answers, and what the outside world does to a call from the
seed and the life of the process; nothing here depends on what an earlier life held in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from crash.service import Service
from crash.store import ledger_of, on_server
from remit import (
    CALL,
    CANNOT_TELL,
    CONVERSATION,
    DID_NOT,
    READ,
    RUN,
    TRUSTED,
    Agent,
    Budget,
    Context,
    Happened,
    NoEffect,
    Principal,
    Remit,
    ScriptedModel,
    Tool,
    always,
    ask_user,
    call,
    idempotent,
    key,
    manual,
    never,
    reconcile,
    tool,
    transactional,
    write,
)
from remit.errors import Conflict, InputError, NotFound, RemitError, RunOwned
from remit.testing.provider.asked import Asked
from remit.testing.provider.memory import Memory
from remit.testing.provider.provider import RULES
from remit.testing.provider.rule import first_broken
from remit.types.model import Streaming

ALICE = Principal("alice")
BOB = Principal("bob", scopes=frozenset({"boss", "remit:approve"}))
PROTOCOLS = ("anthropic", "openai-chat", "openai-responses")
LATE = (Conflict, RunOwned, NotFound, InputError)
TIMEOUT_S = 0.5
SETTLE_S = 1.0
MANY = 8
"""Runs at once."""


@dataclass
class World:
    """What a process knows: the way to the service, and how the world treats it in this life."""

    folder: Path
    service: Service
    chance: random.Random
    calm: bool = False
    never: threading.Event = field(default_factory=threading.Event)

    def wrong(self, what: str) -> None:
        """Keep something that must not be for whoever looks afterwards."""
        wrong(self.folder, what)

    def fate(self) -> float:
        return 1.0 if self.calm else self.chance.random()


def wrong(folder: Path, what: str) -> None:
    """Keep it."""
    with (folder / "wrong").open("a") as kept:
        kept.write(what.replace("\n", " | ") + "\n")


async def act(kind: str, name: str, ctx: Context[World], *, dedupes: bool = False, atomic: bool = False) -> str:
    """What may go wrong before an effect, beside it and after it."""
    world = ctx.deps
    fate = world.fate()
    if fate < 0.05:
        raise NoEffect("declined")
    if fate < 0.1:
        raise ConnectionError("before")
    late_s = TIMEOUT_S + 0.2 if fate < 0.14 else world.chance.random() * 0.05
    entry = {"tool": kind, "name": name, "operation": ctx.operation_id, "attempt": ctx.attempt}
    await world.service.ask(do="act", dedupes=dedupes, late_s=late_s, **entry)
    if fate < 0.2 and not atomic:
        raise ConnectionError("after")
    return "done"


async def look(arguments: object, ctx: Context[World]) -> object:
    """The service's own word, where it is heard."""
    fate = ctx.deps.fate()
    if fate < 0.1:
        return CANNOT_TELL
    if fate < 0.15:
        raise ConnectionError("the service does not answer")
    said = await ctx.deps.service.ask(do="look", operation=ctx.operation_id)
    return Happened("done") if said["happened"] else DID_NOT


KINDS: dict[str, tuple[object, object, bool]] = {
    "keyed": (key("keyed", "name"), idempotent(window_s=600), False),
    "asked": (key("asked", "name"), reconcile(look, settle_s=SETTLE_S), False),
    "blind": (key("blind", "name"), manual, False),
    "whole": (key("whole", "name"), reconcile(look, settle_s=SETTLE_S), True),
    "mail": (CALL, idempotent(window_s=600), False),
    "note": (RUN, reconcile(look, settle_s=SETTLE_S), False),
    "post": (CONVERSATION, manual, False),
}
"""Sameness, recovery, and whether an exception proves that nothing happened."""


def writer(kind: str, *, signed: bool = False) -> Tool:
    once_per, recovery, atomic = KINDS[kind]

    @tool(
        name=f"{kind}_signed" if signed else kind,
        effect=write(once_per=once_per, recovery=recovery, atomic=atomic),  # type: ignore[arg-type]
        timeout_s=TIMEOUT_S,
        approve=always(scope="boss", expires_s=20) if signed else never,
        resources=("name",) if kind == "note" else None,
        label=TRUSTED,
    )
    async def effect(name: str, number: int, ctx: Context[World]) -> str:
        """Write.

        Args:
            name: what
            number: how much
        """
        return await act(kind, name, ctx, dedupes=kind in ("keyed", "mail"), atomic=atomic)

    return effect


@tool(
    effect=write(once_per="name", recovery=reconcile(look, settle_s=SETTLE_S)),
    timeout_s=TIMEOUT_S,
    approve=never,
    label=TRUSTED,
)
def slow(name: str, number: int, ctx: Context[World]) -> str:
    """Write from a thread, that may be late.

    Args:
        name: what
        number: how much
    """
    world = ctx.deps
    fate = world.fate()
    if fate < 0.2:
        world.never.wait(TIMEOUT_S + fate)
    entry = {"tool": "slow", "name": name, "operation": ctx.operation_id, "attempt": ctx.attempt}
    world.service.ask_sync(do="act", dedupes=False, **entry)
    if 0.2 <= fate < 0.3:
        raise ConnectionError("after")
    return "done"


@tool(effect=write(once_per="name", recovery=transactional), timeout_s=TIMEOUT_S, approve=never, label=TRUSTED)
def entered(name: str, number: int, ctx: Context[World]) -> str:
    """Write into the ledger's own database.

    Args:
        name: what
        number: how much
    """
    fate = ctx.deps.fate()
    if fate < 0.1:
        raise NoEffect("declined")
    if not on_server(ctx.deps.folder):
        ctx.connection.execute("CREATE TABLE IF NOT EXISTS entered (operation TEXT, name TEXT)")
    ctx.connection.execute("INSERT INTO entered VALUES (?, ?)", (ctx.operation_id, name))
    if fate < 0.2:
        raise ConnectionError("after")
    return "done"


@tool(effect=READ, timeout_s=TIMEOUT_S, label=TRUSTED)
async def look_up(name: str, ctx: Context[World]) -> str:
    """Read.

    Args:
        name: what
    """
    await ctx.deps.service.ask(do="look", operation=name)
    return name


WRITES = (
    [writer(kind) for kind in KINDS]
    + [writer(kind, signed=True) for kind in ("keyed", "asked", "blind", "mail")]
    + [slow, entered]
)


# the model


def reply(body: dict[str, object]) -> object:
    """What is said follows from the request alone: some calls, equal and conflicting ones among them, or the end."""
    text = json.dumps(body)
    listed = body.get("messages", body.get("input"))
    assert isinstance(listed, list)
    number = int(re.findall(r"go (\d+)\.", text)[-1])
    source = random.Random(f"{number}/{len(listed)}")
    said = text.rpartition(f"go {number}.")[2]
    if said.count("call_") > 1 and source.random() < 0.4:
        return "Done."
    calls = [_proposal(source, number) for _ in range(source.randint(1, 4))]
    return [*calls, calls[0]] if source.random() < 0.2 else calls


def _proposal(source: random.Random, number: int) -> object:
    chance = source.random()
    if chance < 0.15:
        return call("look_up", name=f"{number}")
    if chance < 0.2:
        return call("ask_user", question="Really?")
    near = max(0, number * 3 + source.randint(-4, 2))
    return call(source.choice(WRITES).name, name=f"n{near}", number=source.choice([1, 1, 1, 1, 2]))


class Checked(ScriptedModel):
    """Looks at each request as the provider would."""

    def __init__(self, protocol: str, wrong: Callable[[str], None]) -> None:
        super().__init__(reply, protocol=protocol)  # type: ignore[arg-type]
        self._report = wrong

    async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
        broken = first_broken(RULES[self.wire.protocol], Asked(self.wire.protocol, body, Memory()))
        if broken is not None:
            self._report(f"the transcript breaks {broken.code}: {broken.message}")
        self.requests.clear()
        await asyncio.sleep(0.005)
        return await super().ask(body, stream)


def owner(world: World) -> Remit:
    agents = [
        Agent(
            protocol,
            model=Checked(protocol, world.wrong),
            instructions="Write.",
            tools=[*WRITES, look_up, ask_user],
            on_wait="answer" if protocol == "openai-chat" else "hold",
            budget=Budget(turns=6, repeats=20),
        )
        for protocol in PROTOCOLS
    ]
    return Remit(ledger=ledger_of(world.folder), agents=agents, deps=world, drain_s=0)


# the processes


async def work(world: World, life: int, ready: Callable[[], None]) -> None:
    """A process that is asked for ever more, until it is killed."""
    async with owner(world) as remit:
        ready()
        made = 0
        while True:
            going = await remit.runs(status=("active", "paused", "queued"), limit=None)
            active = [row for row in going if row.status == "active"]
            for _ in range(min(MANY - len(active), 3 * MANY - len(going))):
                made += 1
                await _ask(remit, world, life * 50 + made % 50)
            if going and world.chance.random() < 0.03:
                await remit.cancel(world.chance.choice(going).id, by="ops")
            await asyncio.sleep(0.03)


async def _ask(remit: Remit, world: World, number: int) -> None:
    """For something new, perhaps twice at once; or for what an earlier life was asked for."""
    if world.chance.random() < 0.2:
        number = max(1, number - world.chance.randint(1, 120))
    times = 2 if world.chance.random() < 0.3 else 1
    runs = await asyncio.gather(*(_submit(remit, number) for _ in range(times)))
    if len(set(runs)) > 1:
        world.wrong(f"request {number} became several runs: {sorted(set(runs))}")


async def _submit(remit: Remit, number: int) -> str:
    conversation = f"c{number // 9}" if number % 3 == 0 else None
    agent = PROTOCOLS[(number // 9) % 3]
    run = await remit.submit(agent, f"go {number}.", principal=ALICE, conversation=conversation, request_id=f"q{number}")
    return run.id


async def people(world: World, *, all_of_it: bool = False) -> None:
    """Another process, in which people decide, sometimes twice, sometimes what they do not mean."""
    async with Remit(ledger=ledger_of(world.folder)) as remit:
        while True:
            for row in await remit.approvals(limit=None):
                if all_of_it or world.chance.random() < 0.4:
                    with contextlib.suppress(*LATE):
                        await decide(remit, world, row)
            await asyncio.sleep(0.03)


async def decide(remit: Remit, world: World, row: object) -> None:
    """One word about one request, and perhaps another one after it."""
    chance = world.chance.random()
    if row.kind == "question":  # type: ignore[attr-defined]
        await remit.answer(row, "yes", by=ALICE if chance < 0.5 else BOB)  # type: ignore[arg-type]
        return
    if chance < 0.05 and row.operation is not None:  # type: ignore[attr-defined]
        await remit.withdraw(row.operation, by="ops")  # type: ignore[attr-defined]
        return
    arguments = {**json.loads(row.arguments), "number": 7} if chance < 0.12 else None  # type: ignore[attr-defined]
    first = await remit.decide(row, chance < 0.85, by=BOB, arguments=arguments)  # type: ignore[arg-type]
    if world.chance.random() < 0.3:
        second = await remit.decide(row, world.chance.random() < 0.5, by=BOB)  # type: ignore[arg-type]
        if (second.decided_by, second.decided_ms, second.edited) != (first.decided_by, first.decided_ms, first.edited):
            world.wrong(f"{row.id} was decided twice")  # type: ignore[attr-defined]


async def end(world: World) -> list[str]:
    """The last process: nothing new, everything is decided, nothing is settled by hand. The operations still unknown."""
    world.calm = True
    async with owner(world) as remit:
        deciding = asyncio.ensure_future(people(world, all_of_it=True))
        try:
            async with asyncio.timeout(180):
                seen = 0
                while await remit.runs(status=("active", "paused", "queued"), limit=1):
                    seen = await remit.ledger.changed(seen, timeout_s=0.5)
        except TimeoutError:
            world.wrong("not all runs come to their end")
        finally:
            deciding.cancel()
            await asyncio.gather(deciding, return_exceptions=True)
        await asyncio.sleep(TIMEOUT_S + SETTLE_S)
        with contextlib.suppress(RemitError):
            await remit.recover()
        return [one.id for one in await remit.recover()]
