"""What an open owner holds: its ledger, its agents ready to run, and the runs that it drives now.

Knows how an agent becomes a model and a gate. It decides nothing. Invariant: a run has at most one
task in a process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from remit.agent import Agent
from remit.errors import InputError, NotFound
from remit.gate import AtWork, Delegate, Gate, Recalled, Runner
from remit.http import Clients
from remit.model import resolve
from remit.owner.history import Histories
from remit.owner.listener import Listeners
from remit.owner.override import Labels, Outcomes, unlabelled
from remit.tool import Catalogue, Tool
from remit.trace import Recorder, Redactor
from remit.types.ident import Digest, RunId, Wording
from remit.types.ledger import Ledger
from remit.types.model import Model
from remit.types.principal import Principal
from remit.types.run import Standing
from remit.workflow import Workflow

__all__ = ["Bound", "BoundFlow", "Driven", "Drives", "Principals", "State", "need_principal", "recorder_for"]

Principals = Callable[[str, str], Awaitable[Principal | None]]
"""(tenant, subject) -> the principal with its scopes of now, or None to deny."""


@dataclass(frozen=True)
class Bound:
    """An agent with the gate that its calls pass and, once it is needed, the model that answers it.

    Args:
        recorder: what leaves for logs, without the secrets of agent and owner.
        instead: answers in place of the agent's own model.
        heads: the head of requests by the instructions in it, written once for all runs that share it.
    """

    agent: Agent
    gate: Gate
    recorder: Recorder
    instead: Model | None = None
    heads: dict[str, Wording] = field(default_factory=dict[str, Wording])

    @cached_property
    def model(self) -> Model:
        """The model itself; made of its name the first time."""
        if self.instead is not None:
            return self.instead
        return resolve(self.agent.model) if isinstance(self.agent.model, str) else self.agent.model

    @cached_property
    def fallbacks(self) -> tuple[Model, ...]:
        """The models that are asked where that one does not answer.

        Raises:
            InputError: one speaks another protocol (`agent.fallback`).
        """
        if self.instead is not None:
            return ()
        models = tuple(resolve(one) if isinstance(one, str) else one for one in self.agent.fallback)
        for model in models:
            if model.wire.protocol != self.model.wire.protocol:
                message = (
                    f"fallback= of agent {self.agent.name!r}: {model.identity!r} speaks {model.wire.protocol}, and "
                    f"{self.model.identity!r} {self.model.wire.protocol}; a run goes on with the same transcript only"
                )
                raise InputError(message, code="agent.fallback", agent=self.agent.name)
        return models

    @property
    def models(self) -> tuple[Model, ...]:
        """All that may be asked, in their order."""
        return (self.model, *self.fallbacks)

    async def aclose(self) -> None:
        """Close the connections of the models that were made here."""
        if self.instead is not None:
            return
        if isinstance(self.agent.model, str) and "model" in self.__dict__:
            await self.model.aclose()
        for given, model in zip(self.agent.fallback, self.__dict__.get("fallbacks", ()), strict=False):
            if isinstance(given, str):
                await model.aclose()


@dataclass(frozen=True, slots=True)
class BoundFlow:
    """A workflow with the gate that its steps pass."""

    workflow: Workflow
    gate: Gate
    recorder: Recorder


class Drives(Protocol):
    """What drives one run: a loop, or a workflow's function."""

    async def drive(self) -> Standing:
        """Go on until the run has ended, or only people can move it."""
        ...

    async def abandon(self) -> None:
        """Leave the run as a crash would."""
        ...


@dataclass(slots=True)
class Driven:
    """A run that this process drives. `begun` is done once its first commit is durable, or could not be made."""

    task: asyncio.Task[Standing]
    begun: asyncio.Future[None]
    driver: Drives


