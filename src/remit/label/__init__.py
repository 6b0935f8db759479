"""Labels: what an untrusted or private context does to a call, and what a result does to the context.

Pure; knows no run. Invariant: nothing here makes a label more trusted or lets more people read it.
"""

from __future__ import annotations

from remit.label.rule import may_send, missing, needs_approval, result_label

__all__ = ["may_send", "missing", "needs_approval", "result_label"]
