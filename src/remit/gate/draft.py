"""A call on its way through the steps, and what may stop it there.

Knows no step. Invariant: what is recorded of a call is read from its draft, whichever step decided.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from remit.gate.desk import Desk
from remit.gate.result import describe
from remit.gate.scene import Proposal, Scene
from remit.tool import Arguments, Tool
from remit.types.change import OpenOperation
from remit.types.event import CallConsidered
from remit.types.ident import ApprovalId, CallId, Digest, OperationId
from remit.types.operation import Operation, OperationState
from remit.types.outcome import Outcome

__all__ = ["Draft", "Stop", "Wanted"]


@dataclass(frozen=True, slots=True)
class Stop:
    """A step decided: the call is answered, and nothing runs. `detail` is for the operator."""

    step: str
    outcome: Outcome
    operation: OperationId | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person must grant before the call may run. `scope` may name several, separated by spaces."""

    scope: str
    expires_s: float
    two_person: bool = False
    reasons: tuple[str, ...] = ()


@dataclass(slots=True)
class Draft:
    """What is known of a call so far.

    Args:
        wanted: what a person must grant; None lets it run.
        author: the approver who wrote the arguments, if one did.
        shown: those arguments as the model is told them.
        beside: what else a person should know if one is asked.
        errors: what functions of the application raised on the way, as the operator reads it.
    """

    desk: Desk
    scene: Scene
    proposal: Proposal
    tool: Tool | None = None
    arguments: Arguments | None = None
    key: Digest | None = None
    once_per: str = ""
    wanted: Wanted | None = None
    author: str | None = None
    shown: str | None = None
    beside: tuple[str, ...] = ()
    errors: list[str] = field(default_factory=list[str])

    def erred(self, error: BaseException) -> None:
        """Keep for the operator what the application's own function raised; what follows from it is decided elsewhere."""
        self.errors.append(describe(self.desk.redaction, error))

    @property
    def detail(self) -> str | None:
        """The errors in one text."""
        return "; ".join(self.errors) or None

    @property
    def resolved(self) -> Tool:
        """The tool, after step 1."""
        assert self.tool is not None
        return self.tool

    @property
    def valid(self) -> Arguments:
        """The arguments, after step 2."""
        assert self.arguments is not None
        return self.arguments

    def considered(
        self,
        verdict: Literal["ready", "waiting", "joined", "settled"],
        step: str,
        code: str,
        *,
        operation: OperationId | None = None,
        approval: ApprovalId | None = None,
        joined: CallId | None = None,
    ) -> CallConsidered:
        """The event that says what the gate made of it."""
        tool, arguments = self.tool, self.arguments
        resources = None if tool is None or arguments is None else tool.touches(arguments, on_error=self.erred)
        business = tool is not None and tool.effect.kind == "write" and tool.operation_scope == "key"
        return CallConsidered(
            call=self.proposal.call,
            tool=self.proposal.name,
            effect=None if tool is None else tool.effect.kind,
            contract=None if tool is None else tool.contract,
            arguments=None if arguments is None else arguments.text,
            digest=None if arguments is None else arguments.digest,
            verdict=verdict,
            step=step,
            code=code,
            label=self.proposal.label,
            coercions=() if arguments is None else arguments.coercions,
            resources=resources,
            key=self.key if business else None,
            operation=operation,
            approval=approval,
            joined=joined,
            author=self.author,
            detail=self.detail,
        )

    def row(self, operation: OperationId, state: OperationState, now_ms: int, *, approval: ApprovalId | None) -> OpenOperation:
        """The operation's row: what the tool declared is stored here once, and never computed again."""
        tool, arguments, scene = self.resolved, self.valid, self.scene
        recovery = tool.effect.recovery
        assert recovery is not None
        assert self.key is not None
        dispatched = state == "dispatched"
        return OpenOperation(
            Operation(
                id=operation,
                tenant=scene.principal.tenant,
                subject=scene.principal.subject,
                run=scene.run,
                root=scene.root,
                call=self.proposal.call,
                conversation=scene.conversation,
                tool=tool.name,
                contract=tool.contract,
                once_per=self.once_per,
                key=self.key,
                recovery=recovery.kind,
                atomic=tool.effect.atomic,
                window_s=recovery.window_s,
                attempts=recovery.attempts,
                settle_s=tool.timeout_s if recovery.settle_s is None else recovery.settle_s,
                timeout_s=tool.timeout_s,
                arguments=arguments.text,
                arguments_digest=arguments.digest,
                author=self.author,
                state=state,
                attempt=1 if dispatched else 0,
                owner=self.desk.ledger.owner if dispatched else None,
                approval=approval,
                first_dispatched_ms=now_ms if dispatched else None,
                not_after_ms=now_ms + round(tool.timeout_s * 1000) if dispatched else None,
                created_ms=now_ms,
                updated_ms=now_ms,
            )
        )