@dataclass(slots=True, kw_only=True)
class State:
    """All that the modules of the owner share.

    Args:
        workflows: those whose runs this process may drive; no agent has the name of one.
        model: answers in place of every agent's own, in tests.
        outcomes: what calls came to, in the place of every handler, in replays.
        runner: does what calls ask for, in tests of that.
        labels: what their answers did to the context then.
        dry_run: nothing that changes anything is done.
        at_work: what the gates of all agents are doing here.
        delegate: runs the agents that answer calls.
        web: makes the HTTP clients of attempts.
        lost: runs of ours whose driving ended in an error, to be taken up again, and how often that was so.
        again_s: runs that could not be taken up, and when to try again.
        news: set when something here made work for the take-up.
        closing: it is being left: what goes on is waited for. `left`: nothing begins any more.
        recording: held while an inbox is journaled that no driver takes.
        histories: what the conversations of runs that began here had said.
        listeners: who here listens to runs while they go on.
    """

    ledger: Ledger
    agents: Mapping[str, Agent]
    deps: object
    principals: Principals | None
    secrets: Sequence[str]
    listeners: Listeners
    workflows: Mapping[str, Workflow] = field(default_factory=dict[str, Workflow])
    model: Model | None = None
    dry_run: bool = False
    outcomes: Outcomes | None = None
    runner: Runner | None = None
    labels: Labels = unlabelled
    at_work: AtWork = field(default_factory=AtWork)
    delegate: Delegate | None = None
    web: Clients = field(default_factory=Clients)
    live: dict[RunId, Driven] = field(default_factory=dict[RunId, Driven])
    lost: dict[RunId, int] = field(default_factory=dict[RunId, int])
    again_s: dict[RunId, float] = field(default_factory=dict[RunId, float])
    news: asyncio.Event = field(default_factory=asyncio.Event)
    recording: asyncio.Lock = field(default_factory=asyncio.Lock)
    closing: bool = False
    left: bool = False
    histories: Histories = field(default_factory=Histories)
    _bound: dict[str, Bound] = field(default_factory=dict[str, Bound])
    _flows: dict[str, BoundFlow] = field(default_factory=dict[str, BoundFlow])
    _redactors: dict[str, Redactor] = field(default_factory=dict[str, Redactor])

    def nudge(self) -> None:
        """Something may be taken up now."""
        self.news.set()

    def bound(self, name: str) -> Bound:
        """The agent of that name, ready to run.

        Raises:
            NotFound: this owner has no such agent.
        """
        if name not in self._bound:
            agent = self.agents.get(name)
            if agent is None:
                known = ", ".join(sorted(self.agents)) or "none"
                message = f"no agent {name!r} in Remit(agents=...); it has: {known}"
                raise NotFound(message, code="agent.unknown", agent=name)
            if self.dry_run:
                agent = replace(agent, done=None)
            secrets = (*self.secrets, *agent.secrets)
            recorder = recorder_for(secrets)
            self._bound[name] = Bound(agent, self._gate(agent, secrets, recorder), recorder, self.model)
        return self._bound[name]

    @property
    def names(self) -> frozenset[str]:
        """Of all whose runs this owner may drive, agents and workflows."""
        return frozenset((*self.agents, *self.workflows))

    def bound_flow(self, name: str) -> BoundFlow:
        """The workflow of that name, which this owner has, ready to run."""
        if name not in self._flows:
            workflow = self.workflows[name]
            secrets = (*self.secrets, *workflow.secrets)
            recorder = recorder_for(secrets)
            self._flows[name] = BoundFlow(workflow, self._gate(workflow, secrets, recorder), recorder)
        return self._flows[name]

    def gate_of(self, name: str) -> Gate:
        """The gate of the agent or workflow of that name; where it is not here, one without tools."""
        if name in self.workflows:
            return self.bound_flow(name).gate
        return self.bound(name).gate if name in self.agents else self.bare_gate(name)

    def redactor(self, agent: str) -> Redactor:
        """What takes the secrets that owner and agent declared out of what leaves, and nothing else."""
        if agent not in self._redactors:
            declarer = self.agents.get(agent) or self.workflows.get(agent)
            declared = () if declarer is None else declarer.secrets
            self._redactors[agent] = Redactor((*self.secrets, *declared), rules=())
        return self._redactors[agent]

    def bare_gate(self, agent: str = "") -> Gate:
        """A gate without tools: it journals what people said, and runs nothing."""
        return Gate(
            tools=Catalogue(()),
            ledger=self.ledger,
            secrets=tuple(self.secrets),
            agent=agent,
            at_work=self.at_work,
            delegate=self.delegate,
        )

    def tool(self, name: str, contract: Digest) -> Tool | None:
        """The tool of that name and contract, if an agent or workflow here has it."""
        for holder in (*self.agents.values(), *self.workflows.values()):
            tool = holder.catalogue.get(name)
            if tool is not None and tool.contract == contract:
                return tool
        return None

    async def close_models(self) -> None:
        """Close the connections of the models that were made from names here."""
        for bound in self._bound.values():
            await bound.aclose()

    def _gate(self, agent: Agent | Workflow, secrets: Sequence[str], recorder: Recorder) -> Gate:
        return Gate(
            tools=agent.catalogue,
            ledger=self.ledger,
            policies=agent.policies,
            deps=self.deps,
            secrets=secrets,
            agent=agent.name,
            agent_digest=agent.digest,
            budget=agent.budget,
            progress=recorder.log_progress,
            web=self.web,
            dry_run=self.dry_run,
            runner=self.runner if self.outcomes is None else Recalled(self.outcomes, self.labels),
            at_work=self.at_work,
            delegate=self.delegate,
        )


def recorder_for(secrets: Sequence[str]) -> Recorder:
    """What writes to the logger `remit`, with these secrets masked."""
    return Recorder(redactor=Redactor(secrets=secrets))


def need_principal(principal: object) -> Principal:
    """The principal, checked.

    Raises:
        InputError: it is none.
    """
    if not isinstance(principal, Principal):
        raise InputError(
            "principal= is missing: pass Principal(subject, tenant=..., scopes=...) of whom your application authenticated",
            code="principal.missing",
        )
    return principal
