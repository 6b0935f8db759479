"""Driving runs in tasks of the owner: a caller that goes away changes nothing.

Knows drivers and tasks. It does not know why a run is driven. Invariant: `live` holds exactly the
runs that have a task here; one that fell out of its task by an error is in `lost`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from remit import ambient
from remit.errors import RemitError, RunOwned
from remit.loop import Driver, Transcript
from remit.owner.spec import spec_of
from remit.owner.state import Bound, Driven, Drives, State, recorder_for
from remit.types.ident import RunId
from remit.types.principal import Principal
from remit.types.run import Paused, Standing

__all__ = ["closed_here", "launch", "outcome_of", "start"]

_AGAIN_S = 0.5
_AGAIN_CAP_S = 300.0
First = Callable[[Driver], Awaitable[None]]
"""Makes the driver's first commit: begins the run, or claims it."""


async def launch(
    state: State,
    run: RunId,
    bound: Bound,
    principal: Principal,
    *,
    first: First,
    history: Transcript,
    drains: bool = False,
) -> Driven:
    """Drive a run in a task of its own; return once its first commit is durable.

    Args:
        drains: it is begun also while the owner is being left: a run that is waited for then needs it.

    Raises:
        RemitError: what the first commit raised; then nothing of it is durable.
    """
    spec = spec_of(bound, state, run, principal)
    driver = Driver(spec, bound.gate, state.ledger, run=run, principal=principal, history=history)
    return await start(state, run, driver, partial(first, driver), drains=drains)


async def start(
    state: State, run: RunId, driver: Drives, first: Callable[[], Awaitable[None]], *, drains: bool = False
) -> Driven:
    """Drive a run in a task of its own; return once its first commit, which `first` makes, is durable.

    Raises:
        RemitError: as `launch`.
    """
    if state.left or (state.closing and not drains):
        raise closed_here()
    if run in state.live:
        raise RunOwned("this process drives the run already", run=run)
    begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(_work(driver, first, begun))
    live = state.live[run] = Driven(task, begun, driver)
    task.add_done_callback(lambda _: _ended(state, run, live))
    try:
        await asyncio.shield(begun)
    except RemitError:
        _forget(state, run, live)
        raise
    return live


async def _work(driver: Drives, first: Callable[[], Awaitable[None]], begun: asyncio.Future[None]) -> Standing:
    try:
        await first()
    except BaseException as error:
        if not begun.done():
            begun.set_exception(closed_here() if isinstance(error, asyncio.CancelledError) else error)
            begun.exception()
        raise
    if not begun.done():
        begun.set_result(None)
    return await driver.drive()


def _ended(state: State, run: RunId, live: Driven) -> None:
    """The task is over: its conversation may be free, or the run is left without anybody."""
    _forget(state, run, live)
    if live.task.cancelled():
        return
    state.listeners.stands_still(run)
    error = live.task.exception()
    if error is None:
        state.lost.pop(run, None)
        standing = live.task.result()
        if standing.conversation is not None or isinstance(standing, Paused):
            state.nudge()
    elif live.begun.exception() is None:
        failures = state.lost[run] = state.lost.get(run, 0) + 1
        state.again_s[run] = ambient.monotonic_s() + min(_AGAIN_S * 2**failures, _AGAIN_CAP_S)
        recorder_for(state.secrets).log_error(error, run=run)


def _forget(state: State, run: RunId, live: Driven) -> None:
    if state.live.get(run) is live:
        del state.live[run]


async def outcome_of(live: Driven) -> Standing:
    """How a run that is driven here ends or pauses; the caller may be cancelled, the run is not.

    Raises:
        RemitError: the owner closed first (`owner.closed`), or the drive ended in an error.
    """
    await asyncio.wait({live.task})
    if live.task.cancelled():
        raise closed_here()
    return live.task.result()


def closed_here() -> RemitError:
    """What a caller is told whose run goes on elsewhere, or at the next start."""
    message = "this Remit is closed; the run goes on in the next one that is opened on its ledger"
    return RemitError(message, code="owner.closed", retryable=True)
