"""A dry run, in the place of steps 6 and 7: what a person would have been asked, and what would have been done, is said.

Knows previews; asks nobody and opens no operation. Invariant: it stops every write and every call that needs a
person, so nothing after it ever runs for one of them.
"""

from __future__ import annotations

from remit.gate.code import not_run, refuse
from remit.gate.draft import Draft, Stop
from remit.gate.step.approve import row_for
from remit.gate.step.authorize import default_wanted

__all__ = ["rehearse", "rehearse_question"]


def rehearse(draft: Draft) -> Stop | None:
    """What to answer instead of asking a person or dispatching; None lets a read run that needs nobody."""
    tool, wanted = draft.resolved, draft.wanted
    if tool.effect.kind == "read" and wanted is None:
        return None
    over = None if wanted is None else draft.scene.may_ask()
    if over is not None:
        return Stop("budget", refuse(over))
    step = "authorize" if wanted is None else "approve"
    if tool.effect.kind == "write" and tool.preview is None:
        return Stop(step, refuse("dry_run.no_preview"), detail=draft.detail)
    preview = row_for(draft, wanted or default_wanted(tool, ()), None).preview
    asked = "Nobody would have been asked." if wanted is None else "A person would have been asked first."
    return Stop(step, not_run("dry_run", f"{asked} What it would do: {preview}"), detail=draft.detail)


def rehearse_question(draft: Draft) -> Stop:
    """`ask_user` in a dry run: nobody is there to answer."""
    over = draft.scene.may_ask()
    if over is not None:
        return Stop("budget", refuse(over))
    text = draft.desk.redaction.text(str(draft.valid.get("question", "")))
    return Stop("approve", not_run("dry_run", f"A person would have been asked: {text}"))
