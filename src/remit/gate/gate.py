"""`Gate`: every effect passes here, whoever owns the loop.

Thin: it holds the gate's own things and hands each question to the module that knows the answer. It
knows no model and no loop. Invariant: nothing runs that did not pass the steps in this process, and
no proposal gets two answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from remit.errors import DefinitionError, InputError
from remit.gate.attempt import Handlers
from remit.gate.consider import consider
from remit.gate.delegate import Delegate
from remit.gate.desk import AtWork, Desk, Progress
from remit.gate.doubt.deliver import deliver
from remit.gate.doubt.elsewhere import recover_elsewhere
from remit.gate.doubt.rejoin import rejoin
from remit.gate.doubt.resume import consider_again, recover_call
from remit.gate.draft import Draft, Stop
from remit.gate.host.call import Sessions
from remit.gate.host.hold import Held
from remit.gate.reconsider import reconsider, void_changed
from remit.gate.rehearse import Rehearsal, rehearse
from remit.gate.result import describe
from remit.gate.runner import Runner
from remit.gate.scene import Plan, Proposal, Scene
from remit.gate.slot import Rates, Slots
from remit.gate.step.execute import execute
from remit.gate.step.redact import Redaction
from remit.gate.stop import stop_call
from remit.gate.tell import label_of
from remit.policy import Policy, digest_of
from remit.tool import Catalogue, Webs
from remit.types.approval import Approval
from remit.types.budget import Budget
from remit.types.delivery import Delivered
from remit.types.event import Recorded
from remit.types.given import given_id, given_text
from remit.types.ident import CallId, Digest, Json, OperationId, RunId
from remit.types.label import UNTRUSTED, Label
from remit.types.ledger import Ledger
from remit.types.operation import Operation
from remit.types.outcome import Awaiting, Outcome
from remit.types.principal import Principal

__all__ = ["Gate"]


class Gate:
    """Decides whether a proposed call happens, how, and at most how often.

    Args:
        tools: what may be asked for.
        ledger: open.
        policies: pure functions; the strictest decides.
        deps: given to handlers as `ctx.deps`.
        secrets: strings that no result, error or record may hold; at least four characters each.
        read_limit: how many reads may run at once.
        agent, agent_digest, budget: of the runs that `call` makes.
        progress: told what handlers say of how far they are.
        runner: does what calls ask for; None: the tools' handlers.
        dry_run: nothing that changes anything is done, and nobody is asked: such calls are answered with what
            would have happened.
        at_work: shared with the other gates of this process on this ledger; None: there are none.
        web: makes the HTTP clients that handlers find in `ctx.http`; None: there is none.
        delegate: runs the agents that answer calls; None: such calls are refused.

    Raises:
        DefinitionError: a tool is transactional, and the ledger cannot do that.
    """

    def __init__(
        self,
        *,
        tools: Catalogue,
        ledger: Ledger,
        policies: Sequence[Policy] = (),
        deps: object = None,
        secrets: Sequence[str] = (),
        read_limit: int = 8,
        agent: str = "host",
        agent_digest: Digest | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
        dry_run: bool = False,
        runner: Runner | None = None,
        at_work: AtWork | None = None,
        web: Webs | None = None,
        delegate: Delegate | None = None,
    ) -> None:
        _need_transactions(tools, ledger)
        self._desk = Desk(
            tools=tools,
            ledger=ledger,
            policies=tuple(policies),
            policy_version=digest_of(policies),
            deps=deps,
            redaction=Redaction(secrets),
            slots=Slots(read_limit),
            rates=Rates(),
            progress=progress,
            web=web,
            runner=runner or (Rehearsal() if dry_run else Handlers()),
            before_asking=rehearse if dry_run else _go_on,
            at_work=at_work or AtWork(),
            delegate=delegate,
        )
        self._sessions = Sessions(self._desk, agent=agent, agent_digest=agent_digest, budget=budget or Budget())

    @property
    def tools(self) -> Catalogue:
        """What may be asked for."""
        return self._desk.tools

    def describe(self, error: BaseException) -> str:
        """What the application's own code raised, as the operator reads it: class and text, without declared secrets."""
        return describe(self._desk.redaction, error)

    async def consider(self, proposal: Proposal, scene: Scene) -> Plan | None:
        """Put a proposal through steps 1 to 6; one at a time, in the model's order.

        Notes `CallConsidered`, and `CallEnded` if the call is answered by it; a request to a person is committed.

        Returns:
            A plan if the call may start now, else None.
        """
        if proposal.again:
            return await consider_again(self._desk, proposal, scene)
        return await consider(self._desk, proposal, scene)

    async def reconsider(self, proposal: Proposal, approval: Approval, scene: Scene) -> Plan | None:
        """Go on after a decision that the caller has noted as `ApprovalDecided`.

        A yes passes steps 1 to 4 again, with the principal and policy of now.

        Returns:
            A plan if the call may start now, else None.
        """
        return await reconsider(self._desk, proposal, approval, scene)

    async def void_changed(self, scene: Scene) -> None:
        """After a run is taken up: what people were asked about tools that have changed since is void.

        Commits an `ApprovalDecided` for each; `reconsider` then has the call pass every step again.
        """
        await void_changed(self._desk, scene)

    def redact(self, text: str) -> str:
        """What a person said, without declared secrets."""
        return self._desk.redaction.text(text)

    async def execute(self, plan: Plan, scene: Scene) -> None:
        """Steps 7 and 8: dispatch, handler, outcome, and recovery if the outcome is in doubt.

        Ends by noting `CallEnded`, or of another agent's call `ChildWaiting`; only where the key's holder failed meanwhile
        and a person must be asked after all, it ends with a new `CallConsidered` that waits. Cancelling the task leaves
        what was dispatched as a crash would; its late result goes to the run's inbox.
        """
        await execute(self._desk, plan, scene)

    async def recover(self, proposal: Proposal, operation_id: OperationId, scene: Scene) -> None:
        """Answer a call whose operation a former owner left, after doing what may be done about it."""
        await recover_call(self._desk, proposal, operation_id, scene)

    async def rejoin(self, proposal: Proposal, scene: Scene, *, stop: bool = False) -> None:
        """Answer a call for which another agent's run has begun, once that stands still; with `stop` it is cancelled.

        Ends by noting `CallEnded` or `ChildWaiting`.
        """
        await rejoin(self._desk, proposal, scene, stop=stop)

    async def recover_unowned(self, operation: Operation) -> bool:
        """Do what may be done about an operation in doubt, of a run that nobody alive owns, for no call's sake.

        Returns:
            Whether it stands elsewhere now.
        """
        return await recover_elsewhere(self._desk, operation, like=None, waits=False)

    async def deliver(self, delivered: Delivered, scene: Scene) -> None:
        """Journal a settlement, late report, dead owner or withdrawal, move its operation, and wake who waits."""
        await deliver(self._desk, delivered, scene)

    def label_of(self, tool: str, outcome: Outcome, context: Label, *, subject: str) -> Label:
        """What an answer does to the context of the run that reads it.

        Args:
            context: in which the call was proposed.
            subject: the run's principal.
        """
        return label_of(self._desk, tool, outcome, context, subject=subject)

    async def cancel(self, proposal: Proposal, scene: Scene) -> None:
        """Answer a call that has not started, of a run that is being cancelled: `NotRun(cancelled)`."""
        await stop_call(self._desk, proposal, scene, "cancelled")

    async def hold_back(self, proposal: Proposal, code: str, scene: Scene) -> None:
        """Answer a call that will not start because of another: `NotRun(code)`, `held_back` or `waiting`."""
        await stop_call(self._desk, proposal, scene, code)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json] | str,
        *,
        principal: Principal,
        run: str,
        call: str | None = None,
        label: Label = UNTRUSTED,
    ) -> Outcome | Awaiting:
        """One call under a loop that is not ours.

        The same (run, call) again returns what is recorded, or goes on after a decision or a crash. Cancelling the
        caller does not interrupt it.

        Args:
            arguments: JSON text, or plain values.
            run: the host's string; all its calls belong to one principal.
            call: the host's stable id of this call; without one, tools that are once per `CALL` are refused.
            label: what the host says of the context in which the call was proposed.

        Raises:
            InputError: something passed cannot be used; the message names it and the mend.
            Conflict: the run is another principal's or agent's (`run.foreign`), or closed (`run.closed`).
            RunOwned: another live process has it, and this call is not in progress there.
            LedgerError: the outcome could not be made durable.
        """
        given_id(run, "run= of gate.call", "give your loop's own id of this run")
        if call is not None:
            given_id(call, "call= of gate.call", "give your loop's stable id of this call, or leave it out")
        _check(tool, principal, label)
        proposal = Proposal(CallId(f"host:{call or ''}"), tool, _text(arguments), label)
        return await self._sessions.call(proposal, principal=principal, run=RunId(run), named=call is not None)

    def hold(self, run: RunId, principal: Principal, *, on_event: Callable[[Recorded], None]) -> Held:
        """A run like those that `call` opens, for a host that keeps it between its calls: to be begun or taken up."""
        return Held(self._sessions, self._desk, run, principal, on_event=on_event)

    async def close(self, run: str) -> None:
        """End a run that `call` opened: what waits is void, and no further call is taken. Harmless if repeated.

        Raises:
            NotFound: there is no such run.
        """
        await self._sessions.close(RunId(run))


def _need_transactions(tools: Catalogue, ledger: Ledger) -> None:
    """Raise `DefinitionError` if a tool needs what this kind of ledger does not do."""
    for tool in tools:
        recovery = tool.effect.recovery
        if recovery is not None and recovery.kind == "transactional" and not callable(getattr(ledger, "transact", None)):
            message = f"tool {tool.name!r} is transactional, and this ledger ({type(ledger).__name__}) has no transactions"
            raise DefinitionError(message, code="definition.recovery", tool=tool.name)


def _go_on(draft: Draft) -> Stop | None:
    """Nothing stands in the place of what comes next."""
    del draft


def _text(arguments: Mapping[str, Json] | str) -> str:
    import json

    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(dict(arguments), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = "arguments of gate.call are JSON text, or a dict of plain JSON values"
        raise InputError(message, code="input.arguments") from error


def _check(tool: object, principal: object, label: object) -> None:
    given_text(tool, "the tool's name")
    if not isinstance(principal, Principal):
        raise InputError("principal= of gate.call is the Principal whom you authenticated", code="principal.missing")
    if not isinstance(label, Label):
        raise InputError("label= of gate.call is TRUSTED, UNTRUSTED or a Label(...)", code="input.label")
