"""A call whose child a former owner began, or that is to be ended with its run.

Knows children by their ids. Invariant: where there is a child, no step is asked again: what it does has been allowed, and its
own run asks for each of its calls.
"""

from __future__ import annotations

from dataclasses import replace

from remit.gate.child import rejoin_child
from remit.gate.desk import Desk
from remit.gate.doubt.resume import consider_again
from remit.gate.scene import Proposal, Scene
from remit.gate.step.execute import execute
from remit.gate.stop import stop_call
from remit.types.ident import ApprovalId

__all__ = ["rejoin"]


async def rejoin(
    desk: Desk, proposal: Proposal, scene: Scene, *, stop: bool = False, below: tuple[ApprovalId, ...] | None = None
) -> None:
    """Give the call its answer from its child, or note that it waits.

    Args:
        stop: cancel the child.
        below: what the journal says that it waits for: the same is not said again; None: say it.
    """
    if await rejoin_child(desk, proposal, scene, stop=stop, below=below):
        return
    if stop:
        await stop_call(desk, proposal, scene, "cancelled")
        return
    plan = await consider_again(desk, replace(proposal, again=True), scene)
    if plan is not None:
        await execute(desk, plan, scene)
