"""`remit approvals`, `approve`, `deny`, `answer`: what people are asked, and what they say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer

from remit.cli import find, load, paper
from remit.cli.command.run import go_on, need_agent
from remit.cli.exit import of_standing
from remit.cli.option import AgentOption, ByOption, DepsOption, JsonOption, LedgerOption, QuietOption, ReasonOption
from remit.cli.place import ledger_path, owning, reading
from remit.cli.screen import Screen
from remit.cli.stand import show_approval, show_standing
from remit.cli.work import do
from remit.errors import Conflict, InputError
from remit.types.approval import Approval, ApprovalState
from remit.types.ident import Json
from remit.types.principal import Principal
from remit.types.run import RunRow, Standing

if TYPE_CHECKING:
    from remit import Remit

__all__ = ["answer", "approvals", "approve", "deny"]

ApprovalArgument = Annotated[str, typer.Argument(metavar="APPROVAL", help="Its id, or the beginning of one.")]
ScopesOption = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="SCOPE", help="What --by may do; default: the scope that the approval asks for."),
]


@dataclass(frozen=True, slots=True)
class _Saying:
    """What was said on the command line about one approval, and what shall happen then."""

    named: str
    verdict: str
    by: str
    scopes: list[str] | None
    ledger: str | None
    agent: str | None
    deps: str | None
    quiet: bool
    as_json: bool


def approvals(
    *,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only of this run.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Those that were decided, too.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="At most so many.")] = 100,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """List approvals and questions that wait, oldest first.

    \b
    Examples:
      remit approvals
      remit approvals --run run_4711 --all --json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        state: tuple[ApprovalState, ...] | None = None if every else ("pending",)
        async with reading(ledger_path(ledger)) as opened:
            named = None if run is None else (await find.run(opened, run)).id
            rows = await opened.approvals(run=named, state=state, limit=limit)
        if as_json:
            screen.document({"approvals": [paper.approval(row) for row in rows]})
            return 0
        for row in rows:
            show_approval(screen, row)
        if not rows:
            screen.line("nothing waits for a person" if not every else "nobody was asked anything", style="dim")
        return 0

    do(screen, job())


def approve(
    approval: ApprovalArgument,
    *,
    by: ByOption,
    reason: ReasonOption,
    scope: ScopesOption = None,
    arguments: Annotated[
        str | None, typer.Option("--arguments", metavar="JSON", help="Other arguments that shall run instead.")
    ] = None,
    agent: AgentOption = None,
    deps: DepsOption = None,
    ledger: LedgerOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say yes to an approval. It runs when its run is taken up: at once with --agent, else by whoever has its agent.

    Whoever can write the ledger file can decide: the command takes --by at its word, records it, and holds the
    scope that the approval asks for. A deployment that knows more says what the person may do with --scope.
    Where two people are needed, --by is not the requester.

    \b
    Examples:
      remit approve apr_7f3 --by bob --reason "checked the bank statement"
      remit approve apr_7f3 --by bob --reason "half of it" --arguments '{"charge_id": "ch_1", "amount_cents": 500}'
      remit approve apr_7f3 --by bob --reason ok --agent shop:support --deps shop:make_shop
    """
    edited = None if arguments is None else _members(arguments)

    async def say(remit: Remit, row: Approval, who: Principal) -> Approval:
        return await remit.decide(row.id, True, by=who, reason=reason, arguments=edited)

    _decide(say, _Saying(approval, "approved", by, scope, ledger, agent, deps, quiet, as_json))


def deny(
    approval: ApprovalArgument,
    *,
    by: ByOption,
    reason: ReasonOption,
    scope: ScopesOption = None,
    agent: AgentOption = None,
    deps: DepsOption = None,
    ledger: LedgerOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say no to an approval. The model is told so, and the reason, when the run is taken up.

    \b
    Examples:
      remit deny apr_7f3 --by bob --reason "the charge is not a duplicate"
    """

    async def say(remit: Remit, row: Approval, who: Principal) -> Approval:
        return await remit.decide(row.id, False, by=who, reason=reason)

    _decide(say, _Saying(approval, "denied", by, scope, ledger, agent, deps, quiet, as_json))


def answer(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="Its id, or the beginning of one.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
    *,
    by: ByOption,
    reason: ReasonOption = "",
    agent: AgentOption = None,
    deps: DepsOption = None,
    ledger: LedgerOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer a question that a model asked. The model trusts the answer only if --by is whom the run is for.

    \b
    Examples:
      remit answer apr_9k2 "the blue one" --by alice
    """

    async def say(remit: Remit, row: Approval, who: Principal) -> Approval:
        return await remit.answer(row.id, text, by=who, reason=reason)

    _decide(say, _Saying(question, "answered", by, None, ledger, agent, deps, quiet, as_json))


def _decide(say: Callable[[Remit, Approval, Principal], Awaitable[Approval]], saying: _Saying) -> None:
    screen = Screen(as_json=saying.as_json)

    async def job() -> int:
        row, run = await _rows(saying)
        stands = None
        async with owning(ledger_path(saying.ledger), [saying.agent] if saying.agent else [], deps=saying.deps) as remit:
            decided = await say(remit, row, _who(saying, row))
            _need(decided, saying)
            if saying.agent is not None:
                stands = await go_on(screen, remit, run, quiet=saying.quiet)
        _report(screen, decided, stands)
        return 0 if stands is None else of_standing(stands)

    do(screen, job())


async def _rows(saying: _Saying) -> tuple[Approval, RunRow]:
    async with reading(ledger_path(saying.ledger)) as opened:
        row = await find.approval(opened, saying.named)
        run = await find.run(opened, row.run)
    if saying.agent is not None:
        need_agent(run, [load.agent(saying.agent)])
    return row, run


def _report(screen: Screen, decided: Approval, stands: Standing | None) -> None:
    if screen.as_json:
        standing: Json = None if stands is None else paper.standing(stands)
        screen.document({"approval": paper.approval(decided), "standing": standing})
    elif stands is not None:
        show_standing(screen, stands)
    else:
        show_approval(screen, decided)
        screen.line(f"recorded; it takes effect when {decided.run} is taken up (remit resume)", style="dim")


def _who(saying: _Saying, row: Approval) -> Principal:
    if not saying.by:
        raise InputError("--by names who decides", code="by.missing")
    scopes = [row.scope] if saying.scopes is None else saying.scopes
    return Principal(saying.by, row.tenant, frozenset(scope for scope in scopes if scope))


def _need(decided: Approval, saying: _Saying) -> None:
    """Raise `Conflict` where the row says something else than was said now."""
    state = decided.state
    if state in (saying.verdict, "consumed") and decided.decided_by == saying.by:
        return
    who = f" by {decided.decided_by}" if decided.decided_by else ""
    message = f"{decided.id} was {'decided' if state == 'consumed' else state}{who} before; nothing was changed"
    raise Conflict(message, code="approval.decided", approval=decided.id, state=state)


def _members(text: str) -> dict[str, Json]:
    from remit.canonical import parse

    value = parse(text)
    if not isinstance(value, dict):
        raise InputError("--arguments is a JSON object with all arguments of the tool", code="decision.arguments")
    return cast(dict[str, Json], value)
