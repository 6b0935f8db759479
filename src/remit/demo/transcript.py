"""One run of the demo, whole: its answer, its words, and what became of every call, under seeded ids and clock.

In this run the connection is cut after the service has refunded. The refund is in doubt, the
reconciler asks the books, and the call is answered with what they hold. Invariant: equal code writes
equal bytes; addresses, times and random ids of the machine are nowhere in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path

from remit import MemoryLedger, Remit, ScriptedModel, ambient, call
from remit.demo.agent import ALICE, support
from remit.demo.model import FINAL, REQUEST, SCRIPT
from remit.demo.shop import Shop
from remit.demo.way import billing
from remit.trace import describe
from remit.types.event import MessageAppended, Recorded, Replied, ResultsAppended
from remit.types.ident import Json, call_id
from remit.types.run import Finished, Standing

__all__ = ["TRANSCRIPT", "produce"]

TRANSCRIPT = Path("outputs") / "tool-loop-transcript.json"
_VERSIONED = frozenset({"agent_digest", "contract", "owner"})
"""Fields that follow the code's and the libraries' versions, or the process, and say nothing about the run."""


def produce() -> str:
    """Run it once, against a real service, and write it down as JSON text."""
    with (
        tempfile.TemporaryDirectory(prefix="remit-demo-") as folder,
        billing(Path(folder, "books.db"), "cut") as service,
        ambient.use(ambient.Seeded(1, step_ms=0)),
        _unlogged(),
    ):
        standing, recorded = asyncio.run(_run(service))
    events = [_without(describe(one, content=True)) for one in recorded]
    found: dict[str, Json] = {
        "request": REQUEST,
        "run": standing.id,
        "stands": type(standing).__name__,
        "answer": standing.answer if isinstance(standing, Finished) else None,
        "verified": isinstance(standing, Finished) and standing.verified,
        "open_operations": list(standing.open_operations),
        "messages": [message for one in recorded for message in _messages(one)],
        "calls": [_call(events, name, wire_id) for name, wire_id in _proposed(recorded)],
        "events": list(events),
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


@contextlib.contextmanager
def _unlogged() -> Generator[None]:
    """The doubt of this run is in its transcript; it needs no warning beside the demo's table."""
    logger = logging.getLogger("remit")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _without(described: dict[str, Json]) -> dict[str, Json]:
    """A description without the fields that say nothing about the run, at any depth."""
    return {name: _plain(value) for name, value in described.items() if name not in _VERSIONED}


def _plain(value: Json) -> Json:
    match value:
        case dict():
            return _without(value)
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


async def _run(service: str) -> tuple[Standing, list[Recorded]]:
    turns = [[call(name, **arguments) for name, arguments in line] for line in SCRIPT["once"]]
    agent = support(ScriptedModel([*turns, FINAL], protocol="openai-chat"))
    async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop(service)) as remit:
        standing = await remit.run("support", REQUEST, principal=ALICE, request_id="request-1")
        return standing, await remit.events(standing.id)


def _messages(one: Recorded) -> list[Json]:
    """The conversation's messages that an event appended, as the provider read or wrote them."""
    match one.event:
        case MessageAppended() | Replied() | ResultsAppended():
            return json.loads(f"[{one.event.wording}]")
        case _:
            return []


def _proposed(recorded: Sequence[Recorded]) -> list[tuple[str, str]]:
    """Every call's identity, and the id that it has on the wire."""
    replies = [one.event for one in recorded if isinstance(one.event, Replied)]
    return [(call_id(reply.turn, made.position), made.wire_id) for reply in replies for made in reply.calls]


def _call(events: Sequence[dict[str, Json]], name: str, wire_id: str) -> Json:
    """One call from proposal to answer: what was decided, how its operation moved, how it ended."""
    own = [one for one in events if one.get("call") == name]
    considered = next(one for one in own if one["kind"] == "call.considered")
    ended = next(one for one in own if one["kind"] == "call.ended")
    moves: list[Json] = [
        {"sequence": one["sequence"], "on": one["on"], "state": one["state"], "attempt": one["attempt"]}
        for one in own
        if one["kind"] == "operation.moved"
    ]
    return {
        "call": name,
        "wire_id": wire_id,
        "tool": considered["tool"],
        "arguments": considered["arguments"],
        "decision": {part: considered[part] for part in ("sequence", "verdict", "step", "code")},
        "operation": {"id": ended["operation"], "moves": moves} if moves else None,
        "outcome": ended["outcome"],
        "changed": ended["changed"],
        "answered_by": ended["sequence"],
    }
