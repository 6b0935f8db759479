"""Step 3, bind: who asks comes from the application; a model that names it is refused.

Knows no values. Invariant: no parameter that the application binds is ever read from a proposal.
"""

from __future__ import annotations

from remit.gate.code import refuse
from remit.gate.draft import Stop
from remit.gate.scene import Proposal
from remit.tool import Tool
from remit.types.outcome import FieldError

__all__ = ["bind"]


def bind(tool: Tool, proposal: Proposal) -> Stop | None:
    """Refuse a proposal that sets a bound parameter."""
    names = tool.forbidden(proposal.arguments)
    if not names:
        return None
    fields = tuple(FieldError(f"/{name}", "is set by the application; leave it out") for name in names)
    return Stop("bind", refuse("identity.bound", fields=fields))
