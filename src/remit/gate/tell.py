"""What the model is told beside the outcome itself: that an approver changed the arguments, and how far it is to be trusted.

Pure. Invariant: the operation's own record is not touched by it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import cast

from remit.approval import mask
from remit.gate.desk import Desk
from remit.gate.render import text_of
from remit.gate.scene import Plan
from remit.label import result_label
from remit.tool import Arguments, Tool
from remit.types.ident import Json
from remit.types.label import TRUSTED, Label
from remit.types.outcome import Failed, Outcome, Succeeded

__all__ = ["label_of", "shown_of", "told", "with_changes"]


def shown_of(desk: Desk, tool: Tool, arguments: Arguments) -> str:
    """Arguments as they may be shown: without secrets."""
    plain = cast("dict[str, Json]", desk.redaction.value(arguments.plain()))
    return json.dumps(mask(plain, tool.secret), ensure_ascii=False)


def told(plan: Plan, outcome: Outcome) -> Outcome:
    """The outcome as the call's answer."""
    return outcome if plan.shown is None else with_changes(plan.shown, outcome)


def with_changes(arguments: str, outcome: Outcome) -> Outcome:
    """The outcome of a call that ran with an approver's arguments, as they may be shown."""
    changed = f"An approver changed the arguments to {arguments}."
    if isinstance(outcome, Succeeded):
        shown = outcome.shown if outcome.shown is not None else text_of(outcome.value)
        return replace(outcome, shown=f"{changed} The result: {shown}")
    return replace(outcome, message=f"{changed} {outcome.message}")


def label_of(desk: Desk, tool: str, outcome: Outcome, context: Label, *, subject: str) -> Label:
    """The label of an answer: a tool's words carry its label and its arguments'; the gate's own sentences are trusted.

    Args:
        tool: its name; what one that is gone said has no label.
        context: of the call's arguments.
        subject: the run's principal.
    """
    if isinstance(outcome, Succeeded):
        foreign = outcome.available
    else:
        foreign = isinstance(outcome, Failed) and outcome.code == "no_effect"
    if not foreign:
        return TRUSTED
    known = desk.tools.get(tool)
    return result_label(tool, None if known is None else known.label, context, subject=subject)
