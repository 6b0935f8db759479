"""Conversations: one run at a time, in order, for one principal and agent."""

from __future__ import annotations

import asyncio
import re

import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, lookup_order, play, refund_tool, support, until
from remit import (
    TRUSTED,
    UNTRUSTED,
    Agent,
    Conversation,
    Denied,
    Escalated,
    Finished,
    InputError,
    MemoryLedger,
    Paused,
    Principal,
    Remit,
    ScriptedModel,
    call,
    untrusted,
)
from remit.types.event import AgentChanged, MessageAppended, Replied, RunStarted

REFUND = call("issue_refund", charge_id="ch_1", amount_cents=4_900)
BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)


def texts(body: bytes) -> list[str]:
    """Which of the numbered messages a request holds, in their order."""
    return [word for word in body.decode().replace('"', " ").split() if word.startswith("message-")]


def test_each_message_starts_from_the_last_ones_words() -> None:
    async def story() -> None:
        model = ScriptedModel(["Hello.", "Again."])
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            first = await remit.run("support", "message-1", principal=ALICE, conversation="t")
            second = await remit.run("support", "message-2", principal=ALICE, conversation="t")
            assert texts(model.requests[1]) == ["message-1", "message-2"]
            started = (await remit.events(second.id))[0].event
            assert isinstance(started, RunStarted)
            assert started.after == first.id
            assert second.conversation == "t"

    play(story)


def test_messages_sent_at_once_run_one_after_the_other_and_none_is_lost() -> None:
    async def story() -> None:
        model = ScriptedModel(lambda body: "Hello.")
        store = MemoryLedger()
        async with (
            Remit(ledger=store, agents=[support(model)], deps=Shop()) as one,
            Remit(ledger=MemoryLedger(store=store), agents=[support(model)], deps=Shop()) as two,
        ):
            runs = await asyncio.gather(
                *(
                    (one, two)[number % 2].run("support", f"message-{number}", principal=ALICE, conversation="t")
                    for number in range(8)
                )
            )
            assert all(isinstance(run, Finished) for run in runs)
        for number, body in enumerate(model.requests, 1):
            assert len(texts(body)) == number
            assert texts(body)[:-1] == texts(model.requests[number - 2]) if number > 1 else True

    play(story, seeded=False)


def test_queued_messages_start_in_the_order_they_came() -> None:
    async def story() -> None:
        go = asyncio.Event()

        async def speak(body: dict[str, object]) -> str:
            await go.wait()
            return "Hello."

        model = ScriptedModel(speak)
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            runs = [
                await remit.submit("support", f"message-{number}", principal=ALICE, conversation="t") for number in range(4)
            ]
            assert [row.status for row in await remit.runs()] == ["queued", "queued", "queued", "active"]
            go.set()
            for run in runs:
                assert isinstance(await remit.run_to_end(run.id), Finished)
        assert texts(model.requests[-1]) == ["message-0", "message-1", "message-2", "message-3"]

    play(story)


def test_behind_a_paused_run_the_caller_is_told_that_it_is_queued_and_by_what() -> None:
    async def story() -> None:
        model = ScriptedModel([BIG, "Refunded.", "Hello."])
        agent = support(model, refund_tool(approve=APPROVED_ABOVE_50))
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            first = await remit.run("support", "refund", principal=ALICE, conversation="t")
            assert isinstance(first, Paused)
            second = await remit.run("support", "hi", principal=ALICE, conversation="t")
            assert isinstance(second, Paused)
            assert second.queued
            assert second.approvals == first.approvals
            assert second.id != first.id
            assert await remit.standing(second.id) == second
            await remit.decide(first.approvals[0].id, allow=False, by=BOB, reason="no")
            ended = await remit.run_to_end(second.id)
            assert isinstance(ended, Finished)

    play(story)


