"""Every row of the table of effects that a gate takes, taken by a gate; and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gate.stage import Stage, opened, stage, verified
from gate.test_effect import World, writer
from remit import ambient
from remit.errors import Conflict
from remit.policy import Allow, Ask, Deny
from remit.tool import CANNOT_TELL, DID_NOT, Happened, idempotent, manual, reconcile
from remit.types.delivery import LateReport, Settlement, Withdrawal
from remit.types.event import OperationMoved
from remit.types.operation import MOVES, move
from remit.types.outcome import Failed, Succeeded

Row = tuple[object, str]
TAKEN: set[Row] = set()
YES = Succeeded(value="late")
NO = Failed(code="no_effect", message="nothing")


def play(
    body: Callable[[Stage, World, list[object]], Awaitable[None]],
    *script: object,
    recovery: Callable[[World], object] = lambda world: manual,
    answers: tuple[object, ...] = (),
    rule: object = None,
) -> None:
    world = World(*script)
    world.answers = list(answers)
    rules: list[object] = [rule or Allow()]

    async def go() -> None:
        async with opened() as ledger:
            one = await stage(ledger, [writer(world, recovery(world))], policies=[lambda request: rules[0]])
            await body(one, world, rules)
            await one.scene.journal.flush()
            await verified(ledger)
            where: dict[str, object] = {}
            for recorded in await ledger.read(one.scene.run):
                event = recorded.event
                if isinstance(event, OperationMoved):
                    TAKEN.add((where.get(event.operation), event.on))
                    state, closed = move(where.get(event.operation), event.on)  # type: ignore[arg-type]
                    assert (event.state, event.closed) == (state, closed or event.closed)
                    where[event.operation] = event.state

    with ambient.use(ambient.Seeded()):
        asyncio.run(go())


async def called(s: Stage, world: World, rules: list[object]) -> None:
    await s.call("act", {"id": "1"})


async def told(s: Stage, *outcomes: Succeeded | Failed) -> None:
    for outcome in outcomes:
        row = await s.operation()
        await s.delivered(LateReport(operation=row.id, attempt=row.attempt, outcome=outcome))


def late(*outcomes: Succeeded | Failed) -> Callable[[Stage, World, list[object]], Awaitable[None]]:
    async def body(s: Stage, world: World, rules: list[object]) -> None:
        await s.call("act", {"id": "1"})
        await told(s, *outcomes)

    return body


def settled(happened: bool, *after: Succeeded | Failed) -> Callable[[Stage, World, list[object]], Awaitable[None]]:
    async def body(s: Stage, world: World, rules: list[object]) -> None:
        await s.call("act", {"id": "1"})
        row = await s.operation()
        await s.delivered(Settlement(operation=row.id, attempt=1, happened=happened, by="bob", reason="seen"))
        await told(s, *after)

    return body


def decided(**decision: object) -> Callable[[Stage, World, list[object]], Awaitable[None]]:
    async def body(s: Stage, world: World, rules: list[object]) -> None:
        await s.consider("act", {"id": "1"})
        rules[0] = decision.get("rule", rules[0])
        if decision.get("late"):
            await ambient.sleep(100_000)
        plan = await s.decide("1.0", allow=bool(decision.get("allow", True)), edited=decision.get("edited"))  # type: ignore[arg-type]
        if decision.get("taken"):
            other = await stage(s.ledger, [writer(world, manual)], run="run_2")
            await other.call("act", {"id": "1", **decision["taken"]})  # type: ignore[dict-item]
        if plan is not None:
            await s.go(plan)

    return body


async def withdrawn(s: Stage, world: World, rules: list[object]) -> None:
    await s.consider("act", {"id": "1"})
    await s.delivered(Withdrawal(operation=(await s.operation()).id, by="alice"))
    await told(s, NO)


async def cancelled(s: Stage, world: World, rules: list[object]) -> None:
    await s.consider("act", {"id": "1"})
    await s.gate.cancel(s.proposals["1.0"], s.scene)


async def earlier_attempt(s: Stage, world: World, rules: list[object]) -> None:
    async def act(id: str) -> object:
        if not world.effects:
            world.effects.append(id)
            raise ConnectionError
        row = await s.operation()
        await s.delivered(LateReport(operation=row.id, attempt=1, outcome=YES))
        return "ok"

    world.act = act  # type: ignore[method-assign]
    await s.call("act", {"id": "1"})


async def changed_contract(s: Stage, world: World, rules: list[object]) -> None:
    await s.consider("act", {"id": "1"})
    other = writer(world, idempotent(60))
    s.gate.tools._tools["act"] = other  # type: ignore[attr-defined]
    assert await s.decide("1.0") is None


ASK = Ask(scope="remit:approve")
LOST = ConnectionError()
RECONCILE = lambda world: reconcile(world.ask, settle_s=1)  # noqa: E731


def test_a_gate_takes_every_row_of_the_table() -> None:
    TAKEN.clear()
    play(called)
    play(late(YES, NO))
    play(late(NO, NO), LOST)
    play(late(YES), LOST)
    play(settled(True), LOST)
    play(settled(False, YES), LOST)
    play(called, LOST, recovery=lambda world: idempotent(60))
    play(called, LOST, recovery=RECONCILE, answers=(Happened("x"),))
    play(called, LOST, LOST, recovery=RECONCILE, answers=(DID_NOT,) * 8)
    play(called, LOST, recovery=RECONCILE, answers=(CANNOT_TELL,) * 8)
    play(earlier_attempt, recovery=lambda world: idempotent(60))
    play(decided(), rule=ASK)
    play(decided(allow=False), rule=ASK)
    play(decided(late=True), rule=ASK)
    play(decided(edited={"id": "2"}), rule=ASK)
    play(decided(rule=Deny("no")), rule=ASK)
    play(decided(rule=Ask(scope="boss")), rule=ASK)
    play(decided(taken={"note": ""}), rule=ASK)
    play(decided(taken={"note": "other"}), rule=ASK)
    play(withdrawn, rule=ASK)
    play(cancelled, rule=ASK)
    play(changed_contract, rule=ASK)
    from remit.tool import NoEffect

    play(called, NoEffect("declined"))
    assert set(MOVES) - TAKEN == set()
    assert set(MOVES) >= TAKEN


def test_every_other_move_is_an_error() -> None:
    states = {state for state, _ in MOVES} | {"closed", "failed"}
    moves = {on for _, on in MOVES}
    for state in states:
        for on in moves:
            if (state, on) not in MOVES:
                with pytest.raises(Conflict) as refused:
                    move(state, on)
                assert refused.value.code == "operation.illegal_move"
