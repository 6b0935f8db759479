"""Several at one doubt: owners, repeats, `recover`, people and a ledger that fails, at the same moment."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from behaviour.bank import PAY, Bank, answers, dies, payer, settled
from behaviour.shop import ALICE, BOB, play, until
from remit import (
    CANNOT_TELL,
    DID_NOT,
    TRUSTED,
    Agent,
    Context,
    Failed,
    Finished,
    Happened,
    LedgerError,
    MemoryLedger,
    Paused,
    Principal,
    Remit,
    RunOwned,
    ScriptedModel,
    Succeeded,
    Unknown,
    always,
    call,
    idempotent,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.types.event import OperationMoved
from remit.types.ledger import Append, Committed


@pytest.mark.parametrize("kind", ["idempotent", "reconcile"])
def test_of_recover_the_next_owner_and_a_repeat_at_once_exactly_one_sends_it_again(kind: str) -> None:
    bank, store = Bank("hangs before"), MemoryLedger()
    recovery = idempotent(600) if kind == "idempotent" else reconcile(bank.look, settle_s=0.05)
    agent = payer(bank.tool(recovery, timeout_s=1))

    async def story() -> None:
        run = await dies(store, agent, lambda: bool(bank.attempts))
        async with (
            Remit(ledger=MemoryLedger(store=store), agents=[agent]) as one,
            Remit(ledger=MemoryLedger(store=store), agents=[agent]) as two,
        ):
            ends = await asyncio.gather(
                one.run_to_end(run),
                two.run_to_end(run),
                one.recover(),
                two.recover(),
                one.run("payer", "pay", principal=ALICE),
                two.run("payer", "pay", principal=ALICE),
            )
            assert ends[0] == ends[1]
            for repeat in ends[4:]:
                [answer] = await answers(one, repeat.id)
                assert isinstance(answer, Succeeded | Unknown)
                [row] = await one.operations()
                assert answer.operation == row.id
            assert await one.verify() == []

    play(story, seeded=False)
    assert bank.attempts == [1, 2]
    assert bank.paid == ["1"]


def test_what_is_unknown_in_one_run_is_recovered_for_a_repeat_in_another_under_the_same_id() -> None:
    bank = Bank("lost before")
    bank.answers = [CANNOT_TELL]

    async def story() -> None:
        agent = payer(bank.tool(reconcile(bank.look, settle_s=0.05)))
        async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
            first = await remit.run("payer", "pay", principal=ALICE)
            assert len(first.open_operations) == 1
            bank.answers = [DID_NOT]
            second = await remit.run("payer", "pay", principal=ALICE)
            [answer] = await answers(remit, second.id)
            assert isinstance(answer, Succeeded)
            [row] = await remit.operations()
            assert (row.run, row.state, row.attempt) == (first.id, "succeeded", 2)
            assert (await remit.run_to_end(first.id)).open_operations == ()
            assert await remit.verify() == []

    play(story)
    assert bank.attempts == [1, 2]


def test_a_run_that_is_taken_up_while_a_repeat_recovers_its_operation_is_recovered_once_and_neither_fails() -> None:
    bank, store = Bank("hangs before"), MemoryLedger()
    agent = payer(bank.tool(reconcile(bank.look, settle_s=0.2), timeout_s=0.5))

    async def nobody(tenant: str, subject: str) -> Principal | None:
        return None

    async def story() -> None:
        run = await dies(store, agent, lambda: bool(bank.attempts))
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], principals=nobody) as second:
            repeat = await second.submit("payer", "pay", principal=ALICE)
            await until(lambda: bank.asked == 1)
            ended, other = await asyncio.gather(second.resume(run, principal=ALICE), second.run_to_end(repeat.id))
            assert isinstance(ended, Finished)
            assert isinstance(other, Finished)
            assert ended.open_operations == ()
            assert await second.verify() == []

    play(story, seeded=False)
    assert (bank.attempts, bank.paid) == ([1, 2], ["1"])


def test_two_processes_that_resume_a_dead_ones_run_at_once_give_one_winner_and_a_clear_error() -> None:
    bank, store = Bank(), MemoryLedger()

    @tool(effect=write(once_per="id", recovery=manual), approve=always(scope="remit:approve"), timeout_s=5, label=TRUSTED)
    async def pay(id: str, ctx: Context[object]) -> str:
        """Pay.

        Args:
            id: what
        """
        await asyncio.sleep(0.2)
        return await bank.pay(id, ctx)

    async def story() -> None:
        agent = payer(pay)
        async with (
            Remit(ledger=MemoryLedger(store=store), agents=[agent]) as one,
            Remit(ledger=MemoryLedger(store=store), agents=[agent]) as two,
        ):
            run = await one.run("payer", "pay", principal=ALICE)
            assert isinstance(run, Paused)
            await one.decide(run.approvals[0], True, by=BOB)
            ends = await asyncio.gather(one.resume(run.id), two.resume(run.id), return_exceptions=True)
            assert sorted(type(end).__name__ for end in ends) == ["Finished", "RunOwned"], ends
            [error] = [end for end in ends if isinstance(end, RunOwned)]
            assert error.code == "run.owned"
            assert "another living process" in error.message

    play(story, seeded=False)
    assert bank.paid == ["1"]


@pytest.mark.parametrize("happened", [True, False])
def test_a_person_who_settles_while_another_process_recovers_is_heard_and_nothing_is_sent_again(happened: bool) -> None:
    bank, store = Bank("lost before"), MemoryLedger()

    async def story() -> None:
        bank.answers = [CANNOT_TELL]
        agent = payer(bank.tool(reconcile(bank.look, settle_s=1.5)))
        ledger = MemoryLedger(store=store)
        async with (
            Remit(ledger=ledger, agents=[agent]) as one,
            Remit(ledger=MemoryLedger(store=store)) as clerk,
        ):
            running = await one.submit("payer", "pay", principal=ALICE)
            await until(lambda: bank.asked == 1)
            [row] = await clerk.operations()
            await clerk.settle(row, happened, by="bob", reason="the statement")
            ended = await one.run_to_end(running.id)
            [answer] = await answers(one, running.id)
            assert isinstance(answer, Succeeded if happened else Failed)
            assert ended.open_operations == ()
            assert (await settled(one, ledger, row.id, "succeeded", "failed")).settled_by == "by:bob"  # type: ignore[attr-defined]
            assert await one.verify() == []

    play(story, seeded=False)
    assert bank.attempts == [1]


def test_a_person_who_settles_what_a_repeat_recovers_for_an_ended_run_is_heard_and_nothing_is_sent_again() -> None:
    bank, store = Bank("lost before"), MemoryLedger()

    async def story() -> None:
        bank.answers = [CANNOT_TELL]
        agent = payer(bank.tool(reconcile(bank.look, settle_s=0.3)))
        ledger = MemoryLedger(store=store)
        async with Remit(ledger=ledger, agents=[agent]) as one, Remit(ledger=MemoryLedger(store=store)) as clerk:
            first = await one.run("payer", "pay", principal=ALICE)
            [row] = await one.operations()
            asking, said = asyncio.Event(), asyncio.Event()

            async def look(arguments: object, ctx: object) -> object:
                asking.set()
                await said.wait()
                return CANNOT_TELL

            bank.look = look  # type: ignore[method-assign]
            agent2 = payer(bank.tool(reconcile(look, settle_s=0.3), timeout_s=5))
            async with Remit(ledger=MemoryLedger(store=store), agents=[agent2]) as two:
                second = await two.submit("payer", "pay", principal=ALICE)
                await asking.wait()
                await clerk.settle(row, True, by="bob", reason="the statement", result="done")
                said.set()
                assert isinstance(await two.run_to_end(second.id), Finished)
                await settled(one, ledger, row.id, "succeeded")
                third = await two.run("payer", "pay", principal=ALICE)
                [answer] = await answers(two, third.id)
                assert isinstance(answer, Succeeded)
                assert (await one.run_to_end(first.id)).open_operations == ()
                assert await one.verify() == []

    play(story, seeded=False)
    assert bank.attempts == [1]


def test_a_decision_that_comes_while_the_owner_is_dead_is_acted_on_by_the_next_one() -> None:
    bank, store = Bank("hangs after"), MemoryLedger()

    @tool(effect=write(once_per="to", recovery=manual), approve=always(scope="remit:approve"), timeout_s=5, label=TRUSTED)
    async def mail(to: str) -> str:
        """Mail.

        Args:
            to: whom
        """
        bank.paid.append(to)
        return "sent"

    def reply(body: dict[str, object]) -> object:
        return "Done." if "tool_result" in json.dumps(body["messages"]) else [call("mail", to="x"), PAY]

    pay = replace(bank.tool(reconcile(bank.look, settle_s=0.05), timeout_s=30), resources=lambda arguments: ("account",))
    mailing = replace(mail, resources=lambda arguments: ("mail",))
    agent = Agent("payer", model=ScriptedModel(reply), instructions="Pay.", tools=[mailing, pay])  # type: ignore[arg-type]

    async def story() -> None:
        run = await dies(store, agent, lambda: bool(bank.attempts))
        async with Remit(ledger=MemoryLedger(store=store)) as clerk:
            [row] = await clerk.approvals()
            await clerk.decide(row, True, by=BOB)
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent]) as second:
            ended = await second.run_to_end(run)
            assert isinstance(ended, Finished)
            assert [type(one) for one in await answers(second, run)] == [Succeeded, Succeeded]
            assert await second.verify() == []

    play(story, seeded=False)
    assert sorted(bank.paid) == ["1", "x"]


class Full(MemoryLedger):
    """Has no room for the outcome of a payment, so many times."""

    def __init__(self, *, times: int) -> None:
        super().__init__()
        self.times = times

    async def commit(self, append: Append) -> Committed:
        if self.times and any(isinstance(one.event, OperationMoved) and one.event.on == "returned" for one in append.events):
            self.times -= 1
            raise LedgerError("the disk is full", code="ledger.full")
        return await super().commit(append)


def test_where_an_outcome_cannot_be_recorded_the_run_stops_and_its_model_is_told_nothing_until_it_was_recovered() -> None:
    bank = Bank()
    agent = payer(bank.tool(reconcile(bank.look, settle_s=0.05)))

    async def story() -> None:
        async with Remit(ledger=Full(times=1), agents=[agent]) as remit:
            run = await remit.submit("payer", "pay", principal=ALICE)
            with pytest.raises(LedgerError) as stopped:
                await remit.run_to_end(run.id)
            assert stopped.value.code == "ledger.full"
            assert len(agent.model.requests) == 1, "the model was asked once, and not told what became of its call"  # type: ignore[union-attr]
            assert isinstance(await remit.run_to_end(run.id), Finished)
            [row] = await remit.operations()
            assert (row.state, row.attempt) == ("succeeded", 1)
            assert await remit.verify() == []

    play(story, seeded=False)
    assert (bank.paid, bank.attempts) == (["1"], [1])


# several writes of one turn


def test_disjoint_writes_under_way_at_a_crash_are_each_recovered_and_what_depends_on_them_starts_after_them() -> None:
    store = MemoryLedger()
    done: list[str] = []
    under_way: set[str] = set()
    dead = True

    async def look(arguments: object, ctx: object) -> object:
        return Happened("done") if arguments["name"] in done else DID_NOT  # type: ignore[index]

    @tool(
        effect=write(once_per="name", recovery=reconcile(look, settle_s=0.05)),
        approve=never,
        timeout_s=0.2,
        resources=("folder",),
        label=TRUSTED,
    )
    async def put(name: str, folder: str) -> str:
        """Put.

        Args:
            name: what
            folder: where
        """
        under_way.add(name)
        if name == "a":
            done.append(name)
        if dead:
            await asyncio.Event().wait()
        if name != "a":
            done.append(name)
        return "done"

    @tool(effect=write(once_per="name", recovery=manual), approve=never, label=TRUSTED)
    async def seal(name: str) -> str:
        """Seal all that was put.

        Args:
            name: what
        """
        assert sorted(done) == ["a", "b"], "both must have been settled before what depends on them starts"
        done.append(name)
        return "sealed"

    def reply(body: dict[str, object]) -> object:
        if "tool_result" in json.dumps(body["messages"]):
            return "Done."
        return [call("put", name="a", folder="x"), call("put", name="b", folder="y"), call("seal", name="c")]

    agent = Agent("payer", model=ScriptedModel(reply), instructions="Put.", tools=[put, seal])  # type: ignore[arg-type]

    async def story() -> None:
        nonlocal dead
        run = await dies(store, agent, lambda: under_way == {"a", "b"})
        dead = False
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent]) as second:
            assert isinstance(await second.run_to_end(run), Finished)
            assert [type(one) for one in await answers(second, run)] == [Succeeded] * 3
            rows = {json.loads(row.arguments)["name"]: row for row in await second.operations()}
            assert {name: row.attempt for name, row in rows.items()} == {"a": 1, "b": 2, "c": 1}
            assert await second.verify() == []

    play(story, seeded=False)
    assert done == ["a", "b", "c"]


def test_a_write_that_stays_unknown_after_a_crash_holds_back_what_is_not_disjoint_and_nothing_else() -> None:
    bank, store = Bank("hangs after"), MemoryLedger()
    noted: dict[str | None, str] = {}

    @tool(effect=write(once_per="text", recovery=idempotent(600)), approve=never, label=TRUSTED)
    async def note(text: str, ctx: Context[object]) -> str:
        """Note.

        Args:
            text: what
        """
        noted[ctx.operation_id] = text
        return "noted"

    def reply(body: dict[str, object]) -> object:
        if "tool_result" in json.dumps(body["messages"]):
            return "Done."
        return [PAY, call("note", text="account"), call("note", text="other")]

    pay = replace(bank.tool(manual, timeout_s=30), resources=lambda arguments: ("account",))
    noting = replace(note, resources=lambda arguments: (arguments["text"],))
    agent = Agent("payer", model=ScriptedModel(reply), instructions="Pay.", tools=[pay, noting])  # type: ignore[arg-type]

    async def story() -> None:
        run = await dies(store, agent, lambda: bool(bank.attempts) and bool(noted))
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent]) as second:
            ended = await second.run_to_end(run)
            first, same, other = await answers_by_call(second, run)
            assert isinstance(first, Unknown)
            assert (type(same).__name__, getattr(same, "code", "")) == ("NotRun", "held_back")
            assert isinstance(other, Succeeded)
            assert len(ended.open_operations) == 1
            assert await second.verify() == []

    play(story, seeded=False)
    assert list(noted.values()) == ["other"]


async def answers_by_call(remit: Remit, run: str) -> list[object]:
    """In the model's order."""
    ended = {one.event.call: one.event.outcome for one in await remit.events(run) if one.event.kind == "call.ended"}
    return [ended[name] for name in sorted(ended)]
