"""Remit: the owner of runs in a process.

The one object that an application holds. It knows where each of its promises is kept, and keeps none
itself. Invariant: a run belongs to the owner and its ledger, never to the caller that asked for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Literal, overload

from remit.agent import Agent, Conversation
from remit.errors import InputError
from remit.gate import Gate
from remit.http import Http
from remit.owner import ask, decide, enter, follow, join, record, recover, stream, take
from remit.owner.decide import By
from remit.owner.enter import LedgerLike, Open
from remit.owner.request import Asked
from remit.owner.state import Principals, State
from remit.owner.waiting import OnWaiting
from remit.sandbox.inside import is_inside
from remit.types.approval import Approval, ApprovalState
from remit.types.event import Recorded
from remit.types.head import Heads
from remit.types.ident import Digest, Json, OperationId, RunId
from remit.types.ledger import Ledger
from remit.types.operation import Operation, OperationState
from remit.types.principal import Principal
from remit.types.retention import Compacted, Erased
from remit.types.run import RunRow, RunStatus, Standing, Submitted
from remit.types.stream import Delta, Retracted, Step
from remit.workflow import Workflow

__all__ = ["Remit"]


class Remit:
    """Runs agents on a ledger: `async with Remit(ledger="support.db", agents=[support]) as remit`.

    Entering opens the ledger, takes up what a dead process left, and goes on taking up what is decided,
    expired or queued for its agents. Leaving waits up to `drain_s` for the runs that go on here; what
    is not done by then is left as a crash would leave it, for the next one that opens the ledger.

    Args:
        ledger: a path, or a ledger. None: the file named by `REMIT_LEDGER`, else `remit.db` here.
        agents, workflows: whose runs this process may drive; none, to read and decide only. Agents behind tools come along.
        deps: what handlers find in `ctx.deps`.
        principals: an async function, (tenant, subject) -> the principal with its scopes of now; None denies. Asked
            where no caller gives scopes; without it the recorded scopes stand.
        on_waiting: called for each approval and question that waits, at least once; sync or async.
        secrets: values that no result, error text or channel may show; each has at least four characters.
        dry_run: reads run; a write takes all steps up to the look-up, and its call is answered with what would have happened.
            Nobody is asked, nor is `done=`. Nothing is kept, nor known of what a real ledger knows; `ledger=` stays out.
        http: how requests of `ctx.http` are made.

    Raises:
        DefinitionError: two agents have one name.
    """

    def __init__(
        self,
        ledger: LedgerLike = None,
        agents: Sequence[Agent] = (),
        *,
        workflows: Sequence[Workflow] = (),
        deps: object = None,
        drain_s: float = 20.0,
        principals: Principals | None = None,
        on_waiting: OnWaiting | None = None,
        secrets: Sequence[str] = (),
        dry_run: bool = False,
        http: Http | None = None,
    ) -> None:
        self._setup = enter.Setup.of(
            ledger,
            agents,
            workflows=workflows,
            deps=deps,
            drain_s=drain_s,
            principals=principals,
            on_waiting=on_waiting,
            secrets=secrets,
            dry_run=dry_run,
            http=http,
        )
        self._open: Open | None = None

    async def __aenter__(self) -> Remit:
        if self._open is not None:
            raise InputError("this Remit is open already; make another one", code="owner.open")
        if is_inside():
            problem = (
                "a sandbox imports this module for a handler in it; put what opens Remit under `if __name__ == '__main__':`"
            )
            raise InputError(problem, code="owner.inside")
        self._open = await enter.enter(self._setup)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            opened, self._open = self._open, None
            await enter.leave(opened, drain_s=self._setup.drain_s)

    async def abandon(self) -> None:
        """Leave at once, as a crash would: what is under way stays as it is in the ledger, owned by nobody alive."""
        if self._open is not None:
            opened, self._open = self._open, None
            await enter.leave(opened, drain_s=0)

    @property
    def _state(self) -> State:
        if self._open is None:
            raise InputError("this Remit is not open; use `async with Remit(...) as remit:`", code="owner.not_open")
        return self._open.state

    @property
    def ledger(self) -> Ledger:
        """The open ledger."""
        return self._state.ledger

    # Running

    async def run(
        self,
        agent: str | Agent | Workflow,
        request: Asked,
        *,
        principal: Principal,
        conversation: str | Conversation | None = None,
        request_id: str | None = None,
    ) -> Standing:
        """Run a request, and return how the run stands once it has ended or waits for people.

        A caller that goes away changes nothing for the run. With a `request_id` the same request again
        joins its run: follows a live one, takes over a dead one, returns an ended or paused one.

        Args:
            agent: its name, or itself; or a workflow.
            request: text, a part, or several; of a workflow, its input by parameter.
            principal: whom the application authenticated, with the scopes of now.
            conversation: the chain that this message belongs to. Behind a run that holds it the message is
                stored and starts when it is free; if that run waits for people, `Paused(queued=True)`.
            request_id: the application's own id of this request, unique per principal and agent.

        Raises:
            InputError: something passed cannot be used; the message names it and the mend.
            Conflict: the request id was used for another request (`request.conflict`).
            Denied: the conversation belongs to another principal or agent.
        """
        state = self._state
        run = await ask.ask(state, agent, request, principal, conversation=conversation, request_id=request_id)
        return await join.until_still(state, run, principal)

    def stream(
        self,
        agent: str | Agent | Workflow,
        request: Asked,
        *,
        principal: Principal,
        conversation: str | Conversation | None = None,
        request_id: str | None = None,
    ) -> AsyncGenerator[Step, None]:
        """As `run`, and yield what happens on the way: `async for step in remit.stream(...)`.

        First the committed events in their order (`Recorded`), between them what is being written (`Delta`) and what of it
        stands for nothing (`Retracted`), last the standing with which `run` would have returned. The text deltas of a
        request, one after the other, are the text of its reply without declared secrets. The run begins with the first
        step that is asked for; whoever stops asking changes nothing for it.

        Raises:
            InputError, Conflict, Denied: as `run`.
        """
        return stream.stream(self._state, agent, request, principal, conversation=conversation, request_id=request_id)

    async def submit(
        self,
        agent: str | Agent | Workflow,
        request: Asked,
        *,
        principal: Principal,
        conversation: str | Conversation | None = None,
        request_id: str | None = None,
    ) -> Submitted:
        """As `run`, but return as soon as the run exists durably; it goes on in the background."""
        state = self._state
        run = await ask.ask(state, agent, request, principal, conversation=conversation, request_id=request_id)
        row = await follow.row_of(state.ledger, run)
        return Submitted(id=run, conversation=row.conversation, reason=row.status, durable=state.ledger.durable)

    async def resume(self, run: str, principal: Principal | None = None) -> Standing:
        """Take a run up and return how it stands once it stands still.

        Args:
            run: its id.
            principal: whose scopes count now; None: `principals=`, else those recorded.

        Raises:
            RunOwned: another living process owns it.
            NotFound: there is no such run, or it is another principal's.
            Denied: `principals=` denies.
        """
        return await join.resume(self._state, RunId(run), principal)

    async def run_to_end(self, run: str, principal: Principal | None = None) -> Standing:
        """Wait until a run has ended or waits for people, whoever drives it, in this or another process."""
        return await join.until_still(self._state, RunId(run), principal)

    @overload
    def follow(
        self, run: str, after: int = 0, principal: Principal | None = None, *, deltas: Literal[False] = False
    ) -> AsyncIterator[Recorded]: ...

    @overload
    def follow(
        self, run: str, after: int = 0, principal: Principal | None = None, *, deltas: Literal[True]
    ) -> AsyncIterator[Recorded | Delta | Retracted]: ...

    def follow(
        self, run: str, after: int = 0, principal: Principal | None = None, *, deltas: bool = False
    ) -> AsyncIterator[Recorded] | AsyncIterator[Recorded | Delta | Retracted]:
        """Yield the run's committed events with a sequence number above `after`, from any process, as they come.

        It ends after the run has ended; while the run is paused it waits.

        Args:
            run: its id.
            after: where to begin.
            principal: whose run it must be; None: anybody's.
            deltas: whether to give what is being written as well, as `stream` does, without the secrets that this owner and
                the run's agent, if it is here, declare. A run of this process is streamed for it; of another process, if
                its agent says so (`Agent(stream=True)`). Else a text comes in one piece.

        Raises:
            NotFound: there is no such run, or it is another principal's.
            InputError: `after` is no sequence number (`follow.after`).
        """
        if deltas:
            return stream.listen(self._state, RunId(run), after=after, principal=principal)
        return stream.events(self._state, RunId(run), after=after, principal=principal)

    async def standing(self, run: str, principal: Principal | None = None) -> Standing | Submitted:
        """How a run stands now; `Submitted` while it goes on."""
        state = self._state
        return await take.standing_of_row(state, await follow.row_of(state.ledger, RunId(run), principal))

    def gate(self, agent: str | Agent) -> Gate:
        """The agent's gate, for a loop that is not ours: `await gate.call(tool, arguments, principal=, run=, call=)`."""
        state = self._state
        return state.bound(ask.name_of(state, agent)).gate

    # What people say

    async def decide(
        self,
        approval: str | Approval,
        allow: bool,
        *,
        by: Principal,
        reason: str = "",
        arguments: Mapping[str, Json] | None = None,
    ) -> Approval:
        """Say yes or no to an approval; harmless twice: the second gets the first one's answer.

        Args:
            approval: its id, or its row as `Paused.approvals` has it.
            by: who decides; needs the approval's scope, and is not the requester where two people are needed.
            reason: for the record; a model reads it on a no.
            arguments: other arguments that shall run instead, on a yes; checked at once where the agent is here.

        Raises:
            Denied: `by` may not decide this.
            NotFound: there is no such approval in the tenant of `by`.
            InputError: the arguments do not fit the tool, or something else that was passed cannot be used.
        """
        return await decide.decide(self._state, approval, allow, by=by, reason=reason, arguments=arguments)

    async def answer(self, question: str | Approval, value: Json, *, by: Principal, reason: str = "") -> Approval:
        """Answer a question that a model asked with `ask_user`; harmless twice."""
        return await decide.answer(self._state, question, value, by=by, reason=reason)

    async def withdraw(self, operation: str, *, by: By, reason: str = "") -> None:
        """Do not start an operation that waits for approval; nothing if it has started."""
        run = await decide.withdraw(self._state, OperationId(operation), by=by, reason=reason)
        await record.record(self._state, run)

    async def settle(
        self, operation: str | Operation, happened: bool, *, by: By, reason: str, result: Json = None
    ) -> Operation:
        """Say what became of an operation whose outcome is unknown.

        Args:
            operation: its row as you saw it, so that a no is about no attempt that came later; or its id.
            happened: whether the effect took place.
            by: who says so.
            reason: how they know; not empty.
            result: what the tool would have returned, if it happened.

        Returns:
            The operation as it is then; still unknown where another process owns the run and will journal it.

        Raises:
            Conflict: it is not in doubt (`operation.not_unknown`), still running, or was sent again since that row
                (`operation.sent_again`).
        """
        state = self._state
        said = await decide.settle(state, operation, happened, by=by, reason=reason, result=result)
        row = await decide.operation_of(state, said.operation, by)
        await record.record(state, row.run)
        return decide.still_about(await decide.operation_of(state, said.operation, by), said)

    async def cancel(self, run: str, *, by: By, reason: str = "") -> None:
        """Stop a run: what was dispatched is awaited, nothing else starts; nothing if it has ended."""
        if await decide.cancel(self._state, RunId(run), by=by, reason=reason):
            await record.record(self._state, RunId(run))

    async def recover(self) -> list[Operation]:
        """Ask the systems of record about every operation in doubt of this owner's agents that nobody drives.

        Returns:
            Those that are still unknown: a person settles them.
        """
        return await recover.recover(self._state)

    # Reading

    async def events(self, run: str, principal: Principal | None = None) -> list[Recorded]:
        """All committed events of a run so far."""
        await follow.row_of(self._state.ledger, RunId(run), principal)
        return await self._state.ledger.read(RunId(run))

    async def runs(self, *, status: Sequence[RunStatus] | None = None, limit: int | None = 100) -> list[RunRow]:
        """Runs of every agent in the ledger, newest first."""
        return await self._state.ledger.runs(status=status, limit=limit)

    async def operations(
        self, *, run: str | None = None, state: Sequence[OperationState] | None = None, limit: int | None = 100
    ) -> list[Operation]:
        """Effects and what became of them, oldest first."""
        return await self._state.ledger.operations(run=None if run is None else RunId(run), state=state, limit=limit)

    async def approvals(
        self, *, run: str | None = None, state: Sequence[ApprovalState] | None = ("pending",), limit: int | None = 100
    ) -> list[Approval]:
        """Approvals and questions, oldest first; those that wait, unless other states are named."""
        return await self._state.ledger.approvals(run=None if run is None else RunId(run), state=state, limit=limit)

    async def blob(self, digest: str) -> bytes:
        """Bytes that a run keeps apart: an image or file of a request, a long result whole.

        Raises:
            NotFound: there are none of that digest.
        """
        return await self._state.ledger.blob(Digest(digest))

    # Keeping

    async def forget(self, run: str, *, by: By, reason: str, conversation: bool = False, dry_run: bool = False) -> Erased:
        """Delete all that was said in a run that has ended, and keep what proves and protects.

        Requests, messages, replies, arguments and results are gone from the ledger, also of the runs that answered its calls.
        Ids, states, times, counts and the chain stay, and that it was forgotten, by whom and why; a repeat is still a repeat.

        Args:
            by: who says so.
            reason: why; not empty.
            conversation: with all runs of its conversation; one of them alone is not forgotten.
            dry_run: change nothing, and say what would be deleted.

        Raises:
            NotFound: there is no such run.
            Conflict: it has not ended, something of it is open, or it is part of something that stays (`forget...`).
        """
        return await decide.forget(self._state, RunId(run), by=by, reason=reason, conversation=conversation, dry_run=dry_run)

    async def compact(self, *, older_than_s: float = 0.0, dry_run: bool = False) -> Compacted:
        """Compress the runs that ended so long ago, and give back what is empty. Nothing is lost."""
        return await self._state.ledger.compact(older_than_s=older_than_s, dry_run=dry_run)

    async def heads(self, runs: Sequence[str] | None = None) -> Heads:
        """Where these runs stand, or all: to be kept where whoever can write the ledger cannot.

        Raises:
            NotFound: there is no such run.
        """
        return await self._state.ledger.heads(None if runs is None else [RunId(one) for one in runs])

    async def verify(self, run: str | None = None, *, head: Heads | None = None) -> list[str]:
        """What is wrong with the record; empty where nothing was altered, removed or reordered.

        Args:
            run: None: all.
            head: what `heads` gave earlier; then nothing of what it names was cut off, computed anew or removed whole.
        """
        return await self._state.ledger.verify(None if run is None else RunId(run), head=head)