def test_a_queued_run_survives_its_process_with_everything_that_was_asked() -> None:
    async def story() -> None:
        store = MemoryLedger()
        model = ScriptedModel([BIG, "Refunded.", "Hello."])
        agent = support(model, refund_tool(approve=APPROVED_ABOVE_50))
        async with Remit(ledger=store, agents=[agent], deps=Shop()) as remit:
            first = await remit.run("support", "refund", principal=ALICE, conversation="t")
            assert isinstance(first, Paused)
            queued = await remit.run("support", ["message-2", untrusted("pasted")], principal=ALICE, conversation="t")
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=Shop()) as remit:
            await remit.decide(first.approvals[0].id, allow=True, by=BOB, reason="seen")
            assert isinstance(await remit.run_to_end(queued.id), Finished)
            started = (await remit.events(queued.id))[0].event
            assert isinstance(started, RunStarted)
            assert started.scopes == tuple(sorted(ALICE.scopes))
            assert not started.label.trusted

    play(story)


def test_a_conversation_of_another_principal_is_denied() -> None:
    async def story() -> None:
        model = ScriptedModel(lambda body: "Hello.")
        agents = [support(model), Agent("second", model=model, tools=[lookup_order])]
        async with Remit(ledger=MemoryLedger(), agents=agents, deps=Shop()) as remit:
            await remit.run("support", "hi", principal=ALICE, conversation="t")
            with pytest.raises(Denied):
                await remit.run("support", "hi", principal=BOB, conversation="t")
            with pytest.raises(Denied):
                await remit.run("second", "hi", principal=ALICE, conversation="t")
            assert len(await remit.runs()) == 1

    play(story)


def test_conversations_of_two_tenants_with_one_name_never_meet() -> None:
    async def story() -> None:
        model = ScriptedModel(lambda body: "Hello.")
        elsewhere = Principal("alice", tenant="other")
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            await remit.run("support", ["for acme", untrusted("pasted")], principal=ALICE, conversation="t")
            await remit.run("support", "for other", principal=elsewhere, conversation="t")
            await remit.run("support", "and again", principal=elsewhere, conversation="t")
            assert b"for other" in model.requests[-1]
            assert b"for acme" not in model.requests[-1]
            rows = await remit.ledger.runs(tenant="other")
            label = (await remit.events(rows[0].id))[0].event.label
            assert label.trusted

    play(story)


def test_the_label_of_the_context_persists() -> None:
    async def story() -> None:
        model = ScriptedModel(["Read.", REFUND])
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            await remit.run("support", ["see", untrusted("pasted")], principal=ALICE, conversation="t")
            run = await remit.run("support", "refund", principal=ALICE, conversation="t")
            assert isinstance(run, Paused)

    play(story)


def test_the_next_run_takes_todays_agent_and_says_that_it_changed() -> None:
    async def story() -> None:
        store = MemoryLedger()
        model = ScriptedModel(["Hello.", "Again.", "Once more."])
        before = support(model)
        after = support(model, lookup_order)
        async with Remit(ledger=store, agents=[before], deps=Shop()) as remit:
            await remit.run("support", "hi", principal=ALICE, conversation="t")
        async with Remit(ledger=store, agents=[after], deps=Shop()) as remit:
            second = await remit.run("support", "hi", principal=ALICE, conversation="t")
            third = await remit.run("support", "hi", principal=ALICE, conversation="t")
            (changed,) = [one.event for one in await remit.events(second.id) if isinstance(one.event, AgentChanged)]
            assert (changed.was, changed.now) == (before.digest, after.digest)
            assert not [one for one in await remit.events(third.id) if isinstance(one.event, AgentChanged)]
        assert b"issue_refund" in model.requests[0]
        assert b"issue_refund" not in model.requests[1]

    play(story)


