"""Forgetting and compacting: the words are gone from the file, what proves and protects stays, and a repeat is a repeat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import apsw
import pytest

from ledger.support import Pen, ended, moved, operation
from remit import (
    RUN,
    TRUSTED,
    Agent,
    Budget,
    File,
    Finished,
    MemoryLedger,
    Paused,
    Principal,
    Refused,
    Remit,
    ScriptedModel,
    SqliteLedger,
    Succeeded,
    always,
    ambient,
    call,
    manual,
    never,
    tool,
    untrusted,
    write,
)
from remit.errors import Conflict, InputError, KeyTaken, NotFound
from remit.types.change import OpenOperation
from remit.types.delivery import CancelRun, LateReport
from remit.types.event import CallEnded
from remit.types.ident import ConversationId, RunId
from remit.types.stream import Delta

ALICE, BOB = Principal("alice", "acme"), Principal("bob", "acme", frozenset({"remit:approve"}))
CANARY = "canary-4711-goldfinch"


@tool(effect=write(once_per="charge_id", recovery=manual), approve=never, label=TRUSTED)
async def refund(charge_id: str, note: str) -> dict[str, str]:
    """Refund a charge.

    Args:
        charge_id: which
        note: why
    """
    if "lost" in note:
        raise ConnectionError(f"no answer, {CANARY}")
    return {"receipt": f"{CANARY}-receipt-{note}", "long": "x" * 200}


@tool(effect=write(once_per=RUN, recovery=manual), approve=always(scope="remit:approve"), label=TRUSTED, max_result_chars=50)
async def letter(text: str) -> str:
    """Send a letter.

    Args:
        text: what it says
    """
    return f"{CANARY}-sent-{text}" * 20


def reply(body: dict[str, object]) -> object:
    messages = body["messages"]
    assert isinstance(messages, list)
    last = str(messages[-1])
    if "tool_result" in last:
        return f"Done, {CANARY}."
    if "letter" in last:
        return call("letter", text=f"{CANARY}-letter")
    charge = last.split("charge ")[1].split()[0]
    return call("refund", charge_id=charge, note=f"{CANARY}-{last.split('note ')[1].split()[0].strip(chr(39)).rstrip('}]')}")


support = Agent("support", model=ScriptedModel(reply), instructions="Help.", tools=[refund, letter], budget=Budget(turns=9))


def told(kind: str, tmp_path: Path, story: Callable[[Remit], Coroutine[object, object, None]]) -> None:
    async def whole() -> None:
        ledger = MemoryLedger() if kind == "memory" else SqliteLedger(tmp_path / "remit.db")
        async with Remit(ledger=ledger, agents=[support]) as remit:
            await story(remit)
            assert await remit.verify() == []

    asyncio.run(whole())


@pytest.fixture(params=["memory", "sqlite"])
def tell(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[[Callable[[Remit], Coroutine[object, object, None]]], None]:
    return lambda story: told(request.param, tmp_path, story)


Tell = Callable[[Callable[[Remit], Coroutine[object, object, None]]], None]


async def asked(remit: Remit, text: str, **more: object) -> Finished:
    run = await remit.run("support", text, principal=ALICE, **more)  # type: ignore[arg-type]
    assert isinstance(run, Finished)
    return run


async def outcome(remit: Remit, run: str) -> object:
    return [one.event.outcome for one in await remit.events(run) if isinstance(one.event, CallEnded)][-1]


def whole(path: Path) -> bytes:
    """All that lies beside the ledger's file, and itself."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.rglob("*")) if one.is_file())


