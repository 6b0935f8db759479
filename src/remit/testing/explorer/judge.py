"""Playing schedules of an agent and judging each: everything that stays from schedule to schedule.

Knows plays, checks and plans. Invariant: what is found in a schedule follows from the agent, its scenarios and the seed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from remit.errors import InputError
from remit.gate import Runner
from remit.model import ScriptedModel
from remit.testing.explorer.calm import seldom_collecting
from remit.testing.explorer.check import Record, broken, read
from remit.testing.explorer.check.flow import differences, unapproved
from remit.testing.explorer.derive import derive, everybody
from remit.testing.explorer.inputs import derive_workflow
from remit.testing.explorer.listen import heard
from remit.testing.explorer.plan import Length, plan
from remit.testing.explorer.play import Cast, Play, WrapLedger
from remit.testing.explorer.rows import Row, reachable, taken
from remit.testing.explorer.scenario import Scenario
from remit.testing.explorer.schedule import Schedule, Trouble
from remit.testing.explorer.stage import Stage, Subject, every_tool
from remit.types.event import RunEnded
from remit.types.model import Model, ProtocolName
from remit.workflow import Workflow

__all__ = ["Explorer", "Judged"]

_ID = re.compile(r"\b(?:op|apr|run)_[0-9a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one schedule."""

    schedule: Schedule
    found: tuple[str, ...]
    rows: frozenset[Row]

    @property
    def kinds(self) -> set[str]:
        """What was found, without ids and numbers."""
        return {_ID.sub("", one) for one in self.found}


