"""For scripts: run an agent once, where no event loop is."""

from __future__ import annotations

import asyncio

from remit.agent import Agent
from remit.errors import InputError
from remit.owner.owner import Remit
from remit.owner.request import Asked
from remit.types.principal import Principal
from remit.types.run import Standing

__all__ = ["run_sync"]


def run_sync(agent: Agent, request: Asked, principal: Principal, deps: object) -> Standing:
    """Open the default ledger, run the request, leave.

    Raises:
        InputError: an event loop runs here already.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_run(agent, request, principal, deps))
    raise InputError("run_sync is for scripts; here use `async with Remit(...)` and `await remit.run(...)`", code="agent.loop")


async def _run(agent: Agent, request: Asked, principal: Principal, deps: object) -> Standing:
    async with Remit(agents=[agent], deps=deps) as remit:
        return await remit.run(agent, request, principal=principal)
