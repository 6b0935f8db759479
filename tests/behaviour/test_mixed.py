"""Replies that wait for the provider's own calls: what may be said before they go on, and what waits."""

from __future__ import annotations

import json

import pytest

from behaviour.shop import ALICE, Shop, lookup_order, play, support
from remit import (
    CALL,
    TRUSTED,
    Budget,
    Context,
    Finished,
    MemoryLedger,
    Remit,
    ScriptedModel,
    Stopped,
    call,
    manual,
    never,
    tool,
    write,
)
from remit.types.event import MessageAppended, ModelRequested, RunStarted

pytestmark = pytest.mark.usefixtures("both_ways")
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
USAGE = {"input_tokens": 10, "output_tokens": 5}
SEARCHES = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "refunds"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
LOOKS = {"type": "tool_use", "id": "toolu_1", "name": "lookup_order", "input": {"order_id": "A-1"}}


def body(stop: str, *content: dict[str, object]) -> bytes:
    return json.dumps(
        {"type": "message", "role": "assistant", "content": content, "stop_reason": stop, "usage": USAGE}
    ).encode()


def text(said: str) -> dict[str, object]:
    return {"type": "text", "text": said}


def messages(model: ScriptedModel, number: int) -> list[dict[str, object]]:
    return json.loads(model.requests[number])["messages"]


def is_answers_only(message: dict[str, object]) -> bool:
    content = message["content"]
    return isinstance(content, list) and all(one["type"] == "tool_result" for one in content)


def test_a_mixed_turn_is_answered_with_results_only() -> None:
    model = ScriptedModel([body("tool_use", LOOKS, SEARCHES), body("end_turn", FOUND, text("Done."))])

    async def story() -> None:
        agent = support(model, lookup_order, server_tools=[SEARCH])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)
            assert run.answer == "Done."

    play(story)
    last = messages(model, 1)[-1]
    assert last["role"] == "user"
    assert is_answers_only(last)


def test_a_settlement_during_a_mixed_turn_is_told_after_it() -> None:
    sent: list[str] = []

    @tool(effect=write(once_per=CALL, recovery=manual), timeout_s=0.05, approve=never, label=TRUSTED)
    async def post(text: str, ctx: Context[object]) -> str:
        """Post.

        Args:
            text: what
        """
        sent.append(text)
        raise RuntimeError("lost")

    remit_of: list[Remit] = []

    async def mixed(asked: dict[str, object]) -> bytes:
        (row,) = await remit_of[0].operations(state=["unknown"])
        await remit_of[0].settle(row.id, True, by="carol", reason="seen")
        return body("tool_use", LOOKS, SEARCHES)

    found = body("tool_use", FOUND, {**LOOKS, "id": "toolu_2"})
    model = ScriptedModel([call("post", text="hi"), "Unknown.", mixed, found, "It was posted."])

    async def story() -> None:
        agent = support(model, lookup_order, post, server_tools=[SEARCH])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            remit_of.append(remit)
            await remit.run("support", "post", principal=ALICE, conversation="t")
            run = await remit.run("support", "look", principal=ALICE, conversation="t")
            assert isinstance(run, Finished)

    play(story, seeded=False)
    assert is_answers_only(messages(model, 3)[-1])
    assert "become known" not in model.requests[3].decode()
    assert "become known" in model.requests[4].decode()


@pytest.mark.parametrize("content", [(SEARCHES,), (text("Searching."),)])
def test_a_pause_goes_on_unchanged_and_counts_as_a_turn(content: tuple[dict[str, object], ...]) -> None:
    model = ScriptedModel([body("pause_turn", *content), body("end_turn", FOUND, text("Done."))])

    async def story() -> None:
        agent = support(model, lookup_order, server_tools=[SEARCH])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)

    play(story)
    assert messages(model, 1)[-1] == {"role": "assistant", "content": list(content)}


def test_a_provider_that_pauses_without_end_is_stopped_by_the_turns() -> None:
    model = ScriptedModel(lambda _: body("pause_turn", SEARCHES))

    async def story() -> None:
        agent = support(model, lookup_order, server_tools=[SEARCH], budget=Budget(turns=3))
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Stopped)
            assert run.reason == "budget.turns"

    play(story)
    assert len(model.requests) == 3


