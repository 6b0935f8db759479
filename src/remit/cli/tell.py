"""An event as lines that a person reads: the same for live progress and for `remit show`.

It reads described events only, so it can say nothing that may not leave the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from remit.cli.text import compact, span
from remit.types.ident import Json

__all__ = ["tell"]

Shown = Mapping[str, Json]


def tell(shown: Shown, *, host: bool = False, text: bool = True) -> list[str]:
    """The lines for one described event; none where it says nothing that another event does not.

    Args:
        text: with what a reply says; not where its words were shown as they came.
        host: the run is another loop's, so that no reply of a model has said what is called.
    """
    proposed = host and shown["kind"] == "call.considered" and shown.get("arguments") is not None
    lines = [f"  call {shown['call']}: {shown['tool'] or ''} {_value(shown['arguments'])}"] if proposed else []
    return [*lines, *_TELL[str(shown["kind"])](shown if text else {**shown, "text": None})]


def _started(shown: Shown) -> list[str]:
    who = f"{shown['subject']}@{shown['tenant']}"
    head = f"run {shown['run']}: {shown['agent']} for {who}, {shown['model'] or _who(shown)}"
    head += f", for call {shown['parent_call']} of {shown['parent']}" if shown["parent"] else ""
    return [head + (f", conversation {shown['conversation']}" if shown["conversation"] else "")]


def _who(shown: Shown) -> str:
    return "a workflow" if shown["protocol"] == "workflow" else "another loop"


def _changed(shown: Shown) -> list[str]:
    del shown
    return ["the agent has changed since this conversation's last run"]


def _message(shown: Shown) -> list[str]:
    text = _member(shown, "wording").get("text")
    return [f"{shown['source']}: {text}" if text else f"{shown['source']} message"]


def _requested(shown: Shown) -> list[str]:
    again = f", attempt {shown['attempt']}" if shown["attempt"] != 1 else ""
    return [f"turn {shown['turn']}: asking {shown['model']}{again}"]


def _replied(shown: Shown) -> list[str]:
    usage = _member(shown, "usage")
    tokens = f"{usage['input_tokens']}+{usage['output_tokens']} tokens"
    if not (usage["input_tokens"] or usage["output_tokens"]):
        tokens = "tokens unknown"
    spent = f"{tokens}, {span(int(cast(int, shown['latency_ms'])))}"
    said = [f"  model: {shown['text']}"] if shown.get("text") else []
    refused = [f"  model refuses: {shown['refusal']}"] if shown.get("refusal") else []
    return [*said, *refused, *_proposals(shown), f"  stopped: {shown['stop']} ({spent})"]


def _proposals(shown: Shown) -> list[str]:
    lines: list[str] = []
    for call in cast(list[dict[str, Json]], shown["calls"]):
        cut = " (cut off)" if call["cut"] else ""
        said = " ".join(one for one in (str(call.get("name") or ""), _value(call.get("arguments"))) if one)
        lines.append(f"  call {shown['turn']}.{call['position']}{f': {said}' if said else ''}{cut}")
    return lines


def _request_failed(shown: Shown) -> list[str]:
    return [f"  attempt {shown['attempt']} failed: {shown['code']}{_because(shown, 'message')}"]


def _considered(shown: Shown) -> list[str]:
    what = {
        "ready": "allowed",
        "waiting": f"waits for {shown['approval'] or 'a person'}",
        "joined": f"shares the answer of {shown['joined']}",
        "settled": "answered at once",
    }[str(shown["verdict"])]
    detail = [f"    detail: {shown['detail']}"] if shown.get("detail") and shown["verdict"] != "settled" else []
    return [f"  {shown['call']} {shown['tool'] or 'unknown tool'}: {what} ({shown['step']}: {shown['code']})", *detail]


def _asked(shown: Shown) -> list[str]:
    return [f"  {shown['approval']} asks{_because(shown, 'preview')}"]


def _decided(shown: Shown) -> list[str]:
    answer = f" {_value(shown['answer'])}" if shown.get("answer") is not None else ""
    edited = ", with other arguments" if shown["edited"] else ""
    return [f"  {shown['approval']} {shown['verdict']} by {shown['by']}{edited}{answer}{_because(shown, 'reason')}"]


def _moved(shown: Shown) -> list[str]:
    by = f" by {shown['by']}" if shown["by"] not in (None, "handler") else ""
    attempt = f", attempt {shown['attempt']}" if shown["state"] == "dispatched" else ""
    state = str(shown["state"]) + (f" ({shown['closed']})" if shown["closed"] else "")
    evidence = _lines(shown, "evidence")
    return [f"  {shown['operation']} {str(shown['on']).replace('_', ' ')}{by}: {state}{attempt}", *evidence]


def _call_ended(shown: Shown) -> list[str]:
    outcome = _member(shown, "outcome")
    head = f"  {shown['call']} {shown['tool'] or ''} -> {outcome['kind']}".replace("  ->", " ->")
    if outcome["kind"] == "succeeded":
        told = " (it had happened before)" if outcome["repeat"] else ""
        said = f"{told} {_value(outcome.get('value'))}" if outcome["available"] else f"{told}, its result could not be kept"
    else:
        code = "" if outcome["code"] == outcome["kind"] else f": {outcome['code']}"
        said = f"{code}{_because(outcome, 'message')}"
    detail = _lines(shown, "detail")
    return [f"{head}{said} ({span(int(cast(int, shown['latency_ms'])))})", *detail]


def _results(shown: Shown) -> list[str]:
    receipts = cast(list[str], shown["receipts"])
    return [f"  the model is told that {', '.join(receipts)} is submitted and not done"] if receipts else []


def _checked(shown: Shown) -> list[str]:
    return [] if shown["valid"] and shown["done"] else [f"  answer not accepted{_because(shown, 'message')}"]


def _cancelling(shown: Shown) -> list[str]:
    return [f"cancel asked by {shown['by']}{_because(shown, 'reason')}"]


def _waiting(shown: Shown) -> list[str]:
    return [f"waiting for {', '.join(cast(list[str], shown['approvals'])) or 'a person'}{_because(shown, 'text')}"]


def _child_started(shown: Shown) -> list[str]:
    return [f"  {shown['call']} is answered by run {shown['child']}"]


def _child_waiting(shown: Shown) -> list[str]:
    about = ", ".join(cast(list[str], shown["approvals"])) or "people"
    return [f"  {shown['call']}: run {shown['child']} waits for {about}"]


def _child_returned(shown: Shown) -> list[str]:
    return [f"  {shown['call']}: run {shown['child']} has ended"]


def _resumed(shown: Shown) -> list[str]:
    return [f"taken up by {shown['owner']}, scopes from {shown['scopes_from']}"]


def _settled(shown: Shown) -> list[str]:
    what = "happened" if shown["happened"] else "did not happen"
    return [f"  {shown['operation']} {what}, says {shown['by']}{_because(shown, 'reason')}"]


def _contradicted(shown: Shown) -> list[str]:
    newer = f"; {shown['newer']} holds its key" if shown["newer"] else ""
    return [f"  {shown['operation']} is contradicted{_because(shown, 'evidence')}{newer}"]


def _ended(shown: Shown) -> list[str]:
    answer = shown.get("answer")
    said = answer if answer is not None else shown.get("text")
    lines = [f"answer: {said if isinstance(said, str) else compact(said)}"] if said else []
    open_operations = cast(list[str], shown["open_operations"])
    still = f"; not settled: {', '.join(open_operations)}" if open_operations else ""
    verified = ", verified" if shown["verified"] else ""
    reason = f" ({shown['reason']})" if shown["reason"] not in (None, "", shown["how"]) else ""
    return [*lines, f"{shown['how']}{reason}{verified}{still}", *_lines(shown, "explanation")]


def _member(shown: Shown, name: str) -> dict[str, Json]:
    return cast(dict[str, Json], shown[name])


def _value(value: Json) -> str:
    return "" if value is None else value if isinstance(value, str) else compact(value)


def _undo_begun(shown: Shown) -> list[str]:
    undos = cast(list[dict[str, str]], shown["undos"])
    lines = [f"  {one['step']} is to be taken back by {one['call']} {one['tool']}" for one in undos]
    lines += [f"  {step}: nothing takes it back" for step in cast(list[str], shown["stuck"])]
    return [f"failed ({shown['reason']}){_because(shown, 'message')}", *lines]


def _lines(shown: Shown, name: str) -> list[str]:
    """A text of several lines, each by itself."""
    words = shown.get(name)
    return [f"    {name}: {line}" for line in str(words).splitlines()] if words else []


def _because(shown: Shown, name: str) -> str:
    words = shown.get(name)
    return f": {words}" if words else ""


_TELL: Mapping[str, Callable[[Shown], list[str]]] = {
    "run.started": _started,
    "agent.changed": _changed,
    "message.appended": _message,
    "model.requested": _requested,
    "model.replied": _replied,
    "model.failed": _request_failed,
    "call.considered": _considered,
    "approval.requested": _asked,
    "approval.decided": _decided,
    "operation.moved": _moved,
    "call.ended": _call_ended,
    "results.appended": _results,
    "answer.checked": _checked,
    "run.cancel_requested": _cancelling,
    "run.waiting": _waiting,
    "child.started": _child_started,
    "child.waiting": _child_waiting,
    "child.returned": _child_returned,
    "workflow.undo_begun": _undo_begun,
    "run.resumed": _resumed,
    "operation.settled": _settled,
    "operation.contradicted": _contradicted,
    "run.forgotten": lambda shown: [f"all that was said was deleted by {shown['by']}{_because(shown, 'reason')}"],
    "run.ended": _ended,
}
