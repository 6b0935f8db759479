"""A store on which any number of ledgers open, and small nouns for stories about them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path

from database.server import server
from remit import ambient
from remit.canonical import digest
from remit.ledger import MemoryLedger, SqliteLedger
from remit.ledger.postgres import PostgresLedger
from remit.types.approval import Approval
from remit.types.change import AskPerson, Change, Create
from remit.types.event import ApprovalRequested, CancelRequested, Event, OperationMoved, RunEnded
from remit.types.ident import ApprovalId, CallId, ConversationId, Digest, OperationId, RunId
from remit.types.ledger import Append, Committed, Stamped
from remit.types.operation import Operation
from remit.types.run import RunRow, RunStatus
from remit.types.stream import Delta

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger

RUN = RunId("run_1")
OPERATION = OperationId("op_1")
APPROVAL = ApprovalId("apr_1")
KEY = Digest("a" * 64)
ARGUMENTS = '{"charge_id":"ch_1"}'


class Store:
    """One store of a kind; every `open` is another owner on it."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.kind = kind
        self.path = directory / "ledger.db"
        self.schema = server().clean() if kind == "postgres" else ""
        self._opened: list[AnyLedger] = []

    @property
    def address(self) -> str:
        """What names it to other processes."""
        return f"{server().address()}&schema={self.schema}" if self.kind == "postgres" else str(self.path)

    def make(self) -> AnyLedger:
        """A ledger on it, not yet opened."""
        match self.kind:
            case "sqlite":
                return SqliteLedger(self.path)
            case "postgres":
                return PostgresLedger(server().url(), schema=self.schema)
            case _:
                return MemoryLedger(store=next((one for one in self._opened if isinstance(one, MemoryLedger)), None))

    async def open(self) -> AnyLedger:
        ledger = self.make()
        await ledger.open()
        self._opened.append(ledger)
        return ledger

    def tell(self, story: Callable[[], Coroutine[object, object, None]]) -> None:
        """Run the story; close what it opened."""

        async def whole() -> None:
            try:
                await story()
            finally:
                for ledger in self._opened:
                    await ledger.aclose()

        asyncio.run(whole())


def row(run: RunId = RUN, *, status: RunStatus = "active", **other: object) -> RunRow:
    plain = RunRow(
        id=run,
        root=run,
        agent="support",
        tenant="acme",
        subject="alice",
        conversation=None,
        request_id=None,
        request_digest=None,
        status=status,
    )
    return replace(plain, **other)  # type: ignore[arg-type]


def stamped(*events: Event, at_ms: int | None = None) -> tuple[Stamped, ...]:
    return tuple(Stamped(ambient.now_ms() if at_ms is None else at_ms, event) for event in events)


def said(text: str = "stop") -> CancelRequested:
    """The smallest event."""
    return CancelRequested(by="alice", reason=text)


async def start(ledger: AnyLedger, run: RunId = RUN, *events: Event, request: str = "{}", **other: object) -> Committed:
    create = Create(row(run, **other), request)  # type: ignore[arg-type]
    return await ledger.commit(Append(run=run, create=create, events=stamped(*(events or (said("start"),)))))


class Pen:
    """A run and where it stands, for stories that append again and again."""

    def __init__(self, ledger: AnyLedger, run: RunId = RUN) -> None:
        self.ledger = ledger
        self.run = run
        self.epoch = 0
        self.sequence = 0

    async def start(self, *events: Event, **other: object) -> Committed:
        return self._keep(await start(self.ledger, self.run, *events, **other))  # type: ignore[arg-type]

    async def write(self, *events: Event, changes: tuple[Change, ...] = (), **other: object) -> Committed:
        append = Append(
            run=self.run,
            events=stamped(*events),
            epoch=self.epoch,
            sequence=self.sequence,
            changes=changes,
            **other,  # type: ignore[arg-type]
        )
        return self._keep(await self.ledger.commit(append))

    def _keep(self, done: Committed) -> Committed:
        self.epoch, self.sequence = done.epoch, done.sequence
        return done


def operation(**other: object) -> Operation:
    plain = Operation(
        id=OPERATION,
        tenant="acme",
        subject="alice",
        run=RUN,
        root=RUN,
        call=CallId("1.0"),
        conversation=None,
        tool="issue_refund",
        contract=Digest("c" * 64),
        once_per="charge_id",
        key=KEY,
        recovery="reconcile",
        atomic=False,
        window_s=None,
        attempts=2,
        settle_s=5.0,
        timeout_s=10.0,
        arguments=ARGUMENTS,
        arguments_digest=digest("remit.arguments", ARGUMENTS),
        state="dispatched",
        attempt=1,
    )
    return replace(plain, **other)  # type: ignore[arg-type]


def moved(of: Operation, on: str, **other: object) -> OperationMoved:
    """The event of a row's move."""
    plain = OperationMoved(
        operation=of.id,
        call=of.call,
        on=on,  # type: ignore[arg-type]
        state=of.state,
        attempt=of.attempt,
        key=of.key,
        arguments_digest=of.arguments_digest,
    )
    return replace(plain, **other)  # type: ignore[arg-type]


def approval(**other: object) -> Approval:
    plain = Approval(
        id=APPROVAL,
        kind="approval",
        tenant="acme",
        requester="alice",
        run=RUN,
        call=CallId("1.0"),
        tool="issue_refund",
        contract=Digest("c" * 64),
        arguments=ARGUMENTS,
        arguments_digest=digest("remit.arguments", ARGUMENTS),
        shown=ARGUMENTS,
        preview="Refund ch_1",
        reasons=("untrusted context", "large amount"),
        scope="billing:approve",
    )
    return replace(plain, **other)  # type: ignore[arg-type]


def requested(of: Approval) -> ApprovalRequested:
    """The event of an approval's row."""
    return ApprovalRequested(
        approval=of.id,
        call=of.call,
        operation=of.operation,
        ask=of.kind,
        preview=of.preview,
        digest=of.arguments_digest,
        expires_ms=of.expires_ms,
    )


async def ask(pen: Pen, **other: object) -> Approval:
    """A pending approval in the pen's run."""
    asked = approval(run=pen.run, **other)
    await pen.write(requested(asked), changes=(AskPerson(asked),))
    return asked


def ended() -> RunEnded:
    return RunEnded(how="finished", reason="done")


async def hears(ledger: AnyLedger, expected: list[Delta], *, after: int, run: RunId = RUN, index: int = 0) -> bool:
    """Whether these, and no others, are heard, at once or as soon as what was published has come."""
    seen = await ledger.changed(-1, timeout_s=0)
    while (found := await ledger.deltas(run, after=after, index=index)) != expected:
        if (now := await ledger.changed(seen, timeout_s=5)) == seen:
            raise AssertionError(found)
        seen = now
    return True


def conversation(name: str = "ticket-1") -> ConversationId:
    return ConversationId(name)
