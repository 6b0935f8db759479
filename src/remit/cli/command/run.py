"""`remit run`, `resume`, `cancel`, `recover`: what starts runs, goes on with them, and ends them."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from remit.cli import find, load, paper
from remit.cli.exit import UNSETTLED, of_standing
from remit.cli.option import AgentsOption, ByOption, DepsOption, JsonOption, LedgerOption, QuietOption, ReasonOption, json_of
from remit.cli.place import ledger_path, owning, reading, rehearsing
from remit.cli.progress import Progress
from remit.cli.rehearsal import show_rehearsal
from remit.cli.screen import Screen
from remit.cli.stand import show_standing
from remit.cli.work import do
from remit.errors import InputError
from remit.types.ident import Json
from remit.types.principal import Principal
from remit.types.run import RunRow, Standing

if TYPE_CHECKING:
    from remit import Agent, Remit
    from remit.workflow import Workflow

__all__ = ["cancel", "go_on", "need_agent", "recover", "resume", "run"]

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or the beginning of one.")]


PrincipalOption = Annotated[
    str, typer.Option("--principal", metavar="SUBJECT[@TENANT]", help="For whom; what follows the last @ is the tenant.")
]
ScopeOption = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="SCOPE", help="What it may do; default: all that the agent's tools ask for."),
]
ConversationOption = Annotated[str | None, typer.Option("--conversation", metavar="ID", help="The chain it belongs to.")]
RequestIdOption = Annotated[
    str | None, typer.Option("--request-id", metavar="ID", help="Given twice, the same request is one run.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Change nothing and ask nobody; say what would have happened.")]


def run(
    agent: Annotated[str, typer.Argument(metavar="MODULE:AGENT", help="The agent or workflow, from the current directory.")],
    request: Annotated[str, typer.Argument(metavar="REQUEST", help="What is asked of it; of a workflow, its input as JSON.")],
    *,
    principal: PrincipalOption,
    scope: ScopeOption = None,
    conversation: ConversationOption = None,
    request_id: RequestIdOption = None,
    dry_run: DryRunOption = False,
    deps: DepsOption = None,
    ledger: LedgerOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a request until it has ended or waits for a person.

    Progress goes to standard error, on a terminal with the model's words as they come; the result goes to standard
    output. Whoever may run this command here could run the handlers themselves, so without --scope the principal may
    do all that the agent's tools ask for; give --scope for each thing it may do instead (an empty one for nothing).
    With --dry-run the model is asked and reads run; a write is decided as always and then not done: the model is told
    what its preview says, and a tool without one is refused. No ledger is read or written, so an effect that has
    happened already is not known.

    \b
    Examples:
      remit run shop:support "Refund the duplicate charge on A-12345" --principal alice
      remit run shop:support "Refund the duplicate charge on A-12345" --principal alice --dry-run
      remit run shop:support "And the other one" --principal alice@acme --conversation ticket-4711
      remit run shop:support "Where is A-12345?" --principal alice --scope orders:read --deps shop:make_shop --json
      remit run shop:refund '{"order_id": "A-12345", "amount_cents": 500}' --principal alice
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        screen.hide(load.secrets([agent]))
        asked = _principal(principal, load.agent(agent), scope)
        progress = Progress(screen, quiet=quiet)
        if dry_run:
            _need_nothing_kept(ledger, conversation, request_id)
            async with rehearsing(agent, deps=deps) as remit:
                stands = await _asked(remit, progress, agent, request, asked)
                show_rehearsal(screen, stands, await remit.events(stands.id))
            return of_standing(stands)
        async with owning(ledger_path(ledger), [agent], deps=deps, make=True) as remit:
            waiting = _asked(remit, progress, agent, request, asked, conversation=conversation, request_id=request_id)
            stands = await _interruptible(waiting, screen, lambda: _again(progress.run, [agent], deps, ledger))
        show_standing(screen, stands)
        return of_standing(stands)

    do(screen, job(), quiet=quiet)


async def _asked(
    remit: Remit,
    progress: Progress,
    agent: str,
    request: str,
    principal: Principal,
    *,
    conversation: str | None = None,
    request_id: str | None = None,
) -> Standing:
    """Ask, and tell what happens until the run stands still. Its words are asked for where somebody reads them."""
    named = load.agent(agent)
    asked = _input(named, request)
    if progress.shows_words:
        steps = remit.stream(named, asked, principal=principal, conversation=conversation, request_id=request_id)
        return await progress.through(steps)
    begun = await remit.submit(named, asked, principal=principal, conversation=conversation, request_id=request_id)
    progress.run = begun.id
    return await progress.until(remit, remit.run_to_end(begun.id, principal))


def _input(named: Agent | Workflow, request: str) -> str | dict[str, Json]:
    """What is asked: words of an agent, of a workflow its input."""
    if not load.apart([named])[1]:
        return request
    given = json_of("REQUEST", request)
    if not isinstance(given, dict):
        message = "the request to a workflow is a JSON object of its parameters"
        raise InputError(message, code="workflow.input")
    return given


def _need_nothing_kept(ledger: str | None, conversation: str | None, request_id: str | None) -> None:
    if ledger is not None or conversation is not None or request_id is not None:
        message = "a dry run keeps nothing: leave --ledger, --conversation and --request-id out"
        raise InputError(message, code="owner.dry_run")


def resume(
    run: RunArgument,
    *,
    agent: AgentsOption,
    deps: DepsOption = None,
    ledger: LedgerOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Go on with a run that was left or decided.

    Waits until it has ended or waits for a person. What was in doubt is settled first.
    A run that a living process owns is not taken from it (exit code 9).

    \b
    Examples:
      remit resume run_4711 --agent shop:support
      remit resume run_4711 --agent shop:support --deps shop:make_shop --json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        screen.hide(load.secrets(agent))
        row = await _row(ledger, run)
        need_agent(row, load.agents(agent))
        async with owning(ledger_path(ledger), agent, deps=deps) as remit:
            waiting = go_on(screen, remit, row, quiet=quiet)
            stands = await _interruptible(waiting, screen, lambda: _again(row.id, agent, deps, ledger))
        show_standing(screen, stands)
        return of_standing(stands)

    do(screen, job(), quiet=quiet)


async def go_on(screen: Screen, remit: Remit, row: RunRow, *, quiet: bool) -> Standing:
    """Resume a run with live progress from where it is, and return how it stands then."""
    return await Progress(screen, row.id, after=row.sequence, quiet=quiet).until(remit, remit.resume(row.id))


def cancel(
    run: RunArgument,
    *,
    by: ByOption,
    reason: ReasonOption = "",
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cancel a run; nothing more of it starts.

    What was dispatched is awaited by its owner, or stays to be settled.

    \b
    Examples:
      remit cancel run_4711 --by bob --reason "the customer called"
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        row = await _row(ledger, run)
        if row.status != "ended":
            async with owning(ledger_path(ledger)) as remit:
                await remit.cancel(row.id, by=by, reason=reason)
        now = await _row(ledger, row.id)
        if as_json:
            screen.document({"run": paper.run(now)})
        elif row.status == "ended":
            screen.line(f"{row.id} had ended already; nothing was changed")
        elif now.status == "ended":
            screen.line(f"{row.id} is cancelled")
        else:
            screen.line(f"recorded; whoever owns {row.id}, or takes it up next, will end it")
        return 0

    do(screen, job())


def recover(
    *,
    agent: AgentsOption,
    deps: DepsOption = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take up what dead processes left; settle what can be.

    The systems of record are asked about every operation in doubt, and the runs that were taken up are waited for,
    up to a minute. Lists what is still unknown then (exit code 14): a person settles it with `remit settle`.

    \b
    Examples:
      remit recover --agent shop:support
      remit recover --agent shop:support --agent shop:billing --deps shop:make_shop --json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        screen.hide(load.secrets(agent))
        async with owning(ledger_path(ledger), agent, deps=deps) as remit:
            unknown = await remit.recover()
        if as_json:
            screen.document({"unknown": [paper.operation(row, screen.redactor) for row in unknown]})
        elif unknown:
            screen.table(("unknown", "tool", "run"), [(row.id, row.tool, row.run) for row in unknown])
            screen.line('settle each: remit settle OPERATION --happened --by NAME --reason "..."', style="dim")
        else:
            screen.line("nothing is in doubt")
        return UNSETTLED if unknown else 0

    do(screen, job())


async def _interruptible(waiting: Awaitable[Standing], screen: Screen, mend: Callable[[], str]) -> Standing:
    try:
        return await waiting
    except asyncio.CancelledError:
        started = "interrupted; what was started is given time to end (Ctrl-C again leaves at once)"
        screen.note(f"{started}. Go on with: {mend()}", style="yellow")
        raise


def _again(run: str | None, agents: Sequence[str], deps: str | None, ledger: str | None) -> str:
    """The command that goes on with a run, as this one was given."""
    options = [*(("--agent", one) for one in agents), ("--deps", deps), ("--ledger", ledger)]
    given = [part for name, value in options if value is not None for part in (name, value)]
    return shlex.join(["remit", "resume", run or "RUN", *given])


async def _row(ledger: str | None, run: str) -> RunRow:
    async with reading(ledger_path(ledger)) as opened:
        return await find.run(opened, run)


def need_agent(row: RunRow, agents: Sequence[Agent | Workflow]) -> None:
    """Raise `InputError` unless one of these agents or workflows can go on with the run."""
    if row.host and row.agent not in {one.name for one in load.apart(agents)[1]}:
        raise InputError(f"{row.id} is driven by another loop; it goes on with that loop's next call", code="run.host")
    if all(agent.name != row.agent for agent in agents):
        named = ", ".join(agent.name for agent in agents)
        raise InputError(f"the run is of agent {row.agent}, and --agent names {named}", code="agent.other")


def _principal(named: str, agent: Agent | Workflow, scopes: list[str] | None) -> Principal:
    subject, at, tenant = named.rpartition("@")
    asked = {scope for one in load.below(agent) for tool in one.tools for scope in tool.scopes}
    held = asked if not scopes else {scope for scope in scopes if scope}
    with suppress(ValueError):
        return Principal(subject, tenant, frozenset(held)) if at else Principal(named, scopes=frozenset(held))
    raise InputError(f"write SUBJECT or SUBJECT@TENANT in place of {named!r}", code="principal")
