"""What an attempt left for the operator is told line by line, masked, and to no model."""

from __future__ import annotations

import json

from cli.conftest import Desk

BANK = '''
from remit import TRUSTED, Agent, Context, ScriptedModel, call, manual, never, tool, write


@tool(effect=write(once_per="charge_id", recovery=manual), approve=never, label=TRUSTED)
async def issue_refund(charge_id: str, ctx: Context) -> str:
    """Refund one charge.

    Args:
        charge_id: the charge
    """
    ctx.evidence("receipt 7")
    ctx.evidence("seen with sk-abcdefghijklmnopqrstuv")
    return "done"


def reply(request):
    assert "receipt" not in str(request)
    return "Done." if "tool_result" in str(request["messages"][-1]) else call("issue_refund", charge_id="ch_1")


payer = Agent("payer", model=ScriptedModel(reply), tools=[issue_refund])
'''


def test_the_evidence_of_an_effect_is_shown_to_the_operator_line_by_line_and_masked(desk: Desk) -> None:
    (desk.here / "bank.py").write_text(BANK)
    run = desk("run", "bank:payer", "Refund ch_1", "--principal", "alice@acme", "--json").json
    assert run["status"] == "finished"
    shown = desk("show", run["run"]).out
    assert [line.partition("evidence: ")[2][:9] for line in shown.splitlines() if "evidence" in line] == [
        "receipt 7",
        "seen with",
    ]
    rows = desk("operations", "--json").out
    assert json.loads(rows)["operations"][0]["evidence"][0].startswith("receipt 7\nseen with ")
    assert "sk-abcdef" not in shown + rows
