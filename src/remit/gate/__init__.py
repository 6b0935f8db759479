"""The gate: eight steps between a proposal and its effect, and what becomes of an effect in doubt.

`resolve`, `validate`, `bind`, `authorize`, `lookup`, `approve`, `execute`, `redact` are the steps, a
file each. Knows no model and no loop. Invariant: every effect passes here, once.
"""

from __future__ import annotations

from remit.gate.code import CODES, VERDICTS, Code
from remit.gate.delegate import ChildEnd, ChildWaits, Delegate
from remit.gate.desk import AtWork
from remit.gate.gate import Gate
from remit.gate.host.hold import Held
from remit.gate.recall import Recalled
from remit.gate.render import Rendered, receipt, render
from remit.gate.runner import Runner
from remit.gate.scene import Bell, Plan, Proposal, Scene

__all__ = [
    "CODES",
    "VERDICTS",
    "AtWork",
    "Bell",
    "ChildEnd",
    "ChildWaits",
    "Code",
    "Delegate",
    "Gate",
    "Held",
    "Plan",
    "Proposal",
    "Recalled",
    "Rendered",
    "Runner",
    "Scene",
    "receipt",
    "render",
]
