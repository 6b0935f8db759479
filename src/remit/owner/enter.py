"""Opening and leaving an owner.

Knows ledgers, tasks and what the environment names. Invariant: after leaving, nothing of the owner runs
here, and its lock is free for others to see.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from remit.agent import Agent
from remit.errors import DefinitionError, InputError
from remit.http import Clients, Http
from remit.ledger import MemoryLedger, ledger_named
from remit.owner.child import Children
from remit.owner.listener import Listeners
from remit.owner.override import current
from remit.owner.roll import by_name, need_names_apart, workflows_by_name
from remit.owner.state import Driven, Principals, State, recorder_for
from remit.owner.waiting import OnWaiting, Teller
from remit.owner.watch import sweep, watch
from remit.types.ledger import Ledger
from remit.types.secret import check_secrets
from remit.workflow import Workflow

__all__ = ["LedgerLike", "Open", "Setup", "enter", "leave"]

LedgerLike = str | Path | Ledger | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What an application passed to `Remit`, checked."""

    ledger: LedgerLike
    agents: Mapping[str, Agent]
    workflows: Mapping[str, Workflow]
    deps: object
    drain_s: float
    principals: Principals | None
    on_waiting: OnWaiting | None
    secrets: tuple[str, ...]
    dry_run: bool
    http: Http

    @classmethod
    def of(
        cls,
        ledger: LedgerLike,
        agents: Sequence[Agent],
        *,
        workflows: Sequence[Workflow],
        deps: object,
        drain_s: float,
        principals: Principals | None,
        on_waiting: OnWaiting | None,
        secrets: Sequence[str],
        dry_run: bool,
        http: Http | None,
    ) -> Setup:
        """Check what was passed.

        Raises:
            DefinitionError: agents are no agents, or two have one name; `principals` is not async; secrets that cannot be
                removed.
            InputError: a time or something else that cannot be used.
        """
        if isinstance(agents, Agent):
            raise DefinitionError("agents= of Remit is a list: agents=[agent]", code="owner.agents")
        flows = workflows_by_name(workflows)
        named = by_name(agents, [tool for one in flows.values() for tool in one.tools])
        need_names_apart(named, flows)
        for agent in named.values():
            if dry_run and any(tool.effect is not None for tool in agent.declared_server_tools):
                message = f"agent {agent.name!r} has provider-run tools that change something: no dry run can keep them off"
                raise InputError(message, code="owner.dry_run", agent=agent.name)
        check_secrets(secrets, "secrets= of Remit")
        if principals is not None and not inspect.iscoroutinefunction(_called(principals)):
            message = "principals= of Remit is an async function: async def principals(tenant, subject): ..."
            raise DefinitionError(message, code="owner.principals")
        if drain_s < 0:
            raise InputError("drain_s= of Remit is at least 0", code="owner.drain_s")
        if http is not None and not isinstance(http, Http):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError("http= of Remit is an Http(...) of remit.http", code="owner.http")
        return cls(
            ledger=ledger,
            agents=named,
            workflows=flows,
            deps=deps,
            drain_s=drain_s,
            principals=principals,
            on_waiting=on_waiting,
            secrets=tuple(secrets),
            dry_run=dry_run,
            http=http or Http(),
        )


@dataclass(frozen=True, slots=True)
class Open:
    """An open owner and its background."""

    state: State
    background: asyncio.Task[None]


async def enter(setup: Setup) -> Open:
    """Open the ledger, take up what may go on, and start the background."""
    instead = current()
    ledger = instead.ledger or (MemoryLedger() if setup.dry_run and setup.ledger is None else _ledger_of(setup.ledger))
    if setup.dry_run and ledger.durable:
        raise InputError("a dry run keeps nothing: leave ledger= out", code="owner.dry_run")
    await ledger.open()
    state = State(
        ledger=ledger,
        agents=setup.agents,
        workflows=setup.workflows,
        deps=setup.deps if instead.deps is None else instead.deps,
        principals=setup.principals,
        secrets=setup.secrets,
        listeners=Listeners(ledger),
        model=instead.model,
        dry_run=setup.dry_run,
        web=Clients(setup.http),
        outcomes=instead.outcomes,
        runner=instead.runner,
        labels=instead.labels,
    )
    state.delegate = Children(state)
    teller = None if setup.on_waiting is None else _teller(state, setup.on_waiting)
    try:
        await sweep(state)
    except BaseException:
        await _drop(state)
        raise
    background = asyncio.ensure_future(watch(state, teller))
    background.add_done_callback(lambda task: _log_end(state, task))
    return Open(state, background)


def _called(function: object) -> object:
    """What is called in the end: the function of a `partial`, the method of an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004


def _teller(state: State, on_waiting: OnWaiting) -> Teller:
    recorder = recorder_for(state.secrets)
    return Teller(state.ledger, state.names, on_waiting, recorder=recorder, nudge=state.nudge)


def _log_end(state: State, background: asyncio.Task[None]) -> None:
    """The background ends by being cancelled; any other end leaves runs that nobody takes up."""
    if background.cancelled():
        return
    error = background.exception()
    if error is not None:
        recorder_for(state.secrets).log_error(error)


async def leave(opened: Open, *, drain_s: float) -> None:
    """Wait up to `drain_s` for the runs that go on here; leave the rest as a crash would."""
    state = opened.state
    state.closing = True
    opened.background.cancel()
    await asyncio.gather(opened.background, return_exceptions=True)
    tasks = [live.task for live in state.live.values()]
    if tasks and drain_s > 0:
        await asyncio.wait(tasks, timeout=drain_s)
    await _drop(state)


async def _drop(state: State) -> None:
    """Let go of all that still runs, of the models and of the ledger."""
    state.closing = state.left = True
    await asyncio.gather(*(_abandon(live) for live in list(state.live.values())))
    await state.close_models()
    await state.ledger.aclose()


async def _abandon(live: Driven) -> None:
    await live.driver.abandon()
    live.task.cancel()
    await asyncio.gather(live.task, return_exceptions=True)


def _ledger_of(given: LedgerLike) -> Ledger:
    if given is None:
        given = os.environ.get("REMIT_LEDGER") or "remit.db"
    return ledger_named(given) if isinstance(given, (str, Path)) else given