class Explorer:
    """The agent or workflow, its scenarios, and everything that stays from schedule to schedule.

    Args:
        subject: as the application has it; nothing of it outside of this process is asked.
        scenarios: None: those that follow from its tools.
        reference: how it is called where a failure is shown.
        live: the application's own handlers run, in place of a model of the outside world.
        deps: makes what handlers find in `ctx.deps`, for each schedule anew.
        ledger: puts something around the ledger of each process.
        runner: in the place of the one that calls handlers.
        seed: of ids and mixes.

    Raises:
        InputError: there is nothing to explore (`explore.scenario`).
    """

    def __init__(
        self,
        subject: Subject,
        *,
        scenarios: Sequence[Scenario] | None = None,
        reference: str = "",
        live: bool = False,
        deps: Callable[[], object] | None = None,
        ledger: WrapLedger | None = None,
        runner: Runner | None = None,
        seed: int = 0,
    ) -> None:
        derived = derive_workflow(subject) if isinstance(subject, Workflow) else derive(subject)
        given = derived.scenarios if scenarios is None else tuple(scenarios)
        if not given:
            reasons = "; ".join(derived.left_out) or "it has no tools"
            raise InputError(f"nothing to explore of {subject.name!r}: {reasons}", code="explore.scenario")
        self.subject = subject
        self.seed = seed
        self.reference = reference or subject.name
        self.left_out = derived.left_out if scenarios is None else ()
        protocol = _protocol(subject)
        self._log: list[str] = []
        self._asks = True
        self._casts = {
            one.name: Cast(
                scenario=one,
                stage=Stage(subject, one, ScriptedModel([], protocol=protocol), live=live),
                principal=one.principal or everybody(subject),
                wrap=ledger,
                runner=runner,
                deps=deps,
                protocol=protocol,
                seed=seed,
                log=self._log,
            )
            for one in given
        }

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._casts)

    def plan(self, count: int) -> list[Schedule]:
        """The schedules that are played; measures each scenario without trouble first."""
        with heard(self._log):
            lengths = [self._length(Schedule(name)) for name in self._casts]
            if isinstance(self.subject, Workflow):
                lengths += self._failing(lengths[0])
                self._asks = any(one.waits for one in lengths)
            return plan(lengths, count=count, seed=self.seed)

    def judge(self, schedules: Sequence[Schedule]) -> list[Judged]:
        """Play these and judge each."""
        with heard(self._log), seldom_collecting():
            return [self._judge(one) for one in schedules]

    def shortened(self, schedule: Schedule, kinds: set[str]) -> Judged:
        """The schedule without the troubles that it does not need to break these kinds of promises."""
        [shortest] = self.judge([schedule])
        for one in schedule.troubles:
            fewer = tuple(other for other in shortest.schedule.troubles if other is not one)
            [judged] = self.judge([Schedule(schedule.scenario, fewer)])
            if kinds <= judged.kinds:
                shortest = judged
        return shortest

    def reachable(self) -> set[Row]:
        """The rows that the tools could take."""
        found = reachable([*every_tool(self.subject)])
        if not any(name.endswith("/clash") for name in self._casts):
            found.discard(("awaiting_approval", "key_conflict"))
        return found if self._asks else {row for row in found if "awaiting_approval" not in row and "requested" not in row}

    def cast(self, name: str) -> Cast:
        """What all schedules of a scenario share.

        Raises:
            InputError: there is no such scenario (`explore.scenario`).
        """
        if name not in self._casts:
            known = ", ".join(self._casts)
            raise InputError(f"there is no scenario {name!r}; there are: {known}", code="explore.scenario", scenario=name)
        return self._casts[name]

    def _judge(self, schedule: Schedule) -> Judged:
        cast = self.cast(schedule.scenario)
        found: list[str] = []
        rows: set[Row] = set()
        swapped: list[Counter[str]] = []
        for payload in range(len(cast.scenario.swaps)) if cast.scenario.swaps else (None,):
            record = self._record(cast, schedule, payload)
            found += [*record.played.faults, *broken(record)]
            rows |= taken(record)
            swapped.append(unapproved(record))
        found += differences(swapped)
        return Judged(schedule, tuple(dict.fromkeys(found)), frozenset(rows))

    def _record(self, cast: Cast, schedule: Schedule, payload: int | None) -> Record:
        return read(Play(cast, schedule, payload=payload).play())

    def _failing(self, length: Length) -> list[Length]:
        """The scenario with each of its steps failing in turn, so that whatever goes wrong then goes wrong on the way back."""
        bases = [Trouble(kind="world", subject=tool.name, mode="refuse") for tool, _ in length.tools]
        bases += [Trouble(kind="check", subject=name, mode="not") for name, _ in length.checks]
        bases += [Trouble(kind="person", mode="deny")] if length.waits else []
        return [self._length(Schedule(length.scenario, (one,))) for one in bases]

    def _length(self, plain: Schedule) -> Length:
        cast = self._casts[plain.scenario]
        payload = len(cast.scenario.swaps) - 1 if cast.scenario.swaps else None
        record = self._record(cast, plain, payload)
        tried = record.played.tried
        if isinstance(self.subject, Workflow) and not plain.troubles:
            self.left_out += tuple(_unfinished(record, plain.scenario))
        tools = [(tool, tried[tool.name]) for tool in every_tool(cast.stage.subject) if tried[tool.name]]
        return Length(
            scenario=plain.scenario,
            base=plain.troubles,
            steps=record.played.steps,
            writes=record.played.writes,
            asked=record.played.speaker.asked,
            tools=tools,
            checks=[(name[6:], count) for name, count in tried.items() if name.startswith("check:")],
            waits=bool(record.approvals),
        )


def _unfinished(record: Record, scenario: str) -> Iterator[str]:
    """Why what comes after some step of a workflow is not explored."""
    for story, event in ((one, event) for one in record.stories for event in one.of(RunEnded)):
        if event.how != "finished":
            ends = f"{scenario}: {story.row.agent} ends as {event.how} ({event.reason}) when nothing goes wrong"
            yield f"{ends}; give a Scenario with results= that fit"


def _protocol(subject: Subject) -> ProtocolName:
    """The protocol of its model, or of that of its first agent, as far as the name says it."""
    if isinstance(subject, Workflow):
        return _protocol(subject.agents[0]) if subject.agents else "anthropic"
    model: str | Model = subject.model
    if not isinstance(model, str):
        return model.wire.protocol
    provider = model.partition(":")[0]
    return {"openai": "openai-responses", "anthropic": "anthropic"}.get(provider, "openai-chat")  # type: ignore[return-value]
