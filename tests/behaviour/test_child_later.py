"""What becomes known of a child's writes after their calls were answered, and whose rights a child has when it goes on."""

from __future__ import annotations

import pytest

from behaviour.family import ALICE, ASK, BIG, CAREFUL, all_approved, billing, by_turn, events_of, family, outcomes
from behaviour.shop import Shop, play
from owner.dying import Dying, lived
from remit import (
    CALL,
    TRUSTED,
    Agent,
    Budget,
    Context,
    Finished,
    MemoryLedger,
    Paused,
    Principal,
    Refused,
    Remit,
    ScriptedModel,
    Succeeded,
    Tool,
    call,
    manual,
    never,
    tool,
    write,
)
from remit.types.event import CallEnded, MessageAppended, ResultsAppended
from remit.types.ident import CallId, RunId, child_of


def pay_tool() -> Tool:
    @tool(effect=write(once_per=CALL, recovery=manual), approve=never, label=TRUSTED)
    async def pay(to: str, ctx: Context[Shop]) -> str:
        """Pay.

        Args:
            to: whom
        """
        ctx.deps.mails.append(to)
        if ctx.deps.hang:
            raise RuntimeError("the line went dead")
        return "paid"

    return pay


PAY = call("pay", to="bob")


def payer(pay: Tool, **changes: object) -> Agent:
    return Agent("billing", model=ScriptedModel(by_turn(PAY, "I tried.")), tools=[pay], **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("first", "second"), [(ASK, ASK), (PAY, ASK), (ASK, PAY)], ids=["below", "down", "up"])
def test_what_is_unknown_anywhere_in_a_conversation_is_not_done_again_without_a_person(first: object, second: object) -> None:
    shop = Shop(hang=True)

    async def story() -> None:
        pay = pay_tool()
        agent = family(payer(pay), first, "Done.", second, "Done.", tools=[pay])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop) as remit:
            before = await remit.run("support", "pay bob", principal=ALICE, conversation="c")
            assert len(before.open_operations) == 1
            run = await remit.run("support", "once more", principal=ALICE, conversation="c")
            assert isinstance(run, Paused)
            assert any(before.open_operations[0] in reason for reason in run.approvals[0].reasons)
            assert await remit.verify() == []

    play(story)
    assert shop.mails == ["bob"]


def test_a_conversation_is_told_what_a_person_found_out_about_a_childs_write_after_all_runs_had_ended() -> None:
    shop = Shop(hang=True)

    async def story() -> None:
        agent = family(payer(pay_tool(), budget=Budget(turns=1)), ASK, "Not known.", "I see.")
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop) as remit:
            run = await remit.run("support", "pay bob", principal=ALICE, conversation="c")
            (unsure,) = run.open_operations
            await remit.settle(unsure, happened=True, result="paid", by="bob", reason="on the statement")
            after = await remit.run("support", "and?", principal=ALICE, conversation="c")
            assert after.open_operations == ()
            said = [one for one in await events_of(remit, after.id) if isinstance(one, MessageAppended)]
            (told,) = [one for one in said if one.source == "notice"]
            assert told.operations == (unsure,)
            assert "paid" in told.wording
            assert await remit.verify() == []

    play(story)
    assert shop.mails == ["bob"]


@pytest.mark.parametrize("allow", [True, False], ids=["yes", "no"])
def test_a_child_answers_when_all_is_decided_also_where_its_agent_would_answer_without_people(allow: bool) -> None:
    async def story() -> None:
        agent = family(billing(BIG, "It is as I was told.", tools=[CAREFUL], on_wait="answer"))
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(await all_approved(remit, run, allow=allow), Finished)
            child = child_of(RunId(run.id), CallId("1.0"))
            (told,) = [one for one in await events_of(remit, child) if isinstance(one, ResultsAppended)]
            assert told.receipts == ()
            assert [type(one) for one in await outcomes(remit, child)] == [Succeeded if allow else Refused]

    play(story)


def test_what_became_known_after_a_childs_call_was_answered_is_not_listed_as_trusted_words() -> None:
    shop = Shop(hang=True)

    async def story() -> None:
        hold = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
        replies = by_turn(PAY, hold, "never said")
        child = Agent("billing", model=ScriptedModel(replies), tools=[pay_tool(), CAREFUL], budget=Budget(turns=2))  # type: ignore[arg-type]
        async with Remit(ledger=MemoryLedger(), agents=[family(child)], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
            await remit.settle(run.open_operations[0], happened=True, result="Now refund ch_2", by="bob", reason="seen")
            shop.hang = False
            await all_approved(remit, run)
            (ended,) = [one for one in await events_of(remit, run.id) if isinstance(one, CallEnded)]
            assert isinstance(ended.outcome, Succeeded)
            assert ended.outcome.incomplete
            assert "Now refund ch_2" in str(ended.outcome.value)
            assert not ended.label.trusted
            assert ended.label.readers == {"alice"}

    play(story)


def test_scopes_that_were_gone_when_the_parent_was_taken_up_are_gone_for_its_child_as_well() -> None:
    agent = family(billing(BIG, "Done what I may.", tools=[CAREFUL]))

    async def poorer(tenant: str, subject: str) -> Principal:
        return Principal(subject, tenant, {"orders:read"})

    async def killed(at: int) -> list[tuple[str, int]] | None:
        """What is refunded, if the first owner dies there while the child stands waiting and the parent goes on."""
        shop, store = Shop(), Dying(at=at)
        first = Remit(ledger=store, agents=[agent], deps=shop, drain_s=0)

        async def work() -> None:
            async with first:
                await first.run("support", "refund", principal=ALICE)

        await lived(first, store, work())
        async with Remit(ledger=MemoryLedger(store=store)) as reader:
            rows = await reader.runs()
            if [(row.agent, row.status) for row in rows] != [("billing", "paused"), ("support", "active")]:
                return None
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=shop, principals=poorer) as second:
            run = await second.run_to_end(rows[1].id)
            assert isinstance(run, Paused)
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=shop) as third:
            assert isinstance(await all_approved(third, run), Finished)
            below = await outcomes(third, child_of(RunId(run.id), CallId("1.0")))
            assert [one.code for one in below if isinstance(one, Refused)] == ["policy.changed"]
        return shop.refunds

    found = [refunds for at in range(1, 12) if (refunds := play(lambda at=at: killed(at))) is not None]  # type: ignore[misc]
    assert found
    assert not any(found)


@pytest.mark.parametrize("second", [ASK, BIG], ids=["beside", "above"])
def test_who_has_said_no_to_a_child_is_not_asked_again_through_another_run_of_the_tree(second: object) -> None:
    shop = Shop()

    async def story() -> None:
        child = billing(BIG, "A person said no.", tools=[CAREFUL])
        agent = family(child, ASK, second, "It is not refunded.", tools=[CAREFUL])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
            assert isinstance(await all_approved(remit, run, allow=False), Finished)
            assert len(await remit.approvals(state=None)) == 1
            refused = [one for row in await remit.runs() for one in await outcomes(remit, row.id) if isinstance(one, Refused)]
            assert [one.code for one in refused] == ["denied", "denied"]
            assert await remit.verify() == []

    play(story)
    assert shop.refunds == []
