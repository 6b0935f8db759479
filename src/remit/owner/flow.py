"""Driving a workflow: its function is called until it has ended, waits for people, or failed and is taken back.

Knows tracks and held runs; not how a run starts. Invariant: whatever the function does with what its steps
raise, a run that waits stays where it is, and once taking back has begun the function is not called any more.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress

from remit import ambient
from remit.errors import Conflict, LedgerError, RemitError, RunOwned
from remit.foreign import ForeignError, contained
from remit.gate import Held
from remit.owner.failure import Failure, changed, failure_of, invalid_answer, unanswered, unheard
from remit.owner.follow import row_of
from remit.owner.hand import FlowHand
from remit.owner.standing import standing_of_row
from remit.owner.state import BoundFlow, State
from remit.owner.undo import Back
from remit.tool import Arguments, to_result
from remit.types.change import Create
from remit.types.event import Recorded, Resumed, RunEnded, RunStarted
from remit.types.ident import RunId
from remit.types.outcome import Awaiting
from remit.types.principal import Principal
from remit.types.run import RunRow, Standing, Submitted
from remit.workflow import Flow
from remit.workflow.track import Track

__all__ = ["FlowDriver"]

_LEAVE_S = 1.0
"""How long a function that cannot go on may take to leave by itself; then it is interrupted."""
_LAST_WORDS_S = 5.0
"""How long a function that is interrupted is waited for."""


class FlowDriver:
    """One workflow's run in this process: begun or taken up, then driven to where it stands still.

    Args:
        given: the run's input, canonical.
    """

    def __init__(self, state: State, bound: BoundFlow, run: RunId, principal: Principal, given: str) -> None:
        self._state = state
        self._bound = bound
        self._run = run
        self._principal = principal
        self._given = given
        self._held: Held = bound.gate.hold(run, principal, on_event=bound.recorder.log_event)
        self._hand = FlowHand(state, bound, self._held)
        self._back = Back(self._held, self._hand.label)
        self._driving: asyncio.Task[object] | None = None
        self._abandoned = False

    @property
    def first(self) -> RunStarted:
        """The first event of a run of this gate."""
        return self._held.started

    async def begin(self, started: RunStarted, create: Create) -> None:
        """Make the run, durably."""
        await self._held.begin(started, create)

    async def take_up(self, row: RunRow, recorded: Sequence[Recorded], resumed: Resumed) -> None:
        """Claim the run where its journal ends."""
        await self._held.take_up(row, recorded, resumed)

    async def abandon(self) -> None:
        """Leave the run as a crash would: nothing more is recorded, and `drive` ends with `CancelledError`."""
        self._abandoned = True
        if self._driving is not None:
            self._driving.cancel()
            await asyncio.wait({self._driving})

    async def drive(self) -> Standing:
        """Go on until the run has ended, or only people can move it; then it is not owned any more.

        Raises:
            LedgerError: what happened here could not be recorded; nothing of the run goes on here.
            RunOwned: the same; or it was let go, and goes on with somebody else.
        """
        if self._abandoned:
            raise asyncio.CancelledError
        self._driving = asyncio.current_task()
        listening = asyncio.ensure_future(self._held.listen())
        try:
            while not await self._round(listening):
                await self._held.hear()
        except Exception as error:
            if not isinstance(error, LedgerError):
                with suppress(RemitError):  # the first error is the one to tell
                    await self._held.close()
            raise
        finally:
            self._driving = None
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        standing = await standing_of_row(self._state, await row_of(self._state.ledger, self._run))
        if isinstance(standing, Submitted):
            raise RunOwned("another process goes on with the run already", run=self._run)
        return standing

    async def _round(self, listening: asyncio.Future[None]) -> bool:
        """Once through; whether the run was let go."""
        if self._held.view.cancelled.is_set():
            return await self._end(await self._back.cancelled())
        if self._held.view.undoing is None:
            return await self._forward(listening)
        waiting = await self._back.take_back()
        if waiting is not None:
            return await self._pause([waiting])
        if self._held.view.cancelled.is_set():
            return await self._end(await self._back.cancelled())
        return await self._end(await self._back.end())

    # the function

    async def _forward(self, listening: asyncio.Future[None]) -> bool:
        given = self._bound.workflow.check(Arguments(self._given).plain_text())
        if not isinstance(given, Arguments):
            return await self._fail(changed("its input does not fit the function's parameters any more"))
        track = Track(self._bound.workflow.catalogue, self._hand)
        try:
            returned, raised = await self._call(track, given, listening)
            await track.settle()
        except BaseException:
            await track.leave()
            raise
        return await self._stands(track, returned, raised)

    async def _stands(self, track: Track, returned: object, raised: Exception | None) -> bool:
        """What follows from a call of the function, all of whose steps stand still; whether the run was let go."""
        fault = track.fault
        is_other = isinstance(fault, Conflict) and fault.code == "call.changed"
        if fault is not None and not is_other:
            raise fault
        if self._held.view.cancelled.is_set():
            return await self._end(await self._back.cancelled())
        if is_other:
            return await self._fail(changed(f"step {track.other!r} was made with other arguments or another tool"))
        if track.waiting:
            return await self._pause(track.waiting)
        if raised is None:
            return await self._finish(track, returned)
        failure = failure_of(raised)
        if failure.reason == "workflow.error":
            self._bound.recorder.log_hook(f"workflow {self._bound.workflow.name}", raised, run=self._run)
        return await self._fail(failure, track)

    async def _call(self, track: Track, given: Arguments, listening: asyncio.Future[None]) -> tuple[object, Exception | None]:
        """What the function returns or raises; nothing where the run was cancelled meanwhile."""
        working = asyncio.ensure_future(self._work(track, given))
        cancelled = asyncio.ensure_future(self._held.view.cancelled.wait())
        lost = asyncio.ensure_future(_lost(track, working))
        try:
            await asyncio.wait({working, cancelled, listening, lost}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                listening.result()
            if working.cancelled():  # by itself
                return None, ForeignError(asyncio.CancelledError())
            if working.done():
                return working.result()
            await track.leave(only_reads=True)
            return None, None
        finally:
            cancelled.cancel()
            lost.cancel()
            if not working.done():
                track.halt()
                working.cancel()
                await asyncio.wait({working}, timeout=_LAST_WORDS_S)

    async def _work(self, track: Track, given: Arguments) -> tuple[object, Exception | None]:
        workflow = self._bound.workflow
        flow: Flow[object] = Flow(track, principal=self._principal, deps=self._state.deps, run=self._run)
        try:
            with contained(awaiting=True):
                values = workflow.read(given.plain_text())
                return await workflow.function(**values, **{workflow.flow: flow}), None
        except Exception as error:  # the application's own function
            return None, error

    async def _finish(self, track: Track, returned: object) -> bool:
        answer, files = to_result(returned)
        if files:
            return await self._fail(invalid_answer(), track)
        missed = unanswered(self._held.view, {step.call for step in track.steps})
        if missed is not None:
            return await self._fail(changed(f"step {missed!r} was made, and the function does not make it any more"))
        lost = next((step.name for step in track.steps if not step.heard and self._back.may_have_changed(step.call)), None)
        if lost is not None:
            return await self._fail(unheard(lost), track)
        unsure = await self._held.unsure()
        return await self._end(
            RunEnded(how="finished", reason="finished", answer=json.dumps(answer), verified=not unsure, open_operations=unsure)
        )

    # letting go

    async def _fail(self, failure: Failure, track: Track | None = None) -> bool:
        """Nothing goes forward any more: what is done is taken back, unless nobody knows how."""
        await self._held.stop()
        begun = await self._back.begun(failure, () if track is None else track.steps)
        ambient.reach("workflow.failed")
        if not begun.undos:
            return await self._end(await self._back.end(begun))
        await self._held.record(begun)
        ambient.reach("undo.begun")
        return False

    async def _pause(self, waiting: Sequence[Awaiting]) -> bool:
        """Let go until people decide, unless they have."""
        return await self._held.pause(tuple(dict.fromkeys(one.approval for one in waiting)))

    async def _end(self, ended: RunEnded) -> bool:
        await self._held.end(ended)
        return True


async def _lost(track: Track, working: asyncio.Future[tuple[object, Exception | None]]) -> None:
    """Return once the function cannot go on, none of its steps is under way, and it has had its time to leave by itself."""
    await track.halted.wait()
    await track.settle()
    await asyncio.wait({working}, timeout=_LEAVE_S)