def test_no_word_of_it_is_left_in_the_file_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    async def story(remit: Remit) -> None:
        other = await asked(remit, "charge ch_2 note other")
        attached = File(b"%PDF-1.4 " + CANARY.encode(), "application/pdf", "bill.pdf")
        pasted = untrusted(f"a letter, please: {CANARY}", source=f"mail of {CANARY}")
        run = await remit.run("support", [pasted, attached], principal=ALICE, request_id="r1")
        assert isinstance(run, Paused)
        await remit.decide(run.approvals[0], True, by=BOB, reason=CANARY)
        assert isinstance(await remit.run_to_end(run.id), Finished)
        head = await remit.heads()
        digests = [text for row in await remit.operations() for text in (row.key, row.arguments_digest)]
        assert CANARY.encode() in whole(tmp_path / "remit.db")
        would = await remit.forget(other.id, by="dana", reason="asked for", dry_run=True)
        assert (would.runs, would.done) == ((other.id,), False)
        for one in (run.id, other.id):
            report = await remit.forget(one, by="dana", reason="asked for")
            assert (report.runs, report.done, report.scrubbed) == ((one,), True, True)
        assert report.operations == would.operations == 1
        assert CANARY.encode() not in whole(tmp_path / "remit.db")
        assert not [one for one in digests if one.encode() in whole(tmp_path / "remit.db")]
        assert await remit.verify(head=head) == []
        states = [(one.tool, one.state) for one in await remit.operations()]
        assert sorted(states) == [("letter", "succeeded"), ("refund", "succeeded")]
        assert all(row.forgotten_ms for row in await remit.runs())

    told("sqlite", tmp_path, story)
    assert CANARY.encode() not in whole(tmp_path / "remit.db")


def test_what_a_process_that_died_was_hearing_of_a_model_is_gone_with_the_run(tmp_path: Path) -> None:
    async def story(remit: Remit) -> None:
        run = await asked(remit, "charge ch_1 note one")
        dead = SqliteLedger(tmp_path / "remit.db")
        await dead.open()
        heard = Delta(run=run.id, after=1, turn=1, attempt=1, index=0, kind="text", text=f"Dear {CANARY}")
        dead.publish_deltas([heard])
        dead.abandon()
        await remit.forget(run.id, by="dana", reason="asked for", dry_run=True)
        assert CANARY.encode() in beside(tmp_path)
        await remit.forget(run.id, by="dana", reason="asked for")
        assert CANARY.encode() not in beside(tmp_path)

    def beside(folder: Path) -> bytes:
        return b"".join(one.read_bytes() for one in (folder / "remit.db-deltas").iterdir())

    told("sqlite", tmp_path, story)


def test_while_somebody_reads_it_says_that_old_bytes_are_left_and_the_same_again_removes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.ledger.schema.BUSY_MS", 50)

    async def story(remit: Remit) -> None:
        run = await asked(remit, f"charge ch_1 note {CANARY}")
        reader = apsw.Connection(str(tmp_path / "remit.db"))
        reader.execute("BEGIN")
        assert list(reader.execute("SELECT count(*) FROM remit_payload"))
        report = await remit.forget(run.id, by="dana", reason="asked for")
        assert (report.done, report.scrubbed) == (True, False)
        reader.close()
        assert (await remit.forget(run.id, by="dana", reason="again")).scrubbed
        assert CANARY.encode() not in whole(tmp_path / "remit.db")

    told("sqlite", tmp_path, story)


class Cut(ambient.Machine):
    """The process ends once the words are out of the tables."""

    def reach(self, point: str) -> None:
        if point == "forget.written":
            raise OSError("the process ends here")


def test_cut_off_before_the_file_was_written_anew_the_same_again_does_it(tmp_path: Path) -> None:
    async def story(remit: Remit) -> None:
        run = await asked(remit, f"charge ch_1 note {CANARY}")
        with ambient.use(Cut()), pytest.raises(OSError, match="ends here"):
            await remit.forget(run.id, by="dana", reason="asked for")
        with pytest.raises(NotFound):
            await remit.events(run.id)
        assert (await remit.forget(run.id, by="dana", reason="again")).scrubbed
        assert CANARY.encode() not in whole(tmp_path / "remit.db")

    told("sqlite", tmp_path, story)


