"""How a run stands, printed: its answer, what a person must decide, what is not settled, what it cost."""

from __future__ import annotations

from remit.cli import paper
from remit.cli.screen import Screen
from remit.cli.text import compact, dollars, moment
from remit.types.approval import Approval
from remit.types.budget import Usage
from remit.types.ident import CallId
from remit.types.run import Cancelled, Escalated, Finished, ModelRefused, Paused, RunRow, Standing, Submitted

__all__ = ["effective", "show_approval", "show_decision", "show_standing", "spent"]


def show_standing(screen: Screen, stands: Standing | Submitted, *, dry_run: bool = False) -> None:
    """Print it for people, or as the JSON document.

    Args:
        dry_run: nothing that it says has happened, and `done=` was not asked.
    """
    screen.tells_end = True
    if screen.as_json:
        screen.document(paper.standing(stands))
        return
    if isinstance(stands, Finished) and stands.answer is not None:
        screen.line(stands.answer if isinstance(stands.answer, str) else compact(stands.answer))
    elif stands.answer_so_far:
        screen.line(stands.answer_so_far)
    screen.line(f"{_head(stands, dry_run)}  {stands.id}", style="bold")
    if isinstance(stands, (Cancelled, ModelRefused, Escalated)) and stands.explanation:
        screen.line(screen.redactor.text(stands.explanation))
    if isinstance(stands, Paused):
        for row in (*stands.approvals, *stands.questions):
            show_approval(screen, row)
    for operation in stands.open_operations:
        screen.line(f"not settled: {operation}  (see `remit operations --run {stands.id}`)", style="yellow")
    screen.line(spent(stands.usage), style="dim")


def spent(usage: Usage) -> str:
    """What the model's replies took; a provider that did not say is not taken for one that took nothing."""
    if not paper.is_reported(usage):
        return "no tokens were reported, list price unknown"
    return f"{usage.input_tokens} tokens in, {usage.output_tokens} out, list price {dollars(usage.cost_usd_micros)}"


def _head(stands: Standing | Submitted, dry_run: bool) -> str:
    status = paper.status_of(stands)
    if isinstance(stands, Paused) and stands.queued:
        status = "queued behind another run of the conversation"
    if dry_run:
        status = f"dry run {status}"
    elif isinstance(stands, Finished):
        status += ", verified" if stands.verified else ", not verified"
    return status if stands.reason in ("", "waiting", "queued", paper.status_of(stands)) else f"{status} ({stands.reason})"


def effective(run: RunRow, call: CallId) -> str:
    """When what was said about this call of the run takes effect."""
    if run.host and call.startswith("host:"):
        return "it takes effect when your own loop makes the call again"
    return f"it takes effect when {run.id} is taken up (remit resume {run.id} --agent MODULE:AGENT)"


def show_approval(screen: Screen, row: Approval) -> None:
    """Print what a person is asked, and the command that answers."""
    shown = paper.approval(row)
    expires = f", expires {moment(row.expires_ms)}" if row.expires_ms else ""
    screen.line(f"{row.id}  {row.kind} {row.state}, asked {moment(row.created_ms)}{expires}", style="bold")
    screen.line(f"  {shown['preview']}")
    screen.line(f"  {row.tool} {compact(shown['arguments'])}")
    scope = f", needs {row.scope}" if row.scope else ""
    two = ", of two people" if row.two_person else ""
    screen.line(f"  asked by {row.requester}@{row.tenant} in {row.run}, call {row.call}{scope}{two}", style="dim")
    reasons = shown["reasons"]
    if isinstance(reasons, list) and reasons:
        screen.line(f"  because {'; '.join(str(reason) for reason in reasons)}")
    if row.state == "pending":
        verb = f'approve {row.id} --by NAME --reason "..."' if row.kind == "approval" else f'answer {row.id} "..." --by NAME'
        screen.line(f"  remit {verb}", style="dim")
    else:
        show_decision(screen, row)


def show_decision(screen: Screen, row: Approval) -> None:
    """Print what was said, by whom, and how far it counts."""
    if not row.decided_by:
        return
    shown = paper.approval(row)
    said = "denied" if row.state == "denied" else "approved"
    verdict = said if row.answer is None else f"answered {compact(shown['answer'])}"
    reason = f": {shown['reason']}" if shown["reason"] else ""
    screen.line(f"  {verdict} by {row.decided_by} at {moment(row.decided_ms)}{reason}")
    if row.edited is not None:
        screen.line(f"  with other arguments, by {row.decided_by}: {compact(shown['edited_arguments'])}")
    if row.answer is not None and row.decided_by != row.requester:
        screen.line(f"  {row.decided_by} is not {row.requester}, whom the run is for: the answer counts as untrusted")
