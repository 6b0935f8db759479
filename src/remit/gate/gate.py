"""`Gate`: every effect passes here, whoever owns the loop.

Thin: it holds the gate's own things and hands each question to the module that knows the answer. It
knows no model and no loop. Invariant: nothing runs that did not pass the steps in this process, and
no proposal gets two answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remit.gate.call import Sessions
from remit.gate.consider import consider
from remit.gate.deliver import deliver
from remit.gate.desk import Desk
from remit.gate.elsewhere import recover_elsewhere
from remit.gate.execute import execute
from remit.gate.reconsider import reconsider
from remit.gate.redact import Redaction
from remit.gate.resume import consider_again, recover_call
from remit.gate.scene import Plan, Proposal, Scene
from remit.gate.slot import Rates, Slots
from remit.gate.stop import stop_call
from remit.policy import Policy, digest_of
from remit.tool import Catalogue
from remit.types.approval import Approval
from remit.types.budget import Budget
from remit.types.ident import CallId, Digest, Json, OperationId, RunId
from remit.types.label import UNTRUSTED, Label
from remit.types.ledger import Delivered, Ledger
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
    ) -> None:
        self._desk = Desk(
            tools=tools,
            ledger=ledger,
            policies=tuple(policies),
            policy_version=digest_of(policies),
            deps=deps,
            redaction=Redaction(secrets),
            slots=Slots(read_limit),
            rates=Rates(),
        )
        self._sessions = Sessions(self._desk, agent=agent, agent_digest=agent_digest, budget=budget or Budget())

    @property
    def tools(self) -> Catalogue:
        """What may be asked for."""
        return self._desk.tools

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

    async def execute(self, plan: Plan, scene: Scene) -> None:
        """Steps 7 and 8: dispatch, handler, outcome, and recovery if the outcome is in doubt.

        Ends by noting `CallEnded`; only where the key's holder failed meanwhile and a person must be asked after
        all, it ends with a new `CallConsidered` that waits. Cancelling the task leaves what was dispatched as a
        crash would; its late result goes to the run's inbox.
        """
        await execute(self._desk, plan, scene)

    async def recover(self, proposal: Proposal, operation_id: OperationId, scene: Scene) -> None:
        """Answer a call whose operation a former owner left, after doing what may be done about it."""
        await recover_call(self._desk, proposal, operation_id, scene)

    async def recover_unowned(self, operation: Operation) -> bool:
        """Do what may be done about an operation in doubt, of a run that nobody alive owns, for no call's sake.

        Returns:
            Whether it stands elsewhere now.
        """
        return await recover_elsewhere(self._desk, operation, like=None, waits=False)

    async def deliver(self, delivered: Delivered, scene: Scene) -> None:
        """Journal a settlement, late report, dead owner or withdrawal, move its operation, and wake who waits."""
        await deliver(self._desk, delivered, scene)

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
            Conflict: the run is another principal's or agent's (`run.foreign`), or closed (`run.closed`).
            RunOwned: another live process has it, and this call is not in progress there.
            LedgerError: the outcome could not be made durable.
        """
        proposal = Proposal(CallId(f"host:{call or ''}"), tool, _text(arguments), label)
        return await self._sessions.call(proposal, principal=principal, run=RunId(run), named=call is not None)

    async def close(self, run: str) -> None:
        """End a run that `call` opened: what waits is void, and no further call is taken. Harmless if repeated.

        Raises:
            NotFound: there is no such run.
        """
        await self._sessions.close(RunId(run))


def _text(arguments: Mapping[str, Json] | str) -> str:
    import json

    return arguments if isinstance(arguments, str) else json.dumps(dict(arguments), ensure_ascii=False)
