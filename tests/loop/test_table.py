"""The table of phases: complete, reachable, and what the transition follows."""

from __future__ import annotations

import random
from dataclasses import replace

from loop.world import RUN, World, proposal, replied, said, started
from remit.loop import TABLE, diagram
from remit.loop.facts import add
from remit.loop.guard import always
from remit.loop.phase import Phase
from remit.loop.state import MAX_ATTEMPTS, RunState
from remit.loop.table import BUDGET_REFUSED, Edge
from remit.loop.transition import take_edges
from remit.types.budget import Budget
from remit.types.event import CancelRequested, Event, ModelRequested, Recorded, RequestFailed, Resumed, RunEnded
from remit.types.ident import OwnerId
from remit.types.label import TRUSTED

RESUMED = Resumed(owner=OwnerId("o"), scopes=(), scopes_from="recorded")
CANCELLED = CancelRequested(by="bob")


def edges_of(events: list[Event]) -> set[Edge]:
    """The edges that a fold of these events takes."""
    draft, taken = RunState(run=RUN).draft(), set[Edge]()
    for number, event in enumerate(events, start=1):
        add(draft, Recorded(RUN, number, number, event))
        taken |= set(take_edges(draft, event.kind))
    return taken


def asked(turn: int = 1, attempt: int = 1) -> ModelRequested:
    return ModelRequested(turn=turn, attempt=attempt, model="m", reserved_tokens=1, reserved_usd_micros=0, label=TRUSTED)


def in_vain(attempt: int) -> tuple[Event, Event]:
    failed = RequestFailed(turn=1, attempt=attempt, code="x", message="", retryable=True)
    return asked(1, attempt), failed


def random_journal(seed: int) -> list[Event]:
    """What happened to a run in a world that picks at random, with crashes and cancels."""
    source = random.Random(seed)
    budget = Budget(turns=source.choice([2, 6]), calls=source.choice([None, 3]), tokens=source.choice([None, 400]))
    world = World(source.choice, budget, source.choice(["hold", "answer"]))
    world.start()
    for _ in range(600):
        if world.ended:
            break
        waiting = [call for call in world.state.unanswered if call.status == "awaiting"]
        chance = source.random()
        if chance < 0.04 and not world.state.paused:
            world.crash()
        elif chance < 0.06 and world.state.cancelled is None:
            world.cancel()
        elif waiting and (world.state.paused or chance < 0.2):
            world.decide(source.choice(waiting))
        elif world.jobs:
            world.work(source.choice(world.jobs))
    return [one.event for one in world.journal]


def test_every_edge_is_taken_by_some_run() -> None:
    taken = set[Edge]()
    for seed in range(1_000):
        taken |= edges_of(random_journal(seed))
    start: list[Event] = [started(), said()]
    end = RunEnded(how="closed", reason="")
    taken |= edges_of([started(), RESUMED])
    taken |= edges_of([started(), CANCELLED])
    taken |= edges_of([*start, asked(), CANCELLED, replied(1, [proposal(0, "read")])])
    taken |= edges_of(
        [*start, *(one for number in range(MAX_ATTEMPTS) for one in in_vain(number + 1)), asked(1, MAX_ATTEMPTS + 1)]
    )
    world = World(lambda options: "ready" if "ready" in options else options[0])
    world.record(*start, asked(), replied(1, [proposal(0, "write")]))
    world.work(world.jobs[-1])
    world.work(world.jobs[-1])
    taken |= edges_of([*(one.event for one in world.journal), RESUMED, CANCELLED])
    world = World(lambda options: "waiting" if "waiting" in options else options[0], on_wait="answer")
    world.record(started(on_wait="answer"), said(), asked(), replied(1, [proposal(0, "write")]))
    for _ in range(3):
        world.work(world.jobs[-1])
        taken |= edges_of([*(one.event for one in world.journal), CANCELLED])
    out = RequestFailed(turn=1, attempt=1, code="model.unauthorized", message="", retryable=False)
    taken |= edges_of([*start, replace(asked(), model="scripted:m"), out, replace(RESUMED, models=("scripted:m",))])
    first: list[list[Event]] = [[], start, [*start, asked()], [*start, asked(), replied(1, [proposal(0, "read")])]]
    for events in first:
        taken |= edges_of([*events, end])
        taken |= edges_of([*events, CANCELLED, end])
    missed = [
        f"{edge.phase} --{edge.label}--> {edge.to}"
        for edge in TABLE
        if edge not in taken and edge.on not in (BUDGET_REFUSED, "run.ended")
    ]
    assert missed == []


def test_every_phase_is_reached_from_the_start_and_comes_to_the_end() -> None:
    def reached(origin: Phase) -> set[Phase]:
        found, new = {origin}, {origin}
        while new:
            new = {edge.to for edge in TABLE if edge.phase in new} - found
            found |= new
        return found

    assert reached(Phase.START) == set(Phase)
    for phase in Phase:
        assert Phase.END in reached(phase), phase
    assert not [edge for edge in TABLE if edge.phase is Phase.END]


def test_no_row_is_hidden_behind_one_that_always_holds() -> None:
    closed = set[tuple[Phase, str | None]]()
    for edge in TABLE:
        assert (edge.phase, edge.on) not in closed, edge
        if edge.when is always:
            closed.add((edge.phase, edge.on))


def test_a_phase_that_is_left_at_once_is_left_whatever_holds() -> None:
    for phase in (Phase.RECOVER_OR_STOP, Phase.INSPECT_STOP_REASON, Phase.AUTHORIZE_CALLS, Phase.APPEND_RESULTS):
        last = [edge for edge in TABLE if edge.phase is phase and edge.on is None][-1]
        assert last.when is always, phase


def test_the_diagram_names_every_phase_and_every_condition() -> None:
    text = diagram()
    assert text.startswith("stateDiagram-v2\n")
    for phase in Phase:
        assert f" {phase}" in text
    for edge in TABLE:
        assert edge.label in text
