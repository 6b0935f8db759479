"""A shop with books of its own, and the tools that change it: what every behaviour test counts effects in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeVar

from behaviour.streamed import STREAMED, Streamed
from remit import (
    CALL,
    CANNOT_TELL,
    DID_NOT,
    READ,
    TRUSTED,
    Agent,
    Context,
    Happened,
    NoEffect,
    Principal,
    ScriptedModel,
    Tool,
    ambient,
    manual,
    never,
    reconcile,
    tool,
    when,
    write,
)

T = TypeVar("T")
ALICE = Principal("alice", tenant="acme", scopes=frozenset({"orders:read", "billing:refund", "mail:send"}))
BOB = Principal("bob", tenant="acme", scopes=frozenset({"billing:approve", "remit:approve"}))


@dataclass
class Shop:
    """The outside world."""

    refunds: list[tuple[str, int]] = field(default_factory=list)
    mails: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    decline: int = 0
    deployed: str = "old"
    asked_books: int = 0
    blind: bool = False


async def find_refund(arguments: object, ctx: Context[Shop]) -> object:
    """Look into the books."""
    ctx.deps.asked_books += 1
    if ctx.deps.blind:
        return CANNOT_TELL
    for charge, amount in ctx.deps.refunds:
        if charge == arguments["charge_id"]:  # type: ignore[index]
            return Happened({"refunded": amount})
    return DID_NOT


def refund_tool(**changes: object) -> Tool:
    settings: dict[str, object] = {
        "effect": write(once_per="charge_id", recovery=reconcile(find_refund, settle_s=0.05)),
        "scopes": {"billing:refund"},
        "timeout_s": 0.2,
        "approve": never,
        "label": TRUSTED,
    }

    @tool(**(settings | changes))
    async def issue_refund(charge_id: str, amount_cents: int, ctx: Context[Shop]) -> dict[str, int]:
        """Refund one charge.

        Args:
            charge_id: the charge, for example ch_1
            amount_cents: how much
        """
        if ctx.deps.decline:
            ctx.deps.decline -= 1
            raise NoEffect("the card was declined")
        ctx.deps.refunds.append((charge_id, amount_cents))
        if ctx.deps.hang:
            await asyncio.Event().wait()
        return {"refunded": amount_cents}

    return issue_refund


@tool(effect=READ, scopes={"orders:read"}, label=TRUSTED)
async def lookup_order(order_id: str, ctx: Context[Shop]) -> dict[str, str]:
    """Read one order.

    Args:
        order_id: for example A-1
    """
    return {"order": order_id, "charge": "ch_1"}


@tool(effect=write(once_per=CALL, recovery=manual, atomic=True), scopes={"mail:send"}, approve=never, label=TRUSTED)
async def send_mail(to: str, text: str, ctx: Context[Shop]) -> str:
    """Send a mail.

    Args:
        to: whom
        text: what
    """
    ctx.deps.mails.append(to)
    return "sent"


APPROVED_ABOVE_50 = when(lambda a: a.amount_cents > 5_000, scope="billing:approve", expires_s=86_400)


def support(model: ScriptedModel, *tools: Tool, **changes: object) -> Agent:
    tools = tools or (lookup_order, refund_tool())
    if STREAMED.get():
        changes = {"stream": True, **changes}
        return Agent("support", model=Streamed(model), instructions="Help.", tools=list(tools), **changes)  # type: ignore[arg-type]
    return Agent("support", model=model, instructions="Help.", tools=list(tools), **changes)  # type: ignore[arg-type]


async def until(true: Callable[[], bool]) -> None:
    """Let others run until it is true; the caller's test ends by its runner's own limit otherwise."""
    while not true():  # noqa: ASYNC110 - what is awaited is plain data of the test
        await asyncio.sleep(0)


def play(story: Callable[[], Coroutine[object, object, T]], *, seeded: bool = True) -> T:
    """Run a story, under a clock that never makes anybody wait."""
    if not seeded:
        return asyncio.run(story())
    with ambient.use(ambient.Seeded()):
        return asyncio.run(story())
