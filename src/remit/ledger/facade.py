"""The `Ledger` Protocol over a store: what every kind of ledger does alike.

Knows which question and which work each method is; not where the store is. The kinds say how to
read, how to write, who is alive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from remit import ambient
from remit.errors import InputError
from remit.ledger import post, reader
from remit.ledger.append import apply, prepare
from remit.ledger.head import heads
from remit.ledger.retention import Retention
from remit.ledger.sql import Database
from remit.ledger.transaction import Work
from remit.ledger.watch import Watch
from remit.types.approval import Approval, ApprovalState
from remit.types.budget import Spent
from remit.types.change import Notice
from remit.types.connection import Connection
from remit.types.delivery import Decision, Delivered, Delivery, LateReport
from remit.types.event import Recorded
from remit.types.head import Heads
from remit.types.ident import ApprovalId, CallId, ConversationId, Digest, OperationId, OwnerId, RunId
from remit.types.ledger import Append, Committed, Conversation, Noun
from remit.types.operation import Operation, OperationState
from remit.types.run import RunRow, RunStatus
from remit.types.stream import Delta

__all__ = ["StoreLedger"]

T = TypeVar("T")


class StoreLedger(Retention, ABC):
    """A ledger over a store of tables. See `remit.types.ledger.Ledger` for what each method promises."""

    # what the kinds say

    @property
    @abstractmethod
    def durable(self) -> bool:
        """Whether what is committed outlives the process."""

    @property
    @abstractmethod
    def owner(self) -> OwnerId:
        """This process's name in the ledger."""

    @abstractmethod
    async def open(self) -> None:
        """Make or migrate the tables and take this owner's lock."""

    @abstractmethod
    async def aclose(self) -> None:
        """Write what is queued, let go of the lock. Twice is harmless."""

    @abstractmethod
    def abandon(self) -> None:
        """Let go of the lock as a crash would, without any clean-up: for tests."""

    @abstractmethod
    def post_late(self, run: RunId, report: LateReport) -> None:
        """`post`, from any thread and without waiting; never raises."""

    @abstractmethod
    def publish_deltas(self, deltas: Sequence[Delta]) -> None:
        """Let followers in any process hear these deltas of one run: at once, not durably; never raises."""

    @abstractmethod
    async def deltas(self, run: RunId, *, after: int, index: int = 0) -> list[Delta]:
        """The published deltas that answer the `ModelRequested` with sequence number `after`, from `index` on."""

    @abstractmethod
    async def _write(self, work: Work[T]) -> T: ...

    @abstractmethod
    async def _read(self, query: Callable[[Database], T]) -> T: ...

    @abstractmethod
    def _living(self, db: Database) -> Callable[[OwnerId], bool]:
        """Who is alive, asked of this database where it knows."""
        ...

    @abstractmethod
    def _watch(self) -> Watch: ...

    @abstractmethod
    def _look(self) -> None: ...

    @abstractmethod
    async def verify(self, run: RunId | None = None, *, head: Heads | None = None) -> list[str]:
        """What is wrong with the chain, or with rows that do not match their events; empty if nothing is."""

    # writing

    async def commit(self, append: Append) -> Committed:
        """Append to a run, and change what it implies, in one transaction. See `Append`."""
        prepared = prepare(append)
        ambient.reach("commit.before")
        committed = await self._write(lambda tx: apply(tx, prepared))
        ambient.reach("commit.after")
        return committed

    @abstractmethod
    async def transact(
        self, work: Callable[[Connection], T], outcome: Callable[[T], Append | None], *, timeout_s: float
    ) -> Committed | None:
        """Do the work in a transaction that `outcome` of it is then appended to: one commit of both."""

    async def post(self, run: RunId, delivery: Delivery) -> int:
        """Put a delivery into a run's inbox; returns its id."""
        if isinstance(delivery, Decision):
            raise InputError("a decision changes its row too: use decide", code="delivery.decision")
        return await self._write(lambda tx: post.post(tx, run, delivery))

    async def decide(self, decision: Decision) -> Approval:
        """Decide a pending row, once; returns the row as it was first decided."""
        now_ms = ambient.now_ms()
        return await self._write(lambda tx: post.decide(tx, decision, now_ms))

    # reading

    async def blob(self, digest: Digest) -> bytes:
        """Bytes by their digest. Raises `NotFound`."""
        return await self._read(lambda db: reader.blob(db, digest))

    async def run(self, run: RunId) -> RunRow | None:
        """A run's row."""
        return await self._read(lambda db: reader.run(db, run))

    async def request(self, run: RunId) -> str:
        """The JSON text that `Create` stored. Raises `NotFound`."""
        return await self._read(lambda db: reader.request(db, run))

    async def find_request(self, *, tenant: str, subject: str, agent: str, request_id: str) -> RunRow | None:
        """The run that this request made."""
        return await self._read(lambda db: reader.find_request(db, (tenant, subject, agent, request_id)))

    async def runs(
        self,
        *,
        tenant: str | None = None,
        agents: Sequence[str] | None = None,
        status: Sequence[RunStatus] | None = None,
        conversation: ConversationId | None = None,
        parent: RunId | None = None,
        limit: int | None = 100,
    ) -> list[RunRow]:
        """Newest first; with `status=("queued",)`, oldest first."""
        filters = {
            "tenant": tenant,
            "agent": agents,
            "status": None if status is None else tuple(status),
            "conversation": conversation,
            "parent": parent,
        }
        return await self._read(lambda db: reader.runs(db, filters, limit))

    async def claimable(self, agents: Sequence[str]) -> list[RunRow]:
        """Runs that somebody should take up now, oldest first; of a conversation's queue only the first."""
        now_ms = ambient.now_ms()
        return await self._read(lambda db: reader.claimable(db, agents, now_ms=now_ms, alive=self._living(db)))

    async def read(self, run: RunId, *, after: int = 0, limit: int | None = None) -> list[Recorded]:
        """A run's events, in order."""
        return await self._read(lambda db: reader.read(db, run, after, limit))

    async def transcript(self, conversation: ConversationId, *, tenant: str) -> list[Recorded]:
        """Messages, replies and results of all runs of a conversation, in order of their start."""
        return await self._read(lambda db: reader.transcript(db, tenant, conversation))

    async def conversation(self, conversation: ConversationId, *, tenant: str) -> Conversation | None:
        """A conversation's row."""
        return await self._read(lambda db: reader.conversation(db, tenant, conversation))

    async def notices(self, conversation: ConversationId, *, tenant: str) -> list[Notice]:
        """What no message of the conversation carries yet, oldest first."""
        return await self._read(lambda db: reader.notices(db, tenant, conversation))

    async def operation(self, operation: OperationId) -> Operation | None:
        """An operation's row."""
        return await self._read(lambda db: reader.operation(db, operation))

    async def held(self, key: Digest) -> Operation | None:
        """Who holds the key."""
        return await self._read(lambda db: reader.held(db, key))

    async def operations(
        self,
        *,
        run: RunId | None = None,
        call: CallId | None = None,
        conversation: ConversationId | None = None,
        tool: str | None = None,
        tenant: str | None = None,
        state: Sequence[OperationState] | None = None,
        limit: int | None = 100,
    ) -> list[Operation]:
        """Oldest first."""
        filters = {
            "run": run,
            "call": call,
            "conversation": conversation,
            "tool": tool,
            "tenant": tenant,
            "state": state,
        }
        return await self._read(lambda db: reader.operations(db, filters, limit))

    async def approval(self, approval: ApprovalId) -> Approval | None:
        """An approval's row."""
        return await self._read(lambda db: reader.approval(db, approval))

    async def approvals(
        self,
        *,
        run: RunId | None = None,
        call: CallId | None = None,
        tenant: str | None = None,
        state: Sequence[ApprovalState] | None = None,
        limit: int | None = 100,
    ) -> list[Approval]:
        """Oldest first."""
        filters = {"run": run, "call": call, "tenant": tenant, "state": state}
        return await self._read(lambda db: reader.approvals(db, filters, limit))

    async def find(self, noun: Noun, prefix: str = "", *, limit: int = 100) -> list[str]:
        """Ids that begin so, newest first."""
        return await self._read(lambda db: reader.find(db, noun, prefix, limit))

    async def inbox(self, run: RunId) -> list[Delivered]:
        """What nobody has journaled yet, in order."""
        return await self._read(lambda db: reader.inbox(db, run))

    async def wait_inbox(self, run: RunId, *, after: int, timeout_s: float) -> bool:
        """True as soon as the inbox holds an id greater than `after`, False when the (real) time is up."""

        async def grown() -> bool:
            return await self._read(lambda db: reader.inbox_after(db, run, after))

        return await self._watch().until(run, grown, timeout_s)

    async def heads(self, runs: Sequence[RunId] | None = None) -> Heads:
        """Where these runs stand, or all."""
        now_ms = ambient.now_ms()
        return await self._read(lambda db: heads(db, runs, now_ms))

    async def alive(self, owner: OwnerId) -> bool:
        """Whether that owner still holds its lock."""
        return await self._read(lambda db: self._living(db)(owner))

    async def spent(self, scope: str) -> Spent:
        """What has been spent in a scope."""
        return await self._read(lambda db: reader.spent(db, scope))

    async def changed(self, since: int, *, timeout_s: float) -> int:
        """A counter that grows with every write by any process; returns when it differs from `since`, or late."""
        watch = self._watch()
        self._look()

        async def moved() -> bool:
            return self._watch().count != since

        await watch.until(None, moved, timeout_s)
        return watch.count