def test_a_run_that_is_resumed_keeps_the_tools_and_words_that_it_was_given() -> None:
    async def story() -> None:
        store = MemoryLedger()
        model = ScriptedModel([[BIG], "Done."])
        before = support(model, refund_tool(approve=APPROVED_ABOVE_50))
        after = support(model, lookup_order)
        async with Remit(ledger=store, agents=[before], deps=Shop()) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
        async with Remit(ledger=store, agents=[after], deps=Shop()) as remit:
            await remit.decide(run.approvals[0].id, allow=True, by=BOB, reason="seen")
            assert isinstance(await remit.run_to_end(run.id), Finished)
        assert model.requests[1].startswith(model.requests[0][:200])

    play(story)


def test_a_history_from_elsewhere_goes_first_and_is_untrusted() -> None:
    history = [{"role": "user", "content": "message-1"}, {"role": "assistant", "content": "message-2"}]

    async def story() -> None:
        model = ScriptedModel([REFUND, "Hello."])
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            loaded = Conversation.load(history, id="t")  # type: ignore[arg-type]
            run = await remit.run("support", "message-3", principal=ALICE, conversation=loaded)
            assert isinstance(run, Paused)
            assert texts(model.requests[0]) == ["message-1", "message-2", "message-3"]
            imported = [
                one.event
                for one in await remit.events(run.id)
                if isinstance(one.event, MessageAppended) and one.event.source == "imported"
            ]
            assert imported
            assert all(one.label == UNTRUSTED for one in imported)
            await remit.decide(run.approvals[0].id, allow=False, by=BOB, reason="no")
            await remit.run_to_end(run.id)
            with pytest.raises(InputError, match="new conversation"):
                await remit.run("support", "more", principal=ALICE, conversation=loaded)

    play(story)


def test_a_model_of_another_protocol_does_not_go_on_with_a_conversation() -> None:
    async def story() -> None:
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[support(ScriptedModel(["Hello."]))], deps=Shop()) as remit:
            await remit.run("support", "hi", principal=ALICE, conversation="t")
        other = support(ScriptedModel(["Hello."], protocol="openai-chat"))
        async with Remit(ledger=store, agents=[other], deps=Shop()) as remit:
            with pytest.raises(InputError) as error:
                await remit.run("support", "hi", principal=ALICE, conversation="t")
            assert error.value.code == "conversation.protocol"

    play(story)


def test_the_conversation_is_free_for_others_after_a_crash_of_its_holder() -> None:
    async def story() -> None:
        store = MemoryLedger()
        asked = 0

        async def hang(body: dict[str, object]) -> str:
            nonlocal asked
            asked += 1
            await asyncio.Event().wait()
            return ""

        async with Remit(ledger=store, agents=[support(ScriptedModel(hang))], deps=Shop(), drain_s=0) as remit:
            first = await remit.submit("support", "message-1", principal=ALICE, conversation="t")
            await until(lambda: asked == 1)
        model = ScriptedModel(["Hello.", "Again."])
        async with Remit(ledger=MemoryLedger(store=store), agents=[support(model)], deps=Shop()) as remit:
            second = await remit.run("support", "message-2", principal=ALICE, conversation="t")
            assert isinstance(second, Finished)
            assert isinstance(await remit.standing(first.id), Finished)

    play(story, seeded=False)


def test_a_message_that_waited_for_a_conversation_of_another_protocol_is_ended_and_those_behind_it_too() -> None:
    async def story() -> None:
        store = MemoryLedger()
        asked = asyncio.Event()

        async def hang(body: dict[str, object]) -> str:
            asked.set()
            await asyncio.Event().wait()
            return ""

        async with Remit(ledger=store, agents=[support(ScriptedModel(hang))], deps=Shop(), drain_s=0) as remit:
            first = await remit.submit("support", "message-1", principal=ALICE, conversation="t")
            await asked.wait()
            waiting = [await remit.submit("support", words, principal=ALICE, conversation="t") for words in ("2", "3")]
        other = support(ScriptedModel(["Hello."], protocol="openai-chat"))
        async with Remit(ledger=MemoryLedger(store=store), agents=[other], deps=Shop()) as remit:
            await remit.cancel(first.id, by=ALICE)
            for run in waiting:
                ended = await remit.run_to_end(run.id, principal=ALICE)
                assert isinstance(ended, Escalated)
                assert ended.reason == "conversation.protocol"
            assert await remit.runs(status=["queued"]) == []
            assert await remit.verify() == []

    play(story, seeded=False)


