"""A dry run, in the place of steps 6 and 7: what a person would have been asked, and what would have been done, is said.

Knows previews; asks nobody and opens no operation. Invariant: nothing that changes anything or needs a person is
started, and nothing in doubt is sent again or asked after, whatever the ledger that was given holds.
"""

from __future__ import annotations

from remit.gate.attempt import Handlers
from remit.gate.code import not_run, refuse
from remit.gate.draft import Draft, Stop
from remit.gate.scene import Plan
from remit.gate.step.approve import needs_person, row_for
from remit.gate.step.authorize import default_wanted
from remit.types.outcome import NotRun

__all__ = ["Rehearsal", "rehearse"]


class Rehearsal(Handlers):
    """Runs reads that need nobody. What a person has approved, or another operation had in doubt, is not started either."""

    @property
    def recovers(self) -> bool:
        """What is in doubt stays so."""
        return False

    def instead(self, plan: Plan) -> NotRun | None:
        """What would have been done, as the person read it who approved it."""
        if plan.approval is not None:
            would = f" What it would do: {plan.approval.preview}" if plan.approval.edited is None else ""
            return not_run("dry_run", f"A person has approved it.{would}")
        return not_run("dry_run") if plan.tool.effect.kind == "write" else None


def rehearse(draft: Draft) -> Stop | None:
    """What to answer instead of asking a person or dispatching; None lets run what does neither."""
    asks, tool = needs_person(draft), draft.resolved
    if not asks and tool.effect.kind != "write":
        return None
    over = draft.scene.may_ask() if asks else None
    if over is not None:
        return Stop("budget", refuse(over))
    if tool.effect.kind == "ask":
        text = draft.desk.redaction.text(str(draft.valid.get("question", "")))
        return Stop("approve", not_run("dry_run", f"A person would have been asked: {text}"))
    step = "approve" if asks else "authorize"
    if tool.effect.kind == "write" and tool.preview is None:
        return Stop(step, refuse("dry_run.no_preview"), detail=draft.detail)
    preview = row_for(draft, draft.wanted or default_wanted(tool, ()), None).preview
    asked = "A person would have been asked first." if asks else "Nobody would have been asked."
    return Stop(step, not_run("dry_run", f"{asked} What it would do: {preview}"), detail=draft.detail)