@pytest.mark.parametrize("sql", ["UPDATE remit_run SET forgotten_ms = 1", "UPDATE remit_run SET forgotten_ms = NULL"])
def test_that_a_run_was_forgotten_is_believed_of_its_chain_alone(tmp_path: Path, sql: str) -> None:
    async def story() -> None:
        async with Remit(ledger=tmp_path / "remit.db", agents=[support]) as remit:
            run = await asked(remit, "charge ch_1 note a")
            if "NULL" in sql:
                await remit.forget(run.id, by="dana", reason="asked for")
            db = apsw.Connection(str(tmp_path / "remit.db"))
            db.execute(sql)
            db.close()
            assert any("do not agree on whether it was forgotten" in fault for fault in await remit.verify())

    asyncio.run(story())


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE remit_operation SET state = 'failed'",
        "UPDATE remit_operation SET key = 'hmac:' || hex(zeroblob(32))",
        "UPDATE remit_operation SET settled_by = 'by:mallory'",
        "DELETE FROM remit_operation",
        "UPDATE remit_approval SET decided_by = 'mallory'",
        "DELETE FROM remit_approval",
        "UPDATE remit_run SET request_id = 'another'",
        "UPDATE remit_run SET subject = 'mallory'",
        "UPDATE remit_secret SET secret = zeroblob(32)",
        "DELETE FROM remit_secret",
    ],
)
def test_what_stays_of_a_run_that_was_forgotten_cannot_be_altered_unseen(tmp_path: Path, sql: str) -> None:
    async def story() -> None:
        async with Remit(ledger=tmp_path / "remit.db", agents=[support]) as remit:
            run = await remit.run("support", "a letter, please", principal=ALICE, request_id="r1")
            assert isinstance(run, Paused)
            await remit.decide(run.approvals[0], True, by=BOB)
            assert isinstance(await remit.run_to_end(run.id), Finished)
            await remit.forget(run.id, by="dana", reason="asked for")
            await remit.compact()
            assert await remit.verify() == []
            db = apsw.Connection(str(tmp_path / "remit.db"))
            db.execute(sql)
            db.close()
            assert await remit.verify() == await remit.verify(run.id)
            [said] = await remit.verify()
            assert "are not as they were when it was forgotten" in said

    asyncio.run(story())


