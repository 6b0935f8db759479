"""The workflows of the examples, left as a crash leaves them after each crash point, and asked for again."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any

from examples.example import load
from remit import Escalated, Finished, MemoryLedger, Paused, Principal, Remit, RemitError, Standing, ambient

ALICE = Principal("alice", scopes={"billing:refund", "bank:pay"})
BOB = Principal("bob", scopes={"billing:approve"})


class Counted(ambient.Seeded):
    """Says when the n-th crash point was reached; nobody waits for its clock."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at
        self.reached = asyncio.Event()
        self.point = ""

    def reach(self, point: str) -> None:
        self.left -= 1
        if self.left == 0:
            self.point = point
            self.reached.set()


async def asked(remit: Remit, workflow: Any, given: dict[str, object]) -> Standing:
    """Asked for until it does not wait for people; they say yes."""
    while True:
        run = await remit.run(workflow, given, principal=ALICE, request_id="one")  # type: ignore[arg-type]
        if not isinstance(run, Paused):
            return run
        for row in run.approvals:
            await remit.decide(row, True, by=BOB)


async def crashed(workflow: Any, given: dict[str, object], world: object, at: int) -> tuple[str, Standing]:
    """How the run ends whose first process is gone at that crash point; its name is empty where there is none."""
    store, source = MemoryLedger(), Counted(at)
    with ambient.use(source):
        first = Remit(MemoryLedger(store=store), workflows=[workflow], deps=world)
        await first.__aenter__()
        running = asyncio.ensure_future(asked(first, workflow, given))
        dying = asyncio.ensure_future(source.reached.wait())
        await asyncio.wait({running, dying}, return_when=asyncio.FIRST_COMPLETED)
        dying.cancel()
        await first.abandon()
        with suppress(RemitError):
            await running
        point = source.point
        async with Remit(MemoryLedger(store=store), workflows=[workflow], deps=world) as second:
            ended = await asked(second, workflow, given)
            assert await second.verify() == []
            assert await second.approvals() == []
            return point, ended


def test_crashed_anywhere_the_refund_is_made_once() -> None:
    example, at, points = load("refund_flow"), 0, Counter[str]()
    while not at or points.total() == at:
        at, service = at + 1, example.PaymentService()
        given = {"order_id": "A-12345", "complaint": "I paid twice."}
        point, ended = asyncio.run(crashed(example.refund, given, service, at))
        if point:
            points[point] += 1
        assert isinstance(ended, Finished), (at, point, ended)
        assert service.refunds == {"A-12345": 2_500}, (at, point)
    assert {"dispatch.after", "effect.after", "check.asked", "run.waiting", "run.ended"} <= set(points)


def test_crashed_anywhere_a_payment_without_its_receipt_is_taken_back_once() -> None:
    example, at, points = load("payment_email"), 0, Counter[str]()
    while not at or points.total() == at:
        at, outside = at + 1, example.Outside(mail="refuses")
        given = {"invoice": "R-1", "amount_cents": 4_900, "to": "kim"}
        point, ended = asyncio.run(crashed(example.pay, given, outside, at))
        if point:
            points[point] += 1
        assert isinstance(ended, Escalated), (at, point, ended)
        assert outside.books == ["paid R-1", "reversed R-1"], (at, point, ended)
    assert {"dispatch.after", "effect.after", "workflow.failed", "undo.begun", "run.ended"} <= set(points)
