"""`remit approvals`, `approve`, `deny`, `answer`: what people are asked, and what they say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from remit import ambient
from remit.cli import find, load, paper
from remit.cli.command.run import go_on, need_agent
from remit.cli.exit import of_standing
from remit.cli.option import AgentOption, ByOption, DepsOption, JsonOption, LedgerOption, QuietOption, ReasonOption, json_of
from remit.cli.place import ledger_path, owning, reading
from remit.cli.screen import Screen
from remit.cli.stand import effective, show_approval, show_decision, show_standing
from remit.cli.work import do
from remit.errors import Conflict, InputError
from remit.types.approval import Approval, ApprovalKind, ApprovalState
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
    value: Json = None
    """The arguments that were edited, or the answer."""

    @property
    def kind(self) -> ApprovalKind:
        return "question" if self.verdict == "answered" else "approval"


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
        str | None,
        typer.Option(
            "--arguments",
            metavar="JSON",
            help="Other arguments that shall run instead, all of them. With --agent the tool checks them first; "
            "without, they are checked when the run goes on.",
        ),
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

    _decide(say, _Saying(approval, "approved", by, scope, ledger, agent, deps, quiet, as_json, edited))


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
    """Answer a question that a model asked. The answer is trusted only if --by is whom the run is for.

    Where the question offers choices, the answer is one of them.

    \b
    Examples:
      remit answer apr_9k2 "the blue one" --by alice
    """

    async def say(remit: Remit, row: Approval, who: Principal) -> Approval:
        return await remit.answer(row.id, text, by=who, reason=reason)

    _decide(say, _Saying(question, "answered", by, None, ledger, agent, deps, quiet, as_json, text))


def _decide(say: Callable[[Remit, Approval, Principal], Awaitable[Approval]], saying: _Saying) -> None:
    screen = Screen(as_json=saying.as_json)

    async def job() -> int:
        screen.hide(load.secrets([saying.agent] if saying.agent else []))
        row, run = await _rows(saying)
        # Before an owner is open: with an agent, it goes on with the run.
        _fits(row, saying)
        stands = None
        async with owning(ledger_path(saying.ledger), [saying.agent] if saying.agent else [], deps=saying.deps) as remit:
            decided = await say(remit, row, _who(saying, row))
            _recorded(decided, saying)
            if saying.agent is not None:
                stands = await go_on(screen, remit, run, quiet=saying.quiet)
        _report(screen, saying, decided, stands)
        if not screen.as_json and (stands is None or row.state != "pending"):
            screen.line(_told(row, decided, run, stands), style="dim")
        return 0 if stands is None else of_standing(stands)

    do(screen, job(), quiet=saying.quiet)


async def _rows(saying: _Saying) -> tuple[Approval, RunRow]:
    async with reading(ledger_path(saying.ledger)) as opened:
        row = await find.approval(opened, saying.named, kind=saying.kind)
        run = await find.run(opened, row.run)
        root = run if run.parent is None else await find.run(opened, run.root)
        run = run if root.host else root  # what a child was told is taken up with the run at the top
    if saying.agent is not None:
        need_agent(run, [load.agent(saying.agent)])
    return row, run


def _report(screen: Screen, saying: _Saying, decided: Approval, stands: Standing | None) -> None:
    checked = None if decided.edited is None else _is_checked(saying, decided)
    if screen.as_json:
        standing: Json = None if stands is None else paper.standing(stands)
        screen.document({"approval": paper.approval(decided), "arguments_checked": checked, "standing": standing})
        return
    if stands is None:
        show_approval(screen, decided)
    elif decided.edited is not None or decided.answer is not None:
        show_decision(screen, decided)
    if checked is False:
        screen.line("  these arguments are not checked yet: the tool checks them when the run goes on", style="yellow")
    if stands is not None:
        show_standing(screen, stands)


def _told(row: Approval, decided: Approval, run: RunRow, stands: Standing | None) -> str:
    """What became of what was said: `row` is as it was before, `decided` as it is."""
    if row.state == "pending":
        return f"recorded; {effective(run, row.call)}"
    before = f"you {_verdict(row)} this before; nothing new is recorded"
    if row.state == "consumed":
        return f"{before}{'; it ran' if row.kind == 'approval' else ''}"
    waits = stands is None and decided.state in ("approved", "answered")
    return f"{before}; {effective(run, row.call)}" if waits else before


def _who(saying: _Saying, row: Approval) -> Principal:
    if not saying.by:
        raise InputError("--by names who decides", code="by.missing")
    scopes = [row.scope] if saying.scopes is None else saying.scopes
    return Principal(saying.by, row.tenant, frozenset(scope for scope in scopes if scope))


def _is_checked(saying: _Saying, row: Approval) -> bool:
    """Whether the tool was there when the arguments were edited."""
    tool = None if saying.agent is None else load.tool_in(load.agent(saying.agent), row.tool)
    return tool is not None and tool.contract == row.contract


def _fits(row: Approval, saying: _Saying) -> None:
    """Return if this may still be said about the row, or was said before by the same person.

    Raises:
        InputError: it is of the other kind (`approval.kind`), or the answer is none of the choices (`answer.choice`).
        Conflict: something else was said before, or time is over (`approval.decided`).
    """
    if row.kind != saying.kind:
        other = f'answer {row.id} "..."' if row.kind == "question" else f"approve {row.id} or remit deny {row.id}"
        raise InputError(
            f"{row.id} is a{'n' if row.kind == 'approval' else ''} {row.kind}: use remit {other}", code="approval.kind"
        )
    overdue = row.expires_ms is not None and row.expires_ms <= ambient.now_ms()
    if row.state == "pending" and not overdue:
        _need_choice(row, saying)
    elif not (_is_same(row, saying) and _said(row) == saying.value):
        raise _too_late(row)


def _need_choice(row: Approval, saying: _Saying) -> None:
    offered = paper.approval(row)["arguments"] if row.kind == "question" else None
    choices = offered.get("choices") if isinstance(offered, dict) else None
    if isinstance(choices, list) and choices and saying.value not in choices:
        named = ", ".join(str(one) for one in choices)
        raise InputError(f"{saying.value!r} is none of the choices: {named}", code="answer.choice")


def _recorded(decided: Approval, saying: _Saying) -> None:
    """Raise `Conflict` where somebody else was faster, or time is over."""
    if not _is_same(decided, saying):
        raise _too_late(decided)


def _is_same(row: Approval, saying: _Saying) -> bool:
    return _verdict(row) == saying.verdict and row.decided_by == saying.by


def _verdict(row: Approval) -> str:
    """What was said about a row that may have been used since."""
    return row.state if row.state != "consumed" else "approved" if row.kind == "approval" else "answered"


def _said(row: Approval) -> Json:
    """The edited arguments, or the answer."""
    from remit.canonical import decode, to_plain

    text = row.answer if row.kind == "question" else row.edited
    return None if text is None else to_plain(decode(text))


def _too_late(row: Approval) -> Conflict:
    match row.state:
        case "void":
            how = "is void: what it asked for was withdrawn, cancelled or replaced"
        case "expired" | "pending":
            how = "has expired: nobody decided in time"
        case "consumed" if row.kind == "approval":
            how = f"was approved by {row.decided_by} before, and it ran"
        case _:
            how = f"was {_verdict(row)} by {row.decided_by} before"
    also = ", with other arguments" if row.edited is not None else ""
    message = f"{row.id} {how}{also}; what was said now is not recorded"
    return Conflict(message, code="approval.decided", approval=row.id, state=row.state)


def _members(text: str) -> dict[str, Json]:
    value = json_of("--arguments", text)
    if not isinstance(value, dict):
        raise InputError("--arguments is a JSON object with all arguments of the tool", code="decision.arguments")
    return value
