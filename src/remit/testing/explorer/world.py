"""The outside world: what tools do in place of their handlers, to books of its own, well or in one of the ways it can go wrong.

Knows what tools declare about themselves, and keeps to it: an atomic tool's error means that nothing happened, a service
that dedupes does so within its window, and nothing lands later than a tool says it can. Invariant: a dead process does
nothing here any more, but for what it had sent before.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import TypeVar

from remit import ambient
from remit.canonical import encode
from remit.ledger import MemoryLedger
from remit.testing.explorer.books import Attempt, Books, Effect
from remit.testing.explorer.room import Room
from remit.testing.explorer.scenario import MARK, Scenario
from remit.testing.explorer.schedule import Schedule, plain_word
from remit.tool import CANNOT_TELL, DID_NOT, Arguments, Context, Happened, InDoubt, NoEffect, Tool
from remit.types.event import UndoBegun
from remit.types.ident import Json, RunId

__all__ = ["CANARY", "World", "now"]

T = TypeVar("T")

CANARY = "canary-7f3a9c51e2"
"""The declared secret that the world puts into whatever it says."""


class Outage(Exception):
    """What the world raises where something is not available."""


def now(coroutine: Coroutine[object, object, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise AssertionError("this must not wait")


class World:
    """The world of one schedule.

    Args:
        store: to see what is durable when an attempt begins.
        payload: what the untrusted results say, as a number that the model understands; None: nothing.
    """

    def __init__(self, room: Room, store: MemoryLedger, schedule: Schedule, scenario: Scenario, payload: int | None) -> None:
        self.books = Books()
        self._room = room
        self._store = store
        self._scenario = scenario
        self._payload = payload
        self._modes = {(one.subject, one.nth): one.mode for one in schedule.of("world")}
        self._modes |= {(f"check:{one.subject}", one.nth): one.mode for one in schedule.of("check")}
        self._answers = {one.subject: one.mode for one in schedule.of("ask")}
        self._uncommitted: tuple[Tool, Attempt] | None = None
        self._overrun = False
        self.tried: Counter[str] = Counter()

    def calm_down(self) -> None:
        """From now on no attempt goes wrong any more."""
        self._modes.clear()

    # reads

    async def read(self, tool: Tool, arguments: dict[str, Json], ctx: Context[object]) -> object:
        """What a tool that changes nothing does."""
        del arguments, ctx
        mode = self._mode(tool)
        await asyncio.sleep(0)
        match mode:
            case "fail" | "lost" | "doubt":
                raise Outage(f"not available: {CANARY}")
            case "refuse" | "late-refuse":
                raise NoEffect(f"nothing there: {CANARY}")
            case "hang" | "late" | "after":
                await ambient.sleep(tool.timeout_s * 3)
            case "odd":
                return object()
            case _:
                pass
        return self._result(tool)

    # writes

    async def write(self, tool: Tool, arguments: dict[str, Json], ctx: Context[object], process: int) -> object:
        """What a tool that changes something does."""
        this = self._begin(tool, arguments, ctx, process)
        await asyncio.sleep(0)
        known = self._known(tool, this)
        match self._mode(tool):
            case "fail":
                raise Outage(f"not available: {CANARY}")
            case "refuse" if not known:
                self.books.refused.append(this)
                raise NoEffect(f"declined: {CANARY}")
            case "late" | "late-refuse" as mode:
                await self._outlast(tool)
                if mode == "late-refuse" and not known:
                    self.books.refused.append(this)
                    raise NoEffect(f"declined, after a while: {CANARY}")
            case "after":
                lands_s = tool.timeout_s + self.slack_s(tool) / 2
                self._room.later(lands_s, lambda: self._happen(tool, this))
                await ambient.sleep(tool.timeout_s * 3)
            case "lost" if not tool.effect.atomic:
                self._happen(tool, this)
                await asyncio.sleep(0)
                raise Outage(f"the connection was reset: {CANARY}")
            case "doubt":
                self._happen(tool, this)
                await asyncio.sleep(0)
                raise InDoubt(f"no answer: {CANARY}")
            case "hang" | "lost":
                self._happen(tool, this)
                await ambient.sleep(tool.timeout_s * 3)
            case "odd":
                self._happen(tool, this)
                return object()
            case _:
                pass
        self._happen(tool, this)
        await asyncio.sleep(0)
        self.books.answered.append(this)
        return self._result(tool)

    def write_here(self, tool: Tool, arguments: dict[str, Json], ctx: Context[object], process: int) -> object:
        """What a transactional tool does: it is an effect once it is committed."""
        this = self._begin(tool, arguments, ctx, process)
        self._uncommitted = None
        self._overrun = False
        match self._mode(tool):
            case "fail" | "lost" | "doubt":
                raise Outage(f"a statement failed: {CANARY}")
            case "refuse" | "late-refuse":
                self.books.refused.append(this)
                raise NoEffect(f"declined: {CANARY}")
            case "hang" | "late" | "after":
                self._overrun = True
            case _:
                self._uncommitted = (tool, this)
        return self._result(tool)

    def overruns(self) -> bool:
        """Whether the transactional handler that has just run takes longer than it may."""
        return self._overrun

    def kept(self) -> None:
        """What it wrote is committed."""
        if self._uncommitted is not None:
            self._happen(*self._uncommitted)
            self.books.answered.append(self._uncommitted[1])
            self._uncommitted = None

    async def watch(self, tool: Tool, ctx: Context[object], process: int, begin: Callable[[], object]) -> object:
        """Run the application's own handler; its answer may be lost. An end that proves nothing counts as an effect."""
        mode = self._mode(tool)
        if ctx.operation_id is None:
            return await _awaited(begin)
        row = now(self._store.operation(ctx.operation_id))
        this = self._begin(tool, {} if row is None else Arguments(row.arguments).plain(), ctx, process)
        await asyncio.sleep(0)
        if mode == "fail":
            raise Outage("not available")
        try:
            said = await _awaited(begin)
        except NoEffect:
            self.books.refused.append(this)
            raise
        except Exception:
            if not tool.effect.atomic:
                self._happen(tool, this)
            raise
        self._happen(tool, this)
        await asyncio.sleep(0)
        if mode == "lost" and not tool.effect.atomic:
            raise Outage("the connection was reset")
        if mode in ("lost", "hang"):
            await ambient.sleep(tool.timeout_s * 3)
        self.books.answered.append(this)
        return said

    def slack_s(self, tool: Tool) -> float:
        """How long after its timeout an attempt may still land, by what the tool says."""
        recovery = tool.effect.recovery
        settle_s = None if recovery is None else recovery.settle_s
        return tool.timeout_s if settle_s is None else settle_s

    async def _outlast(self, tool: Tool) -> None:
        """Go on after the timeout, whatever is asked."""
        try:
            await ambient.sleep(tool.timeout_s * 3)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
        await asyncio.sleep(0)

    def _begin(self, tool: Tool, arguments: dict[str, Json], ctx: Context[object], process: int) -> Attempt:
        assert ctx.operation_id is not None
        row = now(self._store.operation(ctx.operation_id))
        durable = row is not None and row.state != "awaiting_approval" and row.attempt >= ctx.attempt
        approval = None if row is None or row.approval is None else now(self._store.approval(row.approval))
        own = Arguments(encode({name: value for name, value in arguments.items() if name not in tool.bound}))
        key, _ = tool.key_of(
            own,
            tenant=ctx.principal.tenant,
            root=ctx.run if row is None else row.root,
            run=ctx.run,
            conversation=None if row is None else row.conversation,
            call=ctx.call,
        )
        this = Attempt(
            tool=tool.name,
            operation=ctx.operation_id,
            attempt=ctx.attempt,
            run=ctx.run,
            call=ctx.call,
            key=key,
            digest=own.digest,
            durable=durable,
            consumed=approval is None or approval.state == "consumed",
            process=process,
        )
        self.books.attempts.append(this)
        return this

    def _known(self, tool: Tool, this: Attempt) -> bool:
        """Whether the other side has done this already and remembers it."""
        recovery = tool.effect.recovery
        if recovery is None or recovery.kind != "idempotent":
            return False
        window_s = recovery.window_s or 0.0
        done = [one for one in self.books.effects if one.of.operation == this.operation]
        return any(self._room.now_s - one.at_s <= window_s for one in done)

    def _happen(self, tool: Tool, this: Attempt) -> None:
        if not self._known(tool, this):
            self.books.effects.append(Effect(this, self._room.now_s))

    # workflows

    def called(self, run: RunId) -> None:
        """A workflow's function is called."""
        if any(isinstance(one.event, UndoBegun) for one in now(self._store.read(run))):
            self.books.called_late.append(run)

    async def check(self, step: str) -> object:
        """What a check finds that a workflow makes."""
        mode = self._mode_of(f"check:{plain_word(step)}")
        await asyncio.sleep(0)
        match mode:
            case "not":
                return f"it is not so: {CANARY}"
            case "fail":
                raise Outage(f"not available: {CANARY}")
            case "hang":
                await ambient.sleep(60.0)
            case _:
                pass
        return True

    # systems of record

    async def look(self, tool: Tool, arguments: Arguments, ctx: Context[object]) -> object:
        """What a tool's system of record says of an operation."""
        del arguments
        await asyncio.sleep(0)
        match self._answers.get(tool.name, ""):
            case "cannot":
                return CANNOT_TELL
            case "fail":
                raise Outage(f"no books here: {CANARY}")
            case "hang":
                await ambient.sleep(tool.timeout_s * 3)
            case _:
                pass
        assert ctx.operation_id is not None
        return Happened(self._result(tool)) if self.books.happened(ctx.operation_id) else DID_NOT

    def _mode(self, tool: Tool) -> str:
        return self._mode_of(tool.name)

    def _mode_of(self, subject: str) -> str:
        self.tried[subject] += 1
        return self._modes.get((subject, self.tried[subject]), "")

    def _result(self, tool: Tool) -> Json:
        """What a tool says when it has done its work; with a secret in it, and with a stranger's bytes if it is not trusted."""
        if tool.name in self._scenario.results:
            return self._scenario.results[tool.name]
        said: dict[str, Json] = {"done": tool.name, f"key {CANARY}": [CANARY]}
        if tool.label is None or not tool.label.trusted:
            said["text"] = f"{MARK} {'' if self._payload is None else f'order:{self._payload}'}"
        return said


async def _awaited(begin: Callable[[], object]) -> object:
    said = begin()
    return await said if inspect.isawaitable(said) else said
