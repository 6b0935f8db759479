"""The tools of these tests: one write in the three kinds of recovery, awaited or not."""

from __future__ import annotations

from collections.abc import Callable

from remit.http import How
from remit.tool import (
    DID_NOT,
    READ,
    Arguments,
    Context,
    Happened,
    Recovery,
    Tool,
    idempotent,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.types.label import TRUSTED


async def find(arguments: Arguments, ctx: Context[str]) -> object:
    found = await ctx.http.get(f"{ctx.deps}/refunds/{arguments['id']}", declares={404: "done"})
    return DID_NOT if found.status == 404 else Happened(found.json())


def find_blocking(arguments: Arguments, ctx: Context[str]) -> object:
    found = ctx.http_sync.get(f"{ctx.deps}/refunds/{arguments['id']}", declares={404: "done"})
    return DID_NOT if found.status == 404 else Happened(found.json())


RECOVERIES: dict[str, Recovery] = {
    "manual": manual,
    "idempotent": idempotent(window_s=3600),
    "reconcile": reconcile(find, settle_s=0),
    "reconcile, blocking": reconcile(find_blocking, settle_s=0),
}


def refund(
    recovery: Recovery = manual, *, atomic: bool = False, blocking: bool = False, method: str = "POST", **how: object
) -> Tool:
    """A write that makes one request and returns what it is told."""
    asked: How = {"json": {"amount": 5}, **how}  # type: ignore[typeddict-item]

    async def act(id: str, ctx: Context[str]) -> object:
        """Refund.

        Args:
            id: what
        """
        return (await ctx.http.request(method, f"{ctx.deps}/refunds/{id}", **asked)).json()

    def act_blocking(id: str, ctx: Context[str]) -> object:
        """Refund.

        Args:
            id: what
        """
        return ctx.http_sync.request(method, f"{ctx.deps}/refunds/{id}", **asked).json()

    effect = write(once_per="id", recovery=recovery, atomic=atomic)
    made = tool(effect=effect, approve=never, label=TRUSTED, timeout_s=30, name="refund")
    return made(act_blocking if blocking else act)


def acting(
    act: Callable[[Context[str]], object], *, atomic: bool = False, recovery: object = manual, timeout_s: float = 30
) -> Tool:
    """A write whose handler is this function of its context."""

    async def pay(id: str, ctx: Context[str]) -> object:
        """Pay.

        Args:
            id: what
        """
        return await act(ctx)  # type: ignore[misc]

    effect = write(once_per="id", recovery=recovery, atomic=atomic)  # type: ignore[arg-type]
    return tool(effect=effect, approve=never, label=TRUSTED, timeout_s=timeout_s)(pay)


def reading(act: Callable[[Context[str]], object]) -> Tool:
    """A read whose handler is this function of its context."""

    async def look(id: str, ctx: Context[str]) -> object:
        """Look.

        Args:
            id: what
        """
        return await act(ctx)  # type: ignore[misc]

    return tool(effect=READ, label=TRUSTED)(look)
