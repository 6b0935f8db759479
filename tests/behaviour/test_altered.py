"""A ledger that was altered while a run waited: the run is left alone, and nothing of it happens."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, play, refund_tool, support
from remit import LedgerError, Paused, Remit, ScriptedModel, call

REFUND = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
LARGER = '{"amount_cents":999999,"charge_id":"ch_1"}'
TAMPERED = {
    "the arguments that were approved": f"UPDATE remit_approval SET arguments = '{LARGER}'",
    "the arguments that an approver wrote": f"UPDATE remit_approval SET edited = '{LARGER}'",
    "who decided": "UPDATE remit_approval SET decided_by = 'mallory'",
    "what an event says": "UPDATE remit_payload SET text = replace(text, '9900', '9901') WHERE text LIKE '%9900%'",
    "how often it may be tried": "UPDATE remit_operation SET attempts = 99",
}


def alter(path: Path, sql: str) -> None:
    db = apsw.Connection(str(path))
    db.execute(sql)
    assert db.total_changes() > 0
    db.close()


@pytest.mark.parametrize("what", TAMPERED)
def test_a_run_whose_record_was_altered_while_it_waited_is_left_alone(tmp_path: Path, what: str) -> None:
    path, shop = tmp_path / "ledger.db", Shop()
    model = ScriptedModel([REFUND, "Refunded."])
    agent = support(model, refund_tool(approve=APPROVED_ABOVE_50))

    async def story() -> None:
        async with Remit(ledger=path, agents=[agent], deps=shop) as remit:
            paused = await remit.run("support", "refund ch_1", principal=ALICE)
            assert isinstance(paused, Paused)
        async with Remit(ledger=path) as desk:
            edited = {"charge_id": "ch_1", "amount_cents": 6_000} if "wrote" in what else None
            await desk.decide(paused.approvals[0].id, True, by=BOB, arguments=edited)
        alter(path, TAMPERED[what])
        async with Remit(ledger=path, agents=[agent], deps=shop) as remit:
            with pytest.raises(LedgerError) as refused:
                await remit.run_to_end(paused.id)
            assert refused.value.code == "ledger.altered"
            assert paused.id in str(refused.value)

    play(story)
    assert shop.refunds == []
    assert len(model.requests) == 1
