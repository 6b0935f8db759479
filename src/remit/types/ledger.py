"""What every ledger does: one async Protocol, and the shape of one commit.

A commit is one transaction. Either all of an `Append` is durable when `commit` returns, or none of
it and an error says why; appends of other runs in the same group are not touched. Only a run's owner
appends to it; everybody else posts to its inbox.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from remit.types.approval import Approval, ApprovalState
from remit.types.budget import Spent
from remit.types.change import Change, Create, Notice
from remit.types.connection import Connection
from remit.types.delivery import Decision, Delivered, Delivery, LateReport
from remit.types.event import Event, Recorded
from remit.types.head import Heads
from remit.types.ident import ApprovalId, CallId, ConversationId, Digest, OperationId, OwnerId, RunId
from remit.types.label import Label
from remit.types.operation import Operation, OperationState
from remit.types.quick import quick
from remit.types.retention import Compacted, Erased
from remit.types.run import RunRow, RunStatus
from remit.types.stream import Delta

__all__ = ["Append", "Committed", "Conversation", "Ledger", "Noun", "Stamped"]

T = TypeVar("T")

Noun = Literal["run", "operation", "approval"]
"""What has an id that people name by its beginning."""


@dataclass(frozen=True, slots=True)
class Stamped:
    """An event and the wall-clock moment it happened, in milliseconds; a ledger never lets a run's time go back."""

    at_ms: int
    event: Event


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One transaction on one run, in this order: create or check ownership, changes, events, inbox, status.

    Args:
        epoch, sequence: what the owner believes; checked.
        create: makes the run; then epoch and sequence are 0.
        claim: take the run if nobody alive owns it (else `RunOwned`); epoch is not checked, the sequence is.
        taken: inbox ids that these events journal.
        status: new status; None leaves it.
        release: give up ownership with this commit.
        expires_ms: when a paused run must be looked at again.
    """

    run: RunId
    events: tuple[Stamped, ...] = ()
    epoch: int = 0
    sequence: int = 0
    create: Create | None = None
    claim: bool = False
    changes: tuple[Change, ...] = ()
    taken: tuple[int, ...] = ()
    status: RunStatus | None = None
    release: bool = False
    expires_ms: int | None = None


@quick
@dataclass(frozen=True, slots=True)
class Committed:
    """Where the run stands after a commit, with its events as recorded."""

    epoch: int
    sequence: int
    recorded: tuple[Recorded, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """An append-only chain of runs of one tenant and subject."""

    id: ConversationId
    tenant: str
    subject: str
    agent: str
    holder: RunId | None
    last: RunId | None
    label: Label


class Ledger(Protocol):
    """A durable store of runs. All methods but `aclose` may raise `LedgerError`."""

    @property
    def durable(self) -> bool: ...

    @property
    def owner(self) -> OwnerId:
        """This process's name in the ledger, alive until `aclose` or the process ends."""
        ...

    async def open(self) -> None:
        """Make or migrate the schema and take this owner's lock. A newer schema is refused untouched (`ledger.newer`)."""
        ...

    async def aclose(self) -> None: ...

    # writing

    async def commit(self, append: Append) -> Committed:
        """Durable when it returns. Raises `RunOwned`, `Conflict`, `KeyTaken`, `BudgetExceeded`, `NotFound`."""
        ...

    async def transact(
        self, work: Callable[[Connection], T], outcome: Callable[[T], Append | None], *, timeout_s: float
    ) -> Committed | None:
        """Do the work, in a thread, in a transaction that `outcome` of it is then appended to: one commit of both.

        One at a time for each store, and nothing else is written to it meanwhile. A ledger that cannot do this leaves
        the method out; then no transactional tool can be bound to it.

        Args:
            work: blocks; what it raises is raised, and rolled back.
            outcome: called on the caller's loop; None: roll back.
            timeout_s: from the beginning of the transaction. It is rolled back then, also under a work that goes on.

        Raises:
            TimeoutError: not done by then. Nothing happened.
            LedgerError: `transaction.rolled_back`: a statement ended it, or a deferred constraint does not hold, and
                nothing happened. Otherwise it could not be written, and the store says whether it was.
            RunOwned, Conflict, NotFound: as `commit`. Nothing happened.
        """
        ...

    async def post(self, run: RunId, delivery: Delivery) -> int:
        """Put a delivery into a run's inbox; returns its id. A `Decision` goes through `decide`."""
        ...

    def post_late(self, run: RunId, report: LateReport) -> None:
        """`post`, from any thread and without waiting; never raises. Durable before `aclose` returns."""
        ...

    async def decide(self, decision: Decision) -> Approval:
        """Compare-and-set a pending row and post it to its run, in one transaction.

        Deciding twice is harmless: the row as it was first decided comes back. An expired row is
        set to expired and posted as such, whatever the decision says.
        """
        ...

    # reading; a `limit` of None is all

    async def blob(self, digest: Digest) -> bytes: ...

    async def run(self, run: RunId) -> RunRow | None: ...

    async def request(self, run: RunId) -> str:
        """The JSON text that `Create` stored."""
        ...

    async def find_request(self, *, tenant: str, subject: str, agent: str, request_id: str) -> RunRow | None: ...

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
        ...

    async def claimable(self, agents: Sequence[str]) -> list[RunRow]:
        """Runs that somebody should take up now: active with a dead or no owner; paused with a filled inbox or past
        `expires_ms`; ended with a filled inbox; queued behind a conversation that is free. Oldest first."""
        ...

    async def read(self, run: RunId, *, after: int = 0, limit: int | None = None) -> list[Recorded]: ...

    async def transcript(self, conversation: ConversationId, *, tenant: str) -> list[Recorded]:
        """`message.appended`, `model.replied` and `results.appended` of all its runs, in order of their start."""
        ...

    async def conversation(self, conversation: ConversationId, *, tenant: str) -> Conversation | None: ...

    async def notices(self, conversation: ConversationId, *, tenant: str) -> list[Notice]:
        """What no message of the conversation carries yet, oldest first."""
        ...

    async def operation(self, operation: OperationId) -> Operation | None: ...

    async def held(self, key: Digest) -> Operation | None:
        """Who holds the key."""
        ...

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
        ...

    async def approval(self, approval: ApprovalId) -> Approval | None: ...

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
        ...

    async def find(self, noun: Noun, prefix: str = "", *, limit: int = 100) -> list[str]:
        """Ids that begin so, newest first."""
        ...

    async def inbox(self, run: RunId) -> list[Delivered]:
        """What nobody has journaled yet, in order."""
        ...

    async def wait_inbox(self, run: RunId, *, after: int, timeout_s: float) -> bool:
        """Return True as soon as the run's inbox holds an id greater than `after`, False when the time is up.
        Deliveries of other processes are seen within about a tenth of a second."""
        ...

    async def alive(self, owner: OwnerId) -> bool:
        """Whether that process still holds its lock."""
        ...

    async def spent(self, scope: str) -> Spent: ...

    async def changed(self, since: int, *, timeout_s: float) -> int:
        """A counter that grows with every commit or post by any process; returns when it differs from `since`, or late."""
        ...

    # what is being written, beside the record

    def publish_deltas(self, deltas: Sequence[Delta]) -> None:
        """Let followers in any process hear these deltas of one run: at once, not durably; never raises.

        The deltas of an earlier attempt of the run are forgotten with the first of a later one.
        """
        ...

    async def deltas(self, run: RunId, *, after: int, index: int = 0) -> list[Delta]:
        """The published deltas that answer the `ModelRequested` with sequence number `after`, from `index` on.

        `changed` returns within about a tenth of a second after more of them.
        """
        ...

    def drop_deltas(self, run: RunId) -> None:
        """Forget the run's deltas: its reply is committed, or nothing more comes. Never raises."""
        ...

    # proof

    async def heads(self, runs: Sequence[RunId] | None = None) -> Heads:
        """Where these runs stand, or all: to be kept elsewhere. Raises `NotFound`."""
        ...

    async def matches(self, kept: str | None, digest: Digest) -> bool:
        """Whether a digest that a row has is this one; in the row of a run that was forgotten it is hidden."""
        ...

    # what is kept, and for how long

    async def forget(self, run: RunId, *, by: str, reason: str, conversation: bool = False, dry_run: bool = False) -> Erased:
        """Delete all that was said in a run and in those that answered its calls: payloads, request, arguments, results.

        Ids, states, times, counts and the chain stay, and keys and digests, hidden: a repeat is still a repeat. That it was
        forgotten, by whom and why, is appended to each.

        Args:
            conversation: with all runs of its conversation; one of them alone is not forgotten.
            dry_run: change nothing, and say what would be deleted.

        Raises:
            NotFound: there is no such run.
            Conflict: it has not ended, or something of it is open, or it is part of something that stays; the code
                (`forget...`) says which.
        """
        ...

    async def compact(self, *, older_than_s: float = 0.0, dry_run: bool = False) -> Compacted:
        """Compress the payloads of runs that ended so long ago, and give back what is empty. Nothing is lost."""
        ...

    async def verify(self, run: RunId | None = None, *, head: Heads | None = None) -> list[str]:
        """What is wrong with the chain, or with rows that do not match their events, each named with its place.
        Empty: nothing altered, removed or reordered; with a `head` that was taken earlier also nothing of what it names
        cut off, computed anew or removed whole."""
        ...