@pytest.mark.parametrize("protocol", ["anthropic", "openai-chat", "openai-responses"])
def test_an_id_that_an_imported_history_has_used_is_not_used_again(protocol: str) -> None:
    history = {
        "anthropic": [
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "call_1", "name": "lookup_order", "input": {"order_id": "A-1"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "it is there"}]},
            {"role": "assistant", "content": "It is there."},
        ],
        "openai-chat": [
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "lookup_order", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "it is there"},
            {"role": "assistant", "content": "It is there."},
        ],
        "openai-responses": [
            {"role": "user", "content": "look"},
            {"type": "function_call", "call_id": "call_1", "name": "lookup_order", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "it is there"},
        ],
    }[protocol]
    again = call("lookup_order", order_id="A-2").with_id("call_1")

    async def story() -> None:
        agent = support(ScriptedModel([again, "Here."], protocol=protocol))  # type: ignore[arg-type]
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            loaded = Conversation.load(history, id="t", label=TRUSTED)  # type: ignore[arg-type]
            run = await remit.run("support", "again", principal=ALICE, conversation=loaded)
            assert isinstance(run, Finished)
            (mend,) = [mend for one in await remit.events(run.id) if isinstance(one.event, Replied) for mend in one.event.mends]
            assert (mend.kind, mend.was) == ("id.duplicate", "call_1")

    play(story)


def test_a_process_that_knows_a_conversation_goes_on_with_the_same_words_as_one_that_reads_it_anew() -> None:
    async def talk(store: MemoryLedger, model: ScriptedModel, *, anew: bool) -> None:
        agent = support(model, refund_tool(), lookup_order, on_wait="answer")
        remits = [Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=Shop()) for _ in range(4 if anew else 1)]
        for number in range(4):
            remit = remits[number if anew else 0]
            if anew or not number:
                await remit.__aenter__()
            await remit.run("support", f"message-{number}", principal=ALICE, conversation="t")
            await remit.run("support", "elsewhere", principal=ALICE, conversation="u")
            if anew or number == 3:
                await remit.__aexit__(None, None, None)

    def answers(body: dict[str, object]) -> object:
        return "Done." if "tool_result" in str(body["messages"][-1]) else REFUND  # type: ignore[index]

    def bodies(*, anew: bool) -> list[bytes]:
        model = ScriptedModel(answers)  # type: ignore[arg-type]
        play(lambda: talk(MemoryLedger(), model, anew=anew))
        return [re.sub(rb"op_\w+", b"op", body) for body in model.requests]

    assert bodies(anew=False) == bodies(anew=True)


def test_a_conversation_that_went_on_in_another_process_is_read_from_there() -> None:
    async def story() -> None:
        store, model = MemoryLedger(), ScriptedModel(lambda _: "Hello.")
        async with (
            Remit(ledger=store, agents=[support(model)], deps=Shop()) as one,
            Remit(ledger=MemoryLedger(store=store), agents=[support(model)], deps=Shop()) as other,
        ):
            for number, remit in enumerate((one, other, other, one, other), start=1):
                await remit.run("support", f"message-{number}", principal=ALICE, conversation="t")
                assert texts(model.requests[-1]) == [f"message-{one}" for one in range(1, number + 1)]

    play(story)


def test_of_many_conversations_the_oldest_known_are_forgotten_and_read_again() -> None:
    async def story() -> None:
        model = ScriptedModel(lambda _: "Hello.")
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            for number in (1, 2):
                for name in range(70):
                    await remit.run("support", f"message-{number}", principal=ALICE, conversation=f"t{name}")
                    assert texts(model.requests[-1]) == [f"message-{one}" for one in range(1, number + 1)]

    play(story)
