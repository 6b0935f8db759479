"""The answers to a turn, on their way to the wire; and the loop's own refusals.

Knows outcomes and the gate's words for them. Invariant: one result for every call of the reply, in
the model's order.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    bytes_of: dict[str, bytes] = {}
    while missing := [one for call in live.state.current for one in _attachments(call) if one.digest not in bytes_of]:
        bytes_of |= {one.digest: await _bytes(live, one) for one in missing}
    calls = live.state.current  # from here on nothing is awaited: who waits gets a receipt, and is told the rest later
    wording = live.spec.model.wire.results([_result(call, bytes_of) for call in calls])
    receipts = tuple(call.id for call in calls if call.status != "ended")
    live.journal.note(ResultsAppended(turn=command.turn, wording=wording, receipts=receipts))


def _attachments(call: CallState) -> tuple[Attachment, ...]:
    return call.outcome.attachments if isinstance(call.outcome, Succeeded) else ()


async def _bytes(live: Live, attachment: Attachment) -> bytes:
    await live.journal.flush()  # they are noted with the outcome
    return await live.ledger.blob(Digest(attachment.digest))


def _result(call: CallState, bytes_of: Mapping[str, bytes]) -> ResultText:
    if call.outcome is None:
        return _receipt(call)
    words = render(call.outcome, call.name)
    attachments = tuple((one, bytes_of[one.digest]) for one in _attachments(call))
    return ResultText(wire_id=call.wire_id, name=call.name, text=words.text, error=words.error, attachments=attachments)


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
