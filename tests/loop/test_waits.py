"""A reply that waits for answers alone: what it holds back, and what no copy of a transcript shares with it."""

from __future__ import annotations

import json
from dataclasses import replace

from behaviour.shop import ALICE, Shop, lookup_order, play, support
from loop.world import RUN, proposal, replied, said
from remit import (
    CALL,
    TRUSTED,
    Budget,
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
from remit.loop import Transcript
from remit.types.event import Event, MessageAppended, ModelRequested, Recorded, Replied
from remit.types.ident import Wording

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
LOOKS = {"type": "tool_use", "id": "toolu_1", "name": "lookup_order", "input": {"order_id": "A-1"}}
SEARCHES = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "refunds"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}


def body(stop: str, *content: dict[str, object]) -> bytes:
    usage = {"input_tokens": 10, "output_tokens": 5}
    return json.dumps(
        {"type": "message", "role": "assistant", "content": content, "stop_reason": stop, "usage": usage}
    ).encode()


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def recorded(*events: Event) -> list[Recorded]:
    return [Recorded(RUN, number, 0, event) for number, event in enumerate(events, start=1)]


def reply(name: str, **changes: object) -> Replied:
    return replace(replied(1, stop="end"), wording=Wording(f'"{name}"'), **changes)  # type: ignore[arg-type]


def test_behind_a_reply_that_was_paused_no_words_come_before_it_goes_on() -> None:
    whole = Transcript(recorded(said("one"), reply("two", stop="pause"), said("three")))
    assert (whole.waits, whole.said, whole.held) == (True, ['"one"', '"two"'], ['"three"'])
    whole.add(recorded(reply("four"))[0])
    assert (whole.waits, whole.said) == (False, ['"one"', '"two"', '"four"', '"three"'])


def test_the_next_message_waits_for_a_pause_in_which_the_provider_called_nothing() -> None:
    model = ScriptedModel([body("pause_turn", text("I search.")), body("end_turn", text("Searched.")), "And hello."])

    async def story() -> None:
        store = MemoryLedger()
        limited = support(model, lookup_order, server_tools=[SEARCH], budget=Budget(turns=1))
        async with Remit(ledger=store, agents=[limited], deps=Shop()) as remit:
            assert isinstance(await remit.run("support", "look", principal=ALICE, conversation="t"), Stopped)
        agent = support(model, lookup_order, server_tools=[SEARCH])
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "hello?", principal=ALICE, conversation="t")
            assert isinstance(run, Finished)
            assert run.answer == "And hello."

    play(story)
    assert "hello?" not in model.requests[1].decode()
    assert "hello?" in model.requests[2].decode()


def test_what_becomes_known_is_taken_for_the_request_that_carries_it_and_for_none_before() -> None:
    remit_of: list[Remit] = []

    @tool(effect=write(once_per=CALL, recovery=manual), timeout_s=0.05, approve=never, label=TRUSTED)
    async def post(text: str) -> str:
        """Post.

        Args:
            text: what
        """
        raise RuntimeError("lost")

    async def mixed(asked: dict[str, object]) -> bytes:
        [row] = await remit_of[0].operations(state=["unknown"])
        await remit_of[0].settle(row.id, True, by="carol", reason="seen")
        return body("tool_use", LOOKS, SEARCHES)

    async def story() -> list[str]:
        model = ScriptedModel(
            [call("post", text="hi"), "Unknown.", mixed, body("tool_use", FOUND, {**LOOKS, "id": "toolu_2"}), "Posted."]
        )
        agent = support(model, lookup_order, post, server_tools=[SEARCH])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            remit_of.append(remit)
            await remit.run("support", "post", principal=ALICE, conversation="t")
            run = await remit.run("support", "look", principal=ALICE, conversation="t")
            assert isinstance(run, Finished)
            events = [one.event for one in await remit.events(run.id)]
            return [
                "told" if isinstance(one, MessageAppended) else "asked"
                for one in events
                if isinstance(one, ModelRequested) or (isinstance(one, MessageAppended) and one.source == "notice")
            ]

    assert play(story, seeded=False) == ["asked", "asked", "told", "asked"]


def test_a_copy_of_a_transcript_and_the_first_grow_apart() -> None:
    calls = (replace(proposal(0, "read"), wire_id="call_1"),)
    whole = Transcript(recorded(said("one"), reply("two", unresolved=("srv_1",)), said("three")))
    for grown, other in ((whole.copied(), whole), (whole, whole.copied())):
        before = ([*other.said], [*other.held], {*other.used_ids}, other.waits, other.unanswered)
        grown.add(recorded(said("four"))[0])
        grown.add(recorded(reply("five", calls=calls, stop="calls"))[0])
        assert "call_1" in grown.used_ids
        assert (other.said, other.held, other.used_ids, other.waits, other.unanswered) == before
