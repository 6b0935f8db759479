"""Step 2, validate: the text that a model sent becomes canonical arguments, or a list of what to correct.

Knows no principal. Invariant: from here on the canonical text is what policy sees, what a person is
shown, what is hashed and what runs.
"""

from __future__ import annotations

from remit.canonical import parse
from remit.errors import InputError
from remit.gate.code import refuse
from remit.gate.draft import Stop
from remit.gate.scene import Proposal
from remit.gate.step.redact import Redaction
from remit.tool import Arguments, Tool

__all__ = ["validate"]


def validate(tool: Tool, proposal: Proposal, redaction: Redaction) -> Arguments | Stop:
    """The arguments of a proposal; nothing is repaired that was cut off."""
    if proposal.cut:
        return Stop("validate", refuse("arguments.truncated"))
    checked = tool.check(proposal.arguments)
    if isinstance(checked, Arguments):
        return checked
    code = "arguments.invalid" if _readable(proposal.arguments) else "arguments.json"
    return Stop("validate", refuse(code, fields=redaction.fields(checked)))


def _readable(text: str) -> bool:
    try:
        parse(text)
    except InputError:
        return False
    return True
