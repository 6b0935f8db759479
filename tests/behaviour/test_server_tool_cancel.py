"""A cancel while a request is under way: interrupted where nothing can have been done, awaited where it can."""

from __future__ import annotations

import asyncio

import pytest

from behaviour.shop import ALICE, Shop, lookup_order, play, support, until
from remit import CALL, Cancelled, MemoryLedger, Remit, ScriptedModel, manual, server_tool, write
from remit.types.event import CancelRequested
from remit.types.operation import Operation

RUNS_CODE = {"type": "code_execution_20250825", "name": "code_execution"}
CODE = server_tool(RUNS_CODE, effect=write(once_per=CALL, recovery=manual))


@pytest.mark.parametrize("writes", [True, False])
def test_a_cancel_interrupts_a_request_only_where_the_provider_changes_nothing(writes: bool) -> None:
    asked, go = asyncio.Event(), asyncio.Event()
    how: list[str] = []

    async def slow(body: dict[str, object]) -> str:
        asked.set()
        try:
            await go.wait()
        except asyncio.CancelledError:
            how.append("interrupted")
            raise
        how.append("answered")
        return "Computed."

    async def story() -> list[Operation]:
        agent = support(ScriptedModel(slow), lookup_order, server_tools=[CODE] if writes else [])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.submit("support", "compute", principal=ALICE)
            await asked.wait()
            await remit.cancel(run.id, by=ALICE)
            async for step in remit.follow(run.id):
                if isinstance(step.event, CancelRequested):
                    break
            if writes:
                for _ in range(20):
                    await asyncio.sleep(0)
                assert how == []
            else:
                await until(lambda: bool(how))
            go.set()
            ended = await remit.run_to_end(run.id)
            assert isinstance(ended, Cancelled)
            assert ended.open_operations == ()
            return await remit.operations(run=run.id)

    operations = play(story, seeded=False)
    assert how == ["answered" if writes else "interrupted"]
    assert [one.state for one in operations] == (["succeeded"] if writes else [])
