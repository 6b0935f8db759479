"""The answers to a turn, on their way to the wire; and the loop's own refusals.

Knows outcomes and the gate's words for them. Invariant: one result for every call of the reply, in
the model's order.
"""

from __future__ import annotations

from remit.gate import CODES, receipt, render
from remit.loop.command import AppendResults, Deny
from remit.loop.live import Live
from remit.loop.state import CallState
from remit.types.event import CallConsidered, CallEnded, ResultsAppended
from remit.types.ident import Digest
from remit.types.label import TRUSTED
from remit.types.model import ResultText
from remit.types.outcome import Attachment, Failed, Refused, Succeeded

__all__ = ["append_results", "deny"]


async def append_results(live: Live, command: AppendResults) -> None:
    """Note the message that answers the turn."""
    receipts = frozenset(command.receipts)
    results: list[ResultText] = []
    for call in live.state.current:
        if call.id in receipts:
            results.append(_receipt(call))
        else:
            results.append(await _result(live, call))
    wording = live.spec.model.wire.results(results)
    live.journal.note(ResultsAppended(turn=command.turn, wording=wording, receipts=command.receipts))


async def _result(live: Live, call: CallState) -> ResultText:
    outcome = call.outcome
    if outcome is None:
        raise AssertionError(f"call {call.id} has no outcome")
    words = render(outcome, call.name)
    attachments: list[tuple[Attachment, bytes]] = []
    if isinstance(outcome, Succeeded) and outcome.attachments:
        await live.journal.flush()  # their bytes are noted with the outcome
        attachments = [(one, await live.ledger.blob(Digest(one.digest))) for one in outcome.attachments]
    return ResultText(wire_id=call.wire_id, name=call.name, text=words.text, error=words.error, attachments=tuple(attachments))


def _receipt(call: CallState) -> ResultText:
    words = receipt(call.name, call.operation)
    asked = "" if call.approval is None else f" (approval {call.approval})"
    return ResultText(wire_id=call.wire_id, name=call.name, text=words.text + asked, error=words.error)


def deny(live: Live, command: Deny) -> None:
    """Answer a call that the loop itself does not start: nothing runs, and the gate is not asked."""
    call = live.state.call(command.call)
    if call is None or call.status == "ended":
        return
    code = CODES[command.code]
    considered = CallConsidered(
        call=call.id,
        tool=call.name,
        effect=None,
        contract=None,
        arguments=None,
        digest=None,
        verdict="settled",
        step="stop",
        code=command.code,
        label=call.label,
    )
    kind = Failed if "failed" in code.kinds else Refused
    outcome = kind(code=code.name, message=code.says, retry=code.retry)
    ended = CallEnded(call=call.id, tool=call.name, outcome=outcome, label=TRUSTED, changed=False)
    live.journal.note(*(() if call.counted else (considered,)), ended)
