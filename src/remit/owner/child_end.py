"""What the end of a child says about the call that it answers.

Knows ended runs and their operations. Invariant: a call fails only where nothing of the child's tree has had an effect, and is
unknown where that is not known.
"""

from __future__ import annotations

import json
from typing import cast

from remit.gate import ChildEnd
from remit.gate.code import fail, unknown
from remit.gate.tree import operations_of
from remit.label import missing
from remit.loop import RunState, fold
from remit.types.codec import decode_outcome
from remit.types.ident import Json
from remit.types.label import TRUSTED, Label
from remit.types.ledger import Ledger
from remit.types.operation import Operation
from remit.types.outcome import Succeeded
from remit.types.run import RunRow

__all__ = ["end_of"]


async def end_of(ledger: Ledger, row: RunRow, state: RunState) -> ChildEnd:
    """The call's answer.

    Args:
        row, state: of the child, which has ended.
    """
    end = state.ended
    assert end is not None
    found = await operations_of(ledger, row.id, state=("dispatched", "unknown", "succeeded"))
    happened = [one for one in found if one.state == "succeeded"]
    unsure = [one for one in found if one.state != "succeeded"]
    if end.how == "finished":
        answer = None if end.answer is None else cast("Json", json.loads(end.answer))
        return ChildEnd(outcome=Succeeded(value=answer), label=state.label, changed=bool(found))
    detail = end.explanation
    if unsure:
        outcome = unknown("agent.unknown", f"({end.reason})", operation=unsure[0].id)
        return ChildEnd(outcome=outcome, label=TRUSTED, changed=True, detail=detail)
    if not happened:
        return ChildEnd(outcome=fail("agent.failed", f"({end.reason})"), label=TRUSTED, detail=detail)
    value: Json = {"ended": end.reason, "done": [_effect(one) for one in happened]}
    label = await _label_of(ledger, state, happened)
    return ChildEnd(outcome=Succeeded(value=value, incomplete=True), label=label, changed=True, detail=detail)


async def _label_of(ledger: Ledger, state: RunState, happened: list[Operation]) -> Label:
    """The label of what is listed: what became known after its call was answered has entered no context yet."""
    label = state.label
    for run in dict.fromkeys(one.run for one in happened):
        of = state if run == state.run else fold(await ledger.read(run))
        label = label.join(of.label)
        for one in (one for one in happened if one.run == run):
            call = of.call(one.call)
            if call is None or not isinstance(call.outcome, Succeeded):
                label = label.join(missing(one.subject))
    return label


def _effect(row: Operation) -> Json:
    outcome = None if row.outcome is None else decode_outcome(row.outcome)
    result = outcome.value if isinstance(outcome, Succeeded) else None
    return {"tool": row.tool, "operation": row.id, "result": result}