def test_a_compaction_goes_on_unchanged() -> None:
    block = {"type": "compaction", "content": "What was said before.", "encrypted_content": "abc"}
    model = ScriptedModel([body("compaction", block), body("end_turn", text("Done."))])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            assert isinstance(await remit.run("support", "look", principal=ALICE), Finished)

    play(story)
    assert messages(model, 1)[-1] == {"role": "assistant", "content": [block]}


@pytest.mark.parametrize(
    "reply", [body("tool_use", LOOKS, SEARCHES), body("pause_turn", SEARCHES)], ids=["mixed turn", "pause"]
)
def test_the_conversations_next_message_waits_for_what_the_last_reply_left_open(reply: bytes) -> None:
    model = ScriptedModel([reply, body("end_turn", FOUND, text("Searched.")), "And hello."])

    async def story() -> None:
        agent = support(model, lookup_order, server_tools=[SEARCH], budget=Budget(turns=1))
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[agent], deps=Shop()) as remit:
            first = await remit.run("support", "look", principal=ALICE, conversation="t")
            assert isinstance(first, Stopped)
        agent = support(model, lookup_order, server_tools=[SEARCH])
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=Shop()) as remit:
            second = await remit.run("support", "hello?", principal=ALICE, conversation="t")
            assert isinstance(second, Finished)
            assert second.answer == "And hello."
            events = [one.event for one in await remit.events(second.id)]
            assert isinstance(events[0], RunStarted)
            assert events[0].answers_only
            assert [one.source for one in events if isinstance(one, MessageAppended)] == ["user"]
            assert len([one for one in events if isinstance(one, ModelRequested)]) == 2

    play(story)
    first, second, third = (messages(model, number) for number in range(3))
    assert second[0] == first[0]
    assert "hello?" not in json.dumps(second)
    assert second[-1]["role"] == "assistant" or is_answers_only(second[-1])
    assert third[: len(second)] == second
    assert third[len(second)]["role"] == "assistant"
    assert "hello?" in json.dumps(third[len(second) + 1])


def test_a_message_that_was_held_back_is_there_after_a_crash_too() -> None:
    model = ScriptedModel([body("pause_turn", SEARCHES), body("end_turn", FOUND, text("Searched.")), "And hello."])

    async def story() -> None:
        store = MemoryLedger()
        limited = support(model, lookup_order, server_tools=[SEARCH], budget=Budget(turns=1))
        for words in ("look", "hello?"):
            async with Remit(ledger=MemoryLedger(store=store), agents=[limited], deps=Shop()) as remit:
                run = await remit.run("support", words, principal=ALICE, conversation="t")
                assert isinstance(run, Stopped)
        agent = support(model, lookup_order, server_tools=[SEARCH])
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "still there?", principal=ALICE, conversation="t")
            assert isinstance(run, Finished)

    play(story)
    said = json.dumps(messages(model, 2))
    assert said.index("Searched.") < said.index("hello?") < said.index("still there?")


@pytest.mark.parametrize(
    "reply", [body("tool_use", LOOKS, SEARCHES), body("pause_turn", SEARCHES)], ids=["mixed turn", "pause"]
)
def test_a_message_that_was_held_back_never_stands_between_calls_and_their_results(reply: bytes) -> None:
    looks_on = body("tool_use", FOUND, {**LOOKS, "id": "toolu_2"})
    model = ScriptedModel([reply, looks_on, "And hello.", "And third."])

    async def story() -> None:
        store = MemoryLedger()
        limited = support(model, lookup_order, server_tools=[SEARCH], budget=Budget(turns=1))
        async with Remit(ledger=store, agents=[limited], deps=Shop()) as remit:
            assert isinstance(await remit.run("support", "look", principal=ALICE, conversation="t"), Stopped)
        agent = support(model, lookup_order, server_tools=[SEARCH])
        for words in ("hello?", "third?"):
            async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=Shop()) as remit:
                assert isinstance(await remit.run("support", words, principal=ALICE, conversation="t"), Finished)

    play(story)
    second, third, fourth = (messages(model, number) for number in (1, 2, 3))
    called, answered, told = third[len(second) : len(second) + 3]
    assert called["role"] == "assistant"
    assert is_answers_only(answered)
    assert "hello?" in json.dumps(told)
    assert fourth[: len(third)] == third
