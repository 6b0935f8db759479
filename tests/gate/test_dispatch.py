"""The moment at which something approved starts: once, in its time, and until when its handler may act."""

from __future__ import annotations

import asyncio

import pytest

from gate.stage import Stage, on_stage, opened, stage
from remit import ambient
from remit.tool import READ, Rate, always, manual, never, tool, write
from remit.types.delivery import Withdrawal
from remit.types.event import OperationMoved
from remit.types.label import TRUSTED
from remit.types.outcome import NotRun, Succeeded

RAN: list[str] = []


@tool(effect=write(once_per="id", recovery=manual), approve=always(), timeout_s=30.0, label=TRUSTED)
async def pay(id: str) -> str:
    """Pay.

    Args:
        id: what
    """
    RAN.append(id)
    return "paid"


@tool(effect=write(once_per="id", recovery=manual), approve=never, timeout_s=30.0, label=TRUSTED)
async def tip(id: str) -> str:
    """Tip.

    Args:
        id: whom
    """
    return id


@tool(effect=READ, approve=always(), rate=Rate(1, 60.0), label=TRUSTED)
async def peek(name: str) -> str:
    """Look into what is private.

    Args:
        name: whose
    """
    RAN.append(name)
    return name


@on_stage(pay)
async def test_what_was_withdrawn_after_its_yes_and_before_its_start_has_one_answer_and_does_not_start(s: Stage) -> None:
    RAN.clear()
    await s.consider("pay", {"id": "1"})
    plan = await s.decide("1.0")
    assert plan is not None
    await s.delivered(Withdrawal(operation=(await s.operation()).id, by="alice"))
    s.scene.cancelled.set()
    await s.gate.execute(plan, s.scene)
    await s.scene.journal.flush()
    outcome = s.outcome("1.0")
    assert isinstance(outcome, NotRun)
    assert outcome.code == "withdrawn"
    assert (await s.operation()).closed == "withdrawn"
    assert s.moves().count("withdrawn") == 1
    assert RAN == []


@pytest.mark.parametrize("name", ["pay", "tip"])
def test_a_handler_may_act_from_its_dispatch_until_its_timeout(name: str) -> None:
    async def story() -> None:
        async with opened() as ledger:
            s = await stage(ledger, [pay, tip])
            plan = await s.consider(name, {"id": "1"})
            clock.advance(3_600)
            plan = plan or await s.decide("1.0")
            assert isinstance(await s.go(plan), Succeeded)
            [(at_ms, event)] = [
                (one.at_ms, one.event)
                for one in s.events
                if isinstance(one.event, OperationMoved) and one.event.state == "dispatched"
            ]
            assert event.not_after_ms is not None
            assert 30_000 <= event.not_after_ms - at_ms + 1 <= 30_002
            assert (await s.operation()).not_after_ms == event.not_after_ms

    clock = ambient.Seeded()
    with ambient.use(clock):
        asyncio.run(story())


def test_what_a_person_approved_is_not_refused_for_coming_too_soon_and_waits_for_its_turn() -> None:
    async def story() -> None:
        RAN.clear()
        async with opened() as ledger:
            s = await stage(ledger, [peek])
            for number, name in enumerate("ab"):
                await s.consider("peek", {"name": name}, call=f"1.{number}")
            first, second = await s.decide("1.0"), await s.decide("1.1")
            began_s = ambient.monotonic_s()
            assert isinstance(await s.go(first, "1.0"), Succeeded)
            assert ambient.monotonic_s() - began_s < 60
            assert isinstance(await s.go(second, "1.1"), Succeeded)
            assert ambient.monotonic_s() - began_s >= 60
            assert RAN == ["a", "b"]

    with ambient.use(ambient.Seeded()):
        asyncio.run(story())
