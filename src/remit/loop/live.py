"""A run that this process drives: its state, its pen, and what the parts of the driver share.

Knows the ledger and the gate's scene, and decides nothing. Invariant: `state` is the fold of what was
noted or committed here, in order; commands are queued in the order in which their events came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from remit import ambient
from remit.errors import BudgetExceeded
from remit.gate import Gate, Scene
from remit.gate.tree import uncounted
from remit.ledger import Journal
from remit.loop.command import Command, Tell
from remit.loop.delta import DeltaWriter
from remit.loop.limits import Limits
from remit.loop.roster import Roster
from remit.loop.spec import RunSpec
from remit.loop.state import Ending, RunState
from remit.loop.transcript import Transcript
from remit.loop.transition import stop, transition
from remit.loop.workers import Workers
from remit.types.budget import Spent
from remit.types.change import Notify, Spend
from remit.types.event import CallEnded, ModelRequested, Recorded, RunStarted
from remit.types.ident import ConversationId, Digest, RunId
from remit.types.ledger import Ledger
from remit.types.principal import Principal

__all__ = ["Live"]


class Live:
    """What one driver works on.

    Args:
        started: the run's first event.
        conversation: that the run, or the one at the root of its tree, is part of.
        history: what the conversation's earlier runs have said; it grows with this one.

    Attributes:
        unsent: turn and attempt of the request that this process has recorded, or is about to, and not begun to send.
    """

    def __init__(
        self,
        spec: RunSpec,
        gate: Gate,
        ledger: Ledger,
        *,
        run: RunId,
        principal: Principal,
        started: RunStarted,
        conversation: ConversationId | None,
        limits: Limits,
        history: Transcript | None = None,
    ) -> None:
        self.spec = spec
        self.gate = gate
        self.ledger = ledger
        self.run = run
        self.started = started
        self.limits = limits
        self.transcript = history or Transcript()
        self.said = self.transcript.said
        self.used_ids = self.transcript.used_ids
        self.roster = Roster(spec, started)
        self.deltas = DeltaWriter(ledger, run)
        self.state = RunState(run=run)
        self.workers: Workers[Command] = Workers()
        self.inbox = asyncio.Lock()
        self.seen = 0
        self.unsent: tuple[int, int] | None = None
        self._taken_over = False
        self.journal = Journal(ledger, run, self.fold)
        self.scene = self._scene(principal, conversation)

    def _scene(self, principal: Principal, conversation: ConversationId | None) -> Scene:
        started = self.started
        return Scene(
            run=self.run,
            root=started.root,
            agent=started.agent,
            conversation=conversation,
            principal=principal,
            journal=self.journal,
            recorded={tool.name: tool.contract for tool in started.tools},
            admit=self._admit,
            may_ask=lambda: self.limits.may_ask(self.state),
            take=self._take,
            book=lambda: self.limits.book(self.state, ambient.now_ms()),
            on_wait=started.on_wait,
        )

    def _admit(self, tool: str, digest: Digest | None) -> str | None:
        return self.limits.admit(self.state, tool, digest, polls=tool in self.spec.polls)

    async def _take(self, amounts: Spent) -> str | None:
        """Where others take from the same budgets at the same time, the ledger says what still fits."""
        if not self.state.is_shared:
            return None
        back: tuple[Spend, ...] = ()
        if self._taken_over:
            back = self.limits.give_back(await uncounted(self.ledger, self.run, self.state.booked))
        try:
            await self.journal.commit(changes=(*back, *self.limits.take(amounts)))
        except BudgetExceeded as error:
            return error.code
        self._taken_over = False
        return None

    def take_over(self, state: RunState, recorded: Sequence[Recorded], *, epoch: int) -> None:
        """Stand where the journal stands."""
        self.state = state
        self.limits = self.limits.less(state.booked)
        self._taken_over = True
        for one in recorded:
            self.transcript.add(one)
        last = recorded[-1]
        self.journal = Journal(self.ledger, self.run, self.fold, epoch=epoch, sequence=last.sequence, last_ms=last.at_ms)
        self.scene.journal = self.journal
        if state.cancelled is not None:
            self.scene.cancelled.set()

    def fold(self, recorded: Recorded) -> None:
        """Take one event of the run in: called by the journal, in order."""
        before = self.state
        self.state, commands = transition(before, recorded)
        self.transcript.add(recorded)
        if self.spec.log is not None:
            self.spec.log(recorded)
        if isinstance(recorded.event, ModelRequested):
            self.deltas.begin(recorded.sequence, recorded.event)
        if self.state.cancelled is not before.cancelled:
            self.scene.cancelled.set()
            self.scene.woken.ring()
        for command in commands:
            if isinstance(command, Tell):
                self._tell(recorded)
            else:
                self.workers.put(command)

    def _tell(self, recorded: Recorded) -> None:
        """A receipt became an outcome: with the same commit, the conversation's next request is to carry it."""
        event, conversation = recorded.event, self.started.conversation
        if isinstance(event, CallEnded) and conversation is not None:
            notify = Notify(
                conversation=conversation,
                run=self.run,
                call=event.call,
                tool=event.tool,
                operation=event.operation,
                outcome=event.outcome,
            )
            self.journal.note(changes=(notify,))

    def stop(self, ending: Ending) -> None:
        """The next request is not made: end the run instead."""
        self.state, commands = stop(self.state, ending)
        for command in commands:
            self.workers.put(command)
