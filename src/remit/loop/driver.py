"""The driver of one run: does what the transition says, and records what came of it.

Knows the model, the gate and the ledger; decides nothing that a fold would not decide again.
Invariant: whatever it holds in memory may be lost at any moment; if the ledger fails, everything of
the run stops and the model is told nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace

from remit.errors import InputError, LedgerError, NotFound, RemitError
from remit.gate import Gate
from remit.gate.tree import conversation_of
from remit.loop import server_write
from remit.loop.answer import check_answer
from remit.loop.ask import ask
from remit.loop.calls import Calls
from remit.loop.close import end, pause
from remit.loop.command import AppendResults, Ask, CheckAnswer, Command, Correct, Deny, End, Pause, Tell
from remit.loop.inbox import expire, settle_later, take
from remit.loop.limits import Limits
from remit.loop.live import Live
from remit.loop.opening import open_run
from remit.loop.phase import Phase
from remit.loop.results import append_results, deny
from remit.loop.spec import RunSpec
from remit.loop.standing import standing_of
from remit.loop.state import RunState
from remit.loop.transcript import Transcript
from remit.loop.transition import fold
from remit.types.change import Change, Create
from remit.types.event import Event, MessageAppended, Recorded, Resumed, RunStarted
from remit.types.ident import RunId
from remit.types.label import TRUSTED
from remit.types.ledger import Ledger
from remit.types.model import Model
from remit.types.part import Text
from remit.types.principal import Principal
from remit.types.run import RunRow, Standing, Submitted

__all__ = ["Driver", "need_protocol"]

_WATCH_S = 30.0


class Driver:
    """Drives one run in this process, from its first commit or from where its journal ends.

    Args:
        spec: the agent of now.
        gate: where every effect passes.
        principal: who asks, with the scopes of now.
        history: what the conversation's earlier runs have said; it grows with this one.
    """

    def __init__(
        self,
        spec: RunSpec,
        gate: Gate,
        ledger: Ledger,
        *,
        run: RunId,
        principal: Principal,
        history: Transcript | None = None,
    ) -> None:
        self._spec = spec
        self._gate = gate
        self._ledger = ledger
        self._run = run
        self._principal = principal
        self._history = history
        self._live: Live | None = None
        self._last: list[Pause | End] = []
        self._asking: asyncio.Task[None] | None = None
        self._driving: asyncio.Task[object] | None = None
        self._abandoned = False

    @property
    def state(self) -> RunState:
        """Where the run is."""
        return self._here.state

    @property
    def _here(self) -> Live:
        if self._live is None:
            raise InputError("the driver has no run yet; begin or take_up first", code="driver.idle")
        return self._live

    async def begin(self, events: Sequence[Event], *, changes: Sequence[Change] = (), create: Create | None = None) -> None:
        """Commit the first events of a run together with its first request.

        Args:
            events: `RunStarted`, then all that goes before the first request.
            create: makes the run; None claims its row, which has no events yet.

        Raises:
            InputError: there is a usd budget, and the model's price is unknown.
            Conflict, RunOwned: as the ledger says. In each case nothing is recorded.
        """
        live = await self._make(events)
        await open_run(live, events, changes=changes, create=create)
        self._live = live

    async def take_up(self, row: RunRow, recorded: Sequence[Recorded], resumed: Resumed) -> None:
        """Claim a run that nobody alive owns, where its journal ends. Of an ended run only the inbox is journaled.

        Args:
            resumed: who takes it up; whom the run may ask from now on is added here.

        Raises:
            RunOwned: somebody alive owns it.
        """
        live = await self._make([one.event for one in recorded])
        state = fold(recorded)
        live.take_over(state, recorded, epoch=row.epoch)
        self._live = live
        if state.ended is not None:
            await settle_later(live)
            return
        resumed = replace(resumed, models=live.roster.identities)
        lost, changes = await server_write.lost(live)
        await live.journal.commit(*lost, resumed, changes=changes, claim=True, status="active")
        await take(live)
        await self._gate.void_changed(live.scene)
        await expire(live)

    async def _make(self, events: Sequence[Event]) -> Live:
        started = next((event for event in events if isinstance(event, RunStarted)), None)
        if started is None:
            raise NotFound(f"run {self._run} has no beginning", code="run.no_events")
        need_protocol(self._run, started.protocol, self._spec.model)
        return Live(
            self._spec,
            self._gate,
            self._ledger,
            run=self._run,
            principal=self._principal,
            started=started,
            conversation=await conversation_of(self._ledger, started),
            limits=await Limits.of(started, self._ledger),
            history=self._history,
        )

    async def drive(self) -> Standing:
        """Go on until the run has ended, or only people can move it; then it is not owned any more.

        Raises:
            LedgerError, RunOwned: what happened here could not be recorded; nothing of the run goes on here.
        """
        live = self._here
        if self._abandoned:
            raise asyncio.CancelledError
        calls = Calls(live)
        self._driving = asyncio.current_task()
        live.workers.start(lambda command: self._do(command, live, calls), beside=self._watch(live))
        try:
            while not _let_go(live.state):
                await self._step(live)
        except Exception as error:
            await self._leave(live)
            await self._keep(live, error)
            raise
        except BaseException:
            await self._leave(live)
            raise
        await self._leave(live)
        await live.journal.close(released=True)
        return await self._standing(live)

    async def _leave(self, live: Live) -> None:
        self._driving = None
        await live.workers.leave()

    async def _keep(self, live: Live, error: Exception) -> None:
        """What is known of a run that falls out of its driver is recorded, unless recording is what failed."""
        if self._abandoned or isinstance(error, LedgerError):
            return
        with suppress(RemitError):  # the first error is the one to tell
            await live.journal.close(released=False)

    async def _standing(self, live: Live) -> Standing:
        rows = await self._ledger.approvals(run=self._run, state=("pending",)) if live.state.paused else []
        standing = standing_of(live.state, approvals=rows, durable=self._ledger.durable)
        if isinstance(standing, Submitted):
            raise AssertionError("a run that was let go is paused or ended")
        return standing

    async def abandon(self) -> None:
        """Leave the run as a crash would: nothing more is recorded, and `drive` ends with `CancelledError`."""
        self._abandoned = True
        driving = self._driving
        if driving is not None:
            driving.cancel()
            await asyncio.wait({driving})

    async def _step(self, live: Live) -> None:
        """Do what only the driver itself does, or wait until there is something."""
        if live.workers.failure is not None:
            raise live.workers.failure
        if self._last:
            await self._end_with(self._last.pop(0), live)
        elif live.workers.busy:
            await live.workers.changed()
        elif live.journal.busy:
            await live.journal.idle()
        else:
            await live.journal.commit()  # raises RunOwned, if the run is somebody else's
            raise RemitError(f"run {self._run} cannot go on: nothing is under way", code="run.stuck", run=self._run)

    async def _end_with(self, command: Pause | End, live: Live) -> None:
        """The last words, said by the driver alone: nobody else may say more after them."""
        match command:
            case Pause():
                await pause(live, command)
            case End():
                self._stop_asking(live)
                await live.workers.settle()
                if live.workers.failure is None:
                    await end(live, command)

    async def _watch(self, live: Live) -> None:
        """Journal what others tell the run, as it comes."""
        while True:
            if await self._ledger.wait_inbox(self._run, after=live.seen, timeout_s=_WATCH_S):
                await take(live)
                if live.state.cancelled is not None:
                    self._stop_asking(live)

    def _stop_asking(self, live: Live) -> None:
        if self._asking is not None and not server_write.is_under_way(live.state):
            live.workers.cancel(self._asking)

    async def _do(self, command: Command, live: Live, calls: Calls) -> None:
        match command:
            case Ask():
                await self._ask(ask(live, command))
            case CheckAnswer():
                await self._ask(check_answer(live, command))
            case Correct():
                _correct(live, command)
            case AppendResults():
                await append_results(live, command)
            case Deny():
                deny(live, command)
            case Pause() | End():
                self._last.append(command)
                live.workers.notify()
            case Tell():
                raise AssertionError("told where its event is folded")
            case _:
                await calls.do(command)

    async def _ask(self, work: Coroutine[object, object, None]) -> None:
        """Do what a run that is over does not wait for: the task that does it may be interrupted meanwhile."""
        self._asking = asyncio.current_task()
        try:
            await work
        finally:
            self._asking = None


def need_protocol(run: RunId, protocol: str, model: Model) -> None:
    """Return if the model speaks the protocol of the run.

    Raises:
        InputError: `model.protocol`: it does not; says how the run goes on or ends.
    """
    if model.wire.protocol != protocol:
        raise InputError(
            f"run {run} speaks {protocol}, and the agent's model now speaks {model.wire.protocol}: give the agent a model of "
            f"the old protocol until its runs have ended, or end this one: `await remit.cancel(run, by=...)`, or "
            f"`remit cancel {run}`",
            code="model.protocol",
            run=run,
        )


def _correct(live: Live, command: Correct) -> None:
    if live.state.phase is Phase.RETURN_CORRECTION:
        wording = live.spec.model.wire.user([Text(command.message)])
        live.journal.note(MessageAppended(wording=wording, source="correction", label=TRUSTED))


def _let_go(state: RunState) -> bool:
    return state.ended is not None or state.paused