def test_what_another_run_refers_to_as_well_is_kept(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        picture = File(b"%PDF-1.4 the same", "application/pdf", "bill.pdf")
        first = await asked(remit, ["charge ch_1 note a", picture])  # type: ignore[arg-type]
        second = await asked(remit, ["charge ch_2 note b", picture])  # type: ignore[arg-type]
        assert (await remit.forget(first.id, by="dana", reason="asked for")).blobs == 0
        assert (await remit.forget(second.id, by="dana", reason="asked for")).blobs == 1

    tell(story)


def test_a_file_that_a_run_in_the_queue_will_need_is_kept(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        attached = File(b"%PDF-1.4 bill", "application/pdf", "bill.pdf")
        first = await remit.run("support", ["charge ch_1 note a ", attached], principal=ALICE)
        queued = await remit.submit("support", ["charge ch_2 note b ", attached], principal=ALICE)
        assert (await remit.forget(first.id, by="dana", reason="asked for")).blobs == 0
        assert isinstance(await remit.run_to_end(queued.id), Finished)
        assert (await remit.forget(queued.id, by="dana", reason="asked for")).blobs == 1

    tell(story)


def test_a_repeat_is_still_a_repeat_and_a_conflict_still_a_conflict(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        first = await asked(remit, "charge ch_1 note a")
        [row] = await remit.operations()
        await remit.forget(first.id, by="dana", reason="asked for")
        [hidden] = await remit.operations()
        assert (hidden.id, hidden.state, hidden.outcome, hidden.forgotten) == (row.id, "succeeded", None, True)
        assert hidden.key != row.key
        assert hidden.arguments_digest != row.arguments_digest
        again = await outcome(remit, (await asked(remit, "charge ch_1 note a")).id)
        assert isinstance(again, Succeeded)
        assert (again.repeat, again.shown) == (True, "done already; its result was forgotten")
        other = await outcome(remit, (await asked(remit, "charge ch_1 note b")).id)
        assert isinstance(other, Refused)
        assert (other.code, other.fields) == ("conflict", ())
        assert len(await remit.operations()) == 1

    tell(story)


def test_whoever_reads_it_is_told_that_it_was_forgotten_and_why(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        run = await asked(remit, "charge ch_1 note a", request_id="r1")
        await remit.forget(run.id, by=BOB, reason="she asked for it")

        async def followed() -> None:
            async for _ in remit.follow(run.id):
                pass

        for read in (
            lambda: remit.events(run.id),
            lambda: remit.resume(run.id, ALICE),
            lambda: remit.standing(run.id),
            lambda: remit.run("support", "charge ch_1 note a", principal=ALICE, request_id="r1"),
            lambda: remit.ledger.request(run.id),
            followed,
        ):
            with pytest.raises(NotFound, match=r"forgotten.*bob.*she asked for it") as caught:
                await read()  # type: ignore[operator]
            assert caught.value.code == "run.forgotten"
        with pytest.raises(Conflict, match="another request"):
            await remit.run("support", "charge ch_9 note z", principal=ALICE, request_id="r1")
        again = await remit.forget(run.id, by="dana", reason="twice")
        assert again.runs == ()

    tell(story)


def test_what_is_open_or_asked_about_is_not_forgotten(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        lost = await remit.run("support", "charge ch_1 note lost", principal=ALICE)
        waits = await remit.run("support", "a letter", principal=ALICE)
        assert isinstance(waits, Paused)
        for run, code in ((lost.id, "forget.open"), (waits.id, "forget.running")):
            with pytest.raises(Conflict) as caught:
                await remit.forget(run, by="dana", reason="asked for")
            assert caught.value.code == code
        [row] = await remit.operations(state=("unknown",))
        await remit.settle(row.id, False, by=BOB, reason="looked")
        await remit.cancel(waits.id, by=ALICE)
        await remit.run_to_end(waits.id)
        for run in (lost.id, waits.id):
            assert (await remit.forget(run, by="dana", reason="asked for")).done
        with pytest.raises(NotFound):
            await remit.forget("run_none", by="dana", reason="asked for")
        for by, reason in (("", "x"), ("x", " ")):
            with pytest.raises(InputError):
                await remit.forget(lost.id, by=by, reason=reason)

    tell(story)


def test_a_run_with_news_that_nobody_has_taken_up_is_not_forgotten(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        run = await asked(remit, "charge ch_1 note a")
        [row] = await remit.operations(run=run.id)
        await remit.ledger.post(run.id, LateReport(operation=row.id, attempt=1, outcome=Succeeded(value="late")))
        with pytest.raises(Conflict) as caught:
            await remit.forget(run.id, by="dana", reason="asked for")
        assert caught.value.code == "forget.waiting"
        await remit.run_to_end(run.id)
        assert (await remit.forget(run.id, by="dana", reason="asked for")).done

    tell(story)


@pytest.mark.parametrize("same", [True, False])
def test_of_two_who_forget_at_once_the_second_is_told_to_try_again(tell: Tell, same: bool) -> None:
    async def story(remit: Remit) -> None:
        one, other = await asked(remit, "charge ch_1 note a"), await asked(remit, "charge ch_2 note b")
        second = one.id if same else other.id
        done, late = await asyncio.gather(
            *(remit.forget(run, by="dana", reason="asked for") for run in (one.id, second)), return_exceptions=True
        )
        assert not isinstance(done, BaseException)
        assert isinstance(late, Conflict)
        assert (late.code, late.retryable) == ("forget.moved", True)
        assert [row.run for row in await remit.operations() if row.forgotten] == [one.id]
        assert (await remit.forget(second, by="dana", reason="asked for")).runs == (() if same else (other.id,))

    tell(story)


def test_whoever_did_not_look_before_still_finds_the_key_taken(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        run = await asked(remit, "charge ch_1 note a")
        [row] = await remit.operations(run=run.id)
        await remit.forget(run.id, by="dana", reason="asked for")
        pen = Pen(remit.ledger, RunId("run_other"))  # type: ignore[arg-type]
        await pen.start()
        opened = operation(run=pen.run, root=pen.run, key=row.key)
        with pytest.raises(KeyTaken):
            await pen.write(moved(opened, "allowed"), changes=(OpenOperation(opened),))
        await pen.write(ended(), status="ended", release=True)

    tell(story)


def test_a_run_that_was_forgotten_takes_no_news(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        run = await asked(remit, "charge ch_1 note a")
        await remit.forget(run.id, by="dana", reason="asked for")
        with pytest.raises(NotFound) as caught:
            await remit.ledger.post(RunId(run.id), CancelRun(by=CANARY))
        assert caught.value.code == "run.forgotten"

    tell(story)


def test_those_of_another_tenant_forget_nothing(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        run = await asked(remit, "charge ch_1 note a")
        with pytest.raises(NotFound):
            await remit.forget(run.id, by=Principal("eve", "other"), reason="asked for")
        assert await remit.events(run.id)

    tell(story)


def test_a_run_is_forgotten_with_those_that_answered_its_calls_and_they_not_without_it(tmp_path: Path) -> None:
    def delegates(body: dict[str, object]) -> object:
        last = str(body["messages"][-1])  # type: ignore[index]
        return "Done." if "tool_result" in last else call("support", task=f"charge ch_1 note {CANARY}")

    boss = Agent("boss", model=ScriptedModel(delegates), tools=[support.as_tool(description="Refunds charges.")])

    async def story() -> None:
        async with Remit(ledger=tmp_path / "remit.db", agents=[boss]) as remit:
            run = await remit.run("boss", "please", principal=ALICE)
            [child] = await remit.ledger.runs(parent=run.id)  # type: ignore[arg-type]
            with pytest.raises(Conflict) as caught:
                await remit.forget(child.id, by="dana", reason="asked for")
            assert caught.value.code == "forget.child"
            assert (await remit.forget(run.id, by="dana", reason="asked for")).runs == (run.id, child.id)
            assert await remit.verify() == []
            assert await remit.verify(child.id) == []

    asyncio.run(story())
    assert CANARY.encode() not in whole(tmp_path / "remit.db")


def test_a_conversation_is_forgotten_whole_or_not_and_starts_empty_afterwards(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        first = await asked(remit, "charge ch_1 note a", conversation="c1")
        second = await asked(remit, "charge ch_2 note b", conversation="c1")
        with pytest.raises(Conflict, match="one of 2") as caught:
            await remit.forget(first.id, by="dana", reason="asked for")
        assert caught.value.code == "forget.conversation"
        report = await remit.forget(second.id, by="dana", reason="asked for", conversation=True)
        assert report.runs == (first.id, second.id)
        third = await asked(remit, "charge ch_3 note c", conversation="c1")
        [words] = [one.event for one in await remit.events(third.id) if one.event.kind == "message.appended"]
        assert "ch_3" in str(words)
        assert {one.run for one in await remit.ledger.transcript(third.conversation, tenant="acme")} == {third.id}  # type: ignore[arg-type]
        with pytest.raises(Conflict):
            await remit.forget(third.id, by="dana", reason="asked for")
        assert (await remit.forget(third.id, by="dana", reason="asked for", conversation=True)).runs == (third.id,)

    tell(story)


def test_news_that_a_conversation_was_never_told_goes_with_it(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        run = await asked(remit, "charge ch_1 note lost", conversation="c1")
        [row] = await remit.operations(run=run.id)
        await remit.settle(row.id, True, by="dana", reason="seen at the bank", result={"receipt": CANARY})
        await remit.run_to_end(run.id)
        assert CANARY in str([one.evidence for one in await remit.operations()])
        assert CANARY in str(await remit.ledger.notices(ConversationId("c1"), tenant="acme"))
        await remit.forget(run.id, by="dana", reason="asked for", conversation=True)
        assert await remit.ledger.notices(ConversationId("c1"), tenant="acme") == []
        assert CANARY not in str(await remit.operations())

    tell(story)


def test_compacted_runs_read_the_same_and_still_verify(tell: Tell) -> None:
    async def story(remit: Remit) -> None:
        runs = [await asked(remit, f"charge ch_{n} note {n}") for n in range(12)]
        before = [await remit.events(run.id) for run in runs]
        head = await remit.heads()
        none = await remit.compact(older_than_s=3600)
        assert (none.runs, none.payloads) == (0, 0)
        would = await remit.compact(dry_run=True)
        done = await remit.compact()
        assert (would.done, done.done) == (False, True)
        assert (done.runs, done.payloads, done.before, done.after) == (12, would.payloads, would.before, would.after)
        assert done.after < done.before * 0.7
        assert (await remit.compact()).payloads == 0
        assert [await remit.events(run.id) for run in runs] == before
        assert await remit.verify(head=head) == []
        again = await outcome(remit, (await asked(remit, "charge ch_1 note 1")).id)
        assert isinstance(again, Succeeded)
        assert again.repeat
        assert (await remit.forget(runs[3].id, by="dana", reason="asked for")).done
        with pytest.raises(NotFound):
            await remit.events(runs[3].id)

    tell(story)


def test_only_what_is_left_of_processes_that_ended_is_removed(tmp_path: Path) -> None:
    async def story(remit: Remit) -> None:
        other = SqliteLedger(tmp_path / "remit.db")
        await other.open()
        assert (await remit.compact()).owners == 0
        await other.aclose()
        assert (await remit.compact()).owners == 1

    told("sqlite", tmp_path, story)


def test_the_file_is_smaller_when_it_was_compacted(tmp_path: Path) -> None:
    async def story(remit: Remit) -> None:
        for n in range(40):
            await asked(remit, f"charge ch_{n} note {n}")
        done = await remit.compact()
        assert done.file_after < done.file_before

    told("sqlite", tmp_path, story)
