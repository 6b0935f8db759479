"""Running: what the owner refuses, where a caller that goes away leaves the run, and what is joined."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from behaviour.shop import ALICE, BOB, Shop, lookup_order, play, refund_tool, support, until
from remit import (
    TRUSTED,
    Agent,
    Budget,
    Conflict,
    DefinitionError,
    Finished,
    Image,
    InputError,
    MemoryLedger,
    NotFound,
    Principal,
    Remit,
    RemitError,
    ScriptedModel,
    SqliteLedger,
    Submitted,
    call,
    manual,
    never,
    tool,
    write,
)
from remit.types.event import RunStarted

REFUND = call("issue_refund", charge_id="ch_1", amount_cents=4_900)


class Held:
    """A model that replies when it is let go."""

    def __init__(self) -> None:
        self.asked = 0
        self.go = asyncio.Event()

    async def __call__(self, body: dict[str, object]) -> str:
        self.asked += 1
        await self.go.wait()
        return "Hello."


def remit_with(model: ScriptedModel, **changes: object) -> Remit:
    return Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop(), **changes)  # type: ignore[arg-type]


def test_a_run_says_how_it_stands_and_that_memory_is_not_durable() -> None:
    async def story() -> None:
        async with remit_with(ScriptedModel(["Hello."])) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            assert isinstance(run, Finished)
            assert run.answer == "Hello."
            assert not run.durable
            assert await remit.standing(run.id) == run

    play(story)


def test_a_file_is_durable_and_a_second_owner_reads_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "r.db"
        async with Remit(ledger=path, agents=[support(ScriptedModel(["Hello."]))]) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            assert run.durable
        async with Remit(ledger=str(path)) as reader:
            assert await reader.standing(run.id) == run
            assert [row.id for row in await reader.runs()] == [run.id]
            assert await reader.verify() == []

    play(story)


def test_the_default_ledger_is_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_LEDGER", str(tmp_path / "named.db"))
    run = support(ScriptedModel(["Hello."])).run_sync("hi", principal=ALICE, deps=Shop())
    assert isinstance(run, Finished)
    assert (tmp_path / "named.db").exists()


def test_else_it_is_a_file_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REMIT_LEDGER", raising=False)
    monkeypatch.chdir(tmp_path)
    support(ScriptedModel(["Hello."])).run_sync("hi", principal=ALICE)
    assert (tmp_path / "remit.db").exists()


@pytest.mark.parametrize("principal", [None, "alice"])
def test_a_missing_principal_is_an_input_error_that_says_what_to_pass(principal: object) -> None:
    async def story() -> None:
        async with remit_with(ScriptedModel([])) as remit:
            with pytest.raises(InputError, match="Principal"):
                await remit.run("support", "hi", principal=principal)  # type: ignore[arg-type]

    play(story)


def test_an_unknown_agent_is_not_found_and_the_known_ones_are_named() -> None:
    async def story() -> None:
        async with remit_with(ScriptedModel([])) as remit:
            with pytest.raises(NotFound, match="support"):
                await remit.run("suport", "hi", principal=ALICE)
            with pytest.raises(NotFound, match="agents="):
                await remit.run(Agent("other", model="anthropic:x"), "hi", principal=ALICE)

    play(story)


@pytest.mark.parametrize("changes", [{"request_id": ""}, {"conversation": ""}])
def test_empty_ids_are_refused(changes: dict[str, str]) -> None:
    async def story() -> None:
        async with remit_with(ScriptedModel([])) as remit:
            with pytest.raises(InputError):
                await remit.run("support", "hi", principal=ALICE, **changes)  # type: ignore[arg-type]
            assert await remit.runs() == []

    play(story)


def test_what_is_passed_to_remit_is_checked() -> None:
    agent = support(ScriptedModel([]))
    with pytest.raises(DefinitionError, match="support"):
        Remit(agents=[agent, support(ScriptedModel([]))])
    with pytest.raises(DefinitionError, match="list"):
        Remit(agents=agent)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError):
        Remit(agents=["support"])  # type: ignore[list-item]
    for secrets in ("abcdef", ["abc"]):
        with pytest.raises(DefinitionError, match="secrets= of Remit"):
            Remit(secrets=secrets)
    with pytest.raises(InputError):
        Remit(drain_s=-1)


def test_a_remit_that_is_not_open_says_how_to_open_it() -> None:
    async def story() -> None:
        remit = remit_with(ScriptedModel([]))
        with pytest.raises(InputError, match="async with"):
            await remit.run("support", "hi", principal=ALICE)
        async with remit:
            with pytest.raises(InputError, match="open already"):
                await remit.__aenter__()

    play(story)


def test_a_usd_budget_with_a_model_of_unknown_price_is_refused_before_anything_is_recorded() -> None:
    class Nameless(ScriptedModel):
        @property
        def identity(self) -> str:
            return "openai:no-such-model-anywhere"

    async def story() -> None:
        model = Nameless(["Hello."])
        agent = support(model, budget=Budget(usd="0.50"))
        async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
            with pytest.raises(InputError) as error:
                await remit.run("support", "hi", principal=ALICE)
            assert error.value.code == "budget.price_unknown"
            assert await remit.runs() == []
        assert model.requests == []

    play(story)


def test_submit_returns_once_the_run_exists_and_it_goes_on_in_the_background() -> None:
    async def story() -> None:
        held = Held()
        async with remit_with(ScriptedModel(held)) as remit:
            run = await remit.submit("support", "hi", principal=ALICE)
            assert isinstance(run, Submitted)
            assert isinstance((await remit.events(run.id))[0].event, RunStarted)
            assert isinstance(await remit.standing(run.id), Submitted)
            held.go.set()
            assert isinstance(await remit.run_to_end(run.id), Finished)

    play(story)


def test_a_caller_that_goes_away_does_not_cancel_the_run() -> None:
    async def story() -> None:
        held = Held()
        async with remit_with(ScriptedModel(held)) as remit:
            caller = asyncio.ensure_future(remit.run("support", "hi", principal=ALICE, request_id="r1"))
            await until(lambda: held.asked == 1)
            caller.cancel()
            await asyncio.gather(caller, return_exceptions=True)
            held.go.set()
            run = await remit.run("support", "hi", principal=ALICE, request_id="r1")
            assert isinstance(run, Finished)
            assert held.asked == 1

    play(story)


def test_one_request_id_is_one_run_however_many_ask_at_once() -> None:
    shop = Shop()

    async def story() -> None:
        store = MemoryLedger()
        model = ScriptedModel([REFUND, "Refunded."])
        async with (
            Remit(ledger=store, agents=[support(model)], deps=shop) as one,
            Remit(ledger=MemoryLedger(store=store), agents=[support(model)], deps=shop) as two,
        ):
            runs = await asyncio.gather(
                *(remit.run("support", "refund", principal=ALICE, request_id="r1") for remit in (one, two) * 5)
            )
            assert len({run.id for run in runs}) == 1
            assert all(isinstance(run, Finished) for run in runs)
            assert len(await one.runs()) == 1

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 4_900)]


def test_the_same_id_for_another_request_is_a_conflict_attachments_included() -> None:
    async def story() -> None:
        async with remit_with(ScriptedModel(lambda body: "Hello.")) as remit:
            first = await remit.run("support", ["hi", Image(b"\x89PNG1", "image/png")], principal=ALICE, request_id="r1")
            with pytest.raises(Conflict) as error:
                await remit.run("support", ["hi", Image(b"\x89PNG2", "image/png")], principal=ALICE, request_id="r1")
            assert error.value.code == "request.conflict"
            again = await remit.run("support", ["hi", Image(b"\x89PNG1", "image/png")], principal=ALICE, request_id="r1")
            assert again == first

    play(story)


def test_request_ids_of_other_subjects_tenants_and_agents_never_meet() -> None:
    others = [BOB, Principal("alice", tenant="other")]

    async def story() -> None:
        model = ScriptedModel(lambda body: "Hello.")
        agents = [support(model), Agent("second", model=model, tools=[lookup_order])]
        async with Remit(ledger=MemoryLedger(), agents=agents, deps=Shop()) as remit:
            runs = [await remit.run("support", "hi", principal=ALICE, request_id="r1")]
            runs += [await remit.run("support", "hi", principal=one, request_id="r1") for one in others]
            runs.append(await remit.run("second", "hi", principal=ALICE, request_id="r1"))
            assert len({run.id for run in runs}) == 4

    play(story)


def test_a_run_of_another_principal_is_not_found() -> None:
    async def story() -> None:
        async with remit_with(ScriptedModel(["Hello."])) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            for ask in (remit.resume, remit.standing, remit.run_to_end, remit.events):
                with pytest.raises(NotFound):
                    await ask(run.id, principal=BOB)  # type: ignore[operator]
            with pytest.raises(NotFound):
                await remit.standing("run_nowhere")

    play(story)


def test_leaving_waits_for_what_goes_on_here() -> None:
    async def story() -> None:
        held = Held()
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[support(ScriptedModel(held))], deps=Shop()) as remit:
            run = await remit.submit("support", "hi", principal=ALICE)
            asyncio.get_running_loop().call_later(0.02, held.go.set)
        async with Remit(ledger=MemoryLedger(store=store)) as reader:
            assert isinstance(await reader.standing(run.id), Finished)

    play(story, seeded=False)


def test_who_waits_when_the_owner_closes_is_told_so() -> None:
    async def story() -> None:
        held = Held()
        async with remit_with(ScriptedModel(held), drain_s=0) as remit:
            caller = asyncio.ensure_future(remit.run("support", "hi", principal=ALICE))
            await until(lambda: held.asked == 1)
        with pytest.raises(RemitError) as error:
            await caller
        assert error.value.code == "owner.closed"
        assert error.value.retryable

    play(story)


def test_secrets_of_the_owner_are_removed_from_results() -> None:
    from remit import READ, tool

    @tool(effect=READ, label=TRUSTED)
    async def leak() -> str:
        """Leak."""
        return "the key is hunter22-long"

    async def story() -> None:
        model = ScriptedModel([call("leak"), "ok"])
        async with Remit(ledger=MemoryLedger(), agents=[support(model, leak)], secrets=["hunter22-long"]) as remit:
            await remit.run("support", "hi", principal=ALICE)
        assert b"hunter22" not in b"".join(model.requests)

    play(story)


def test_every_event_is_logged_without_secrets_or_words(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        agent = support(ScriptedModel(["the words"]), secrets=["hunter22-long"])
        async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
            run = await remit.run("support", "hunter22-long", principal=ALICE, request_id="hunter22-long")
            lines = [record.message for record in caplog.records if record.name == "remit"]
            assert len(lines) == len(await remit.events(run.id))

    with caplog.at_level("INFO", logger="remit"):
        play(story)
    assert "run.started" in caplog.text
    assert "hunter22" not in caplog.text
    assert "the words" not in caplog.text


def test_a_sqlite_ledger_object_is_opened_and_closed_with_its_remit(tmp_path: Path) -> None:
    async def story() -> None:
        ledger = SqliteLedger(tmp_path / "r.db")
        async with Remit(ledger=ledger, agents=[support(ScriptedModel(["Hello."]))]) as remit:
            assert remit.ledger is ledger
            await remit.run("support", "hi", principal=ALICE)

    play(story)


def test_a_gate_is_there_for_other_loops_without_asking_a_model() -> None:
    shop = Shop()

    async def story() -> None:
        agent = Agent("support", model="anthropic:some", tools=[refund_tool()])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop) as remit:
            gate = remit.gate("support")
            for _ in range(2):
                outcome = await gate.call(
                    "issue_refund",
                    {"charge_id": "ch_1", "amount_cents": 4_900},
                    principal=ALICE,
                    run="thread-1",
                    call="c1",
                    label=TRUSTED,
                )
                assert outcome.kind == "succeeded"
            await gate.close("thread-1")
            assert not isinstance(await remit.run_to_end("thread-1"), Submitted)
            assert remit.gate("support") is gate

    from remit import TRUSTED

    play(story)
    assert shop.refunds == [("ch_1", 4_900)]


def test_a_late_success_of_a_hosts_run_is_journaled_without_another_call_and_taken_before_it_is_asked_about() -> None:
    let = threading.Event()

    @tool(effect=write(once_per="name", recovery=manual), approve=never, timeout_s=0.05, label=TRUSTED)
    def pay(name: str) -> str:
        """Pay, slowly.

        Args:
            name: whom
        """
        let.wait(5)
        return "paid"

    async def story() -> None:
        agent = support(ScriptedModel([]), pay)
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            said = await remit.gate("support").call("pay", {"name": "x"}, principal=ALICE, run="t", call="1", label=TRUSTED)
            assert said.kind == "unknown"
            assert len(await remit.recover()) == 1
            let.set()
            seen = 0
            while (await remit.operations())[0].state != "succeeded":
                seen = await remit.ledger.changed(seen, timeout_s=0.05)
            assert await remit.ledger.inbox("t") == []  # type: ignore[arg-type]
            assert await remit.recover() == []
            assert await remit.verify("t") == []

    play(story, seeded=False)
