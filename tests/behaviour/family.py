"""An agent of the shop that hands refunds to another one, and ways to look at what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, lookup_order, refund_tool
from remit import Agent, Budget, Paused, Remit, ScriptedModel, Standing, Tool, call
from remit.types.event import CallEnded, Event, RunStarted
from remit.types.ident import CallId, RunId, child_of
from remit.types.outcome import Outcome

SMALL = call("issue_refund", charge_id="ch_1", amount_cents=4_900)
BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
ASK = call("billing", task="Refund charge ch_1. The customer was charged twice.")
CAREFUL = refund_tool(approve=APPROVED_ABOVE_50)


def by_turn(*replies: object) -> Callable[[dict[str, object]], object]:
    """The reply that belongs to how far the transcript is, however often it is asked for."""

    def reply(body: dict[str, object]) -> object:
        messages = cast("list[dict[str, object]]", body["messages"])
        return replies[sum(one["role"] == "assistant" for one in messages)]

    return reply


def billing(*replies: object, tools: Sequence[Tool] = (), **changes: object) -> Agent:
    model = ScriptedModel(by_turn(*replies))  # type: ignore[arg-type]
    settings: dict[str, object] = {"instructions": "Refund.", "tools": [*(tools or (refund_tool(),))]}
    return Agent("billing", model=model, **(settings | changes))  # type: ignore[arg-type]


def family(
    child: Agent, *replies: object, tools: Sequence[Tool] = (), lent: dict[str, object] | None = None, **changes: object
) -> Agent:
    """The agent `support`, which has `child` as a tool beside `lookup_order`."""
    helper = child.as_tool(description="Refunds charges. Say which, and why.", **(lent or {}))  # type: ignore[arg-type]
    model = ScriptedModel(by_turn(*(replies or (ASK, "Done."))))  # type: ignore[arg-type]
    settings: dict[str, object] = {"instructions": "Help.", "tools": [lookup_order, helper, *tools]}
    return Agent("support", model=model, **(settings | changes))  # type: ignore[arg-type]


async def all_approved(remit: Remit, standing: Standing, *, allow: bool = True) -> Standing:
    """How the run stands once everything that it waits for, at any depth, was decided."""
    while isinstance(standing, Paused):
        assert standing.approvals
        for one in standing.approvals:
            await remit.decide(one, allow, by=BOB, reason="seen")
        standing = await remit.run_to_end(standing.id)
    return standing


async def events_of(remit: Remit, run: str) -> list[Event]:
    return [one.event for one in await remit.events(run)]


async def outcomes(remit: Remit, run: str) -> list[Outcome]:
    return [event.outcome for event in await events_of(remit, run) if isinstance(event, CallEnded)]


async def child_started(remit: Remit, run: str, named: str = "1.0") -> RunStarted:
    first = (await events_of(remit, child_of(RunId(run), CallId(named))))[0]
    assert isinstance(first, RunStarted)
    return first


UNBOUNDED = Budget(turns=None, calls=None, consecutive_errors=None, repeats=None, approvals=None)
__all__ = [
    "ALICE",
    "ASK",
    "BIG",
    "BOB",
    "CAREFUL",
    "SMALL",
    "UNBOUNDED",
    "by_turn",
    "all_approved",
    "billing",
    "child_started",
    "events_of",
    "family",
    "outcomes",
]
