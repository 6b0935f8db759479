"""After the last process: the books of the service beside the ledger's, and everything else that must hold by then."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from crash.service import books
from crash.store import ledger_of, transactions
from remit import Remit
from remit.types.approval import Approval
from remit.types.event import Recorded
from remit.types.operation import Operation
from remit.types.run import RunRow

__all__ = ["Books", "compare"]


@dataclass
class Books:
    """What was counted, and what is wrong."""

    figures: dict[str, object] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


async def compare(folder: Path, left: list[str]) -> Books:
    """Look at everything that was left behind.

    Args:
        left: the operations that `recover` could not settle.
    """
    found = Books()
    entries = books(folder / "books") + _entered(folder)
    if (folder / "wrong").exists():
        found.wrong += (folder / "wrong").read_text().splitlines()
    async with Remit(ledger=ledger_of(folder)) as remit:
        operations = await remit.operations(limit=None)
        approvals = await remit.approvals(state=None, limit=None)
        runs = await remit.runs(limit=None)
        found.wrong += await remit.verify()
        events = {row.id: await remit.events(row.id) for row in runs}
        named = {one for row in runs if row.status == "ended" for one in (await remit.standing(row.id)).open_operations}
    unknown = {row.id for row in operations if row.state == "unknown"}
    _effects(found, entries, operations)
    _unknown(found, folder, unknown, {"recover": {*left}, "the runs": {str(one) for one in named}})
    _runs(found, runs, events)
    _approved(found, entries, operations, approvals)
    _count(found, entries, operations, approvals, events)
    return found


def _entered(folder: Path) -> list[dict[str, str]]:
    """What `transactional` tools did, in the ledger's own database."""
    with contextlib.closing(transactions(folder) or sqlite3.connect(folder / "remit.db")) as db:
        if (
            isinstance(db, sqlite3.Connection)
            and not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'entered'").fetchall()
        ):
            return []
        rows = db.execute("SELECT operation, name FROM entered").fetchall()
    return [{"tool": "entered", "name": name, "operation": operation} for operation, name in rows]


def _effects(found: Books, entries: list[dict[str, str]], operations: list[Operation]) -> None:
    """0 duplicates, 0 lost, nothing recorded that did not happen."""
    by_id = {row.id: row for row in operations}
    each = Counter(entry["operation"] for entry in entries)
    keys = Counter(by_id[one].key for one in each if one in by_id)
    duplicates = [f"operation {one} happened {times} times" for one, times in each.items() if times > 1]
    duplicates += [f"the key {name} had {times} effects" for name, times in keys.items() if times > 1]
    states = {one: by_id[one].state if one in by_id else "not in the ledger" for one in each}
    lost = [f"happened, and is {state}: {one}" for one, state in states.items() if state not in ("succeeded", "unknown")]
    succeeded = [row for row in operations if row.state == "succeeded"]
    made_up = [f"{row.id} of {row.tool} succeeded, and did not happen" for row in succeeded if row.id not in each]
    open_still = [f"{row.id} is {row.state}" for row in operations if row.state in ("dispatched", "awaiting_approval")]
    found.figures |= {"effects in the service's books": len(entries), "duplicates": len(duplicates), "lost": len(lost)}
    found.figures["succeeded, and not in the books"] = len(made_up)
    found.wrong += duplicates + lost + made_up + open_still


def _unknown(found: Books, folder: Path, unknown: set[str], by: dict[str, set[str]]) -> None:
    """Every unknown is named: by `recover`, by its run's standing, and by the command."""
    command = [str(Path(sys.executable).with_name("remit")), "operations", "--unknown", "--json", "--limit", "100000"]
    said = subprocess.run([*command, "--ledger", ledger_of(folder)], capture_output=True, text=True, check=False)
    listed = {one["id"] for one in json.loads(said.stdout or "{}").get("operations", [])}
    for who, names in (*by.items(), ("remit operations --unknown", listed)):
        if names != unknown:
            found.wrong.append(
                f"{who} names {len(names)} as unknown and the ledger {len(unknown)}: {sorted(names ^ unknown)[:5]}"
            )
    found.figures["unknown, and named by recover, their runs and the command"] = len(unknown)


def _runs(found: Books, runs: list[RunRow], events: dict[str, list[Recorded]]) -> None:
    """No run is stuck, each request is one run, and each proposal has one answer."""
    found.wrong += [f"{row.id} is {row.status}" for row in runs if row.status != "ended"]
    asked = Counter(row.request_id for row in runs)
    found.wrong += [f"request {one} is {times} runs" for one, times in asked.items() if times > 1]
    proposals = 0
    for run, recorded in events.items():
        replies = [one.event for one in recorded if one.event.kind == "model.replied"]
        made = Counter(f"{reply.turn}.{made.position}" for reply in replies for made in reply.calls)
        answers = Counter(one.event.call for one in recorded if one.event.kind == "call.ended")
        proposals += made.total()
        if made != answers:
            found.wrong.append(
                f"{run} does not have one answer for each proposal: {sorted((made - answers) + (answers - made))}"
            )
    found.figures |= {"runs": len(runs), "proposals, each with one answer": proposals}


def _approved(found: Books, entries: list[dict[str, str]], operations: list[Operation], approvals: list[Approval]) -> None:
    """What needs a person had a yes, to these arguments, that was used once."""
    rows = {row.id: row for row in operations}
    used = {row.id: row for row in approvals if row.state == "consumed" and row.kind == "approval"}
    for entry in entries:
        row = rows.get(entry["operation"])
        if row is None or not row.tool.endswith("_signed"):
            continue
        approval = used.get(row.approval or "")
        if approval is None or row.arguments != (approval.edited or approval.arguments):
            found.wrong.append(f"{row.id} happened without a yes to what ran")
    several = Counter(row.approval for row in operations if row.approval is not None and row.attempt)
    found.wrong += [f"{one} was used {times} times" for one, times in several.items() if times > 1]


def _count(
    found: Books,
    entries: list[dict[str, str]],
    operations: list[Operation],
    approvals: list[Approval],
    events: dict[str, list[Recorded]],
) -> None:
    every = [one.event for recorded in events.values() for one in recorded]
    settled = [row for row in operations if row.state in ("succeeded", "failed", "unknown")]
    moves = Counter(one.on for one in every if one.kind == "operation.moved")
    found.figures |= {
        "events": len(every),
        "runs taken up again": sum(one.kind == "run.resumed" for one in every),
        "operations": _listed(row.state if row.closed is None else f"closed({row.closed})" for row in operations),
        "by recovery": _listed(f"{row.recovery} {row.state}" for row in settled),
        "left in doubt by a dead owner": sum(one.kind == "operation.moved" and one.by == "owner_gone" for one in every),
        "recovered": _listed(
            one
            for one in moves.elements()
            if one in ("resent", "reconciled_yes", "reconciled_no", "late_success", "late_no_effect")
        ),
        "contradictions": sum(one.kind == "operation.contradicted" for one in every),
        "approvals and questions": _listed(row.state for row in approvals),
        "cancels": sum(one.kind == "run.cancel_requested" for one in every),
    }
    if found.figures["contradictions"]:
        found.wrong.append(f"{found.figures['contradictions']} contradictions")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"{word} {times}" for word, times in sorted(Counter(words).items()))
