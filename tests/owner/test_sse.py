"""Server-sent events: what a browser may see of a run, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, lookup_order, play, refund_tool, support
from remit import Delta, Finished, InputError, MemoryLedger, Paused, Remit, Retracted, ScriptedModel, call, sse
from remit.types.event import ModelRequested
from remit.types.ident import RunId
from remit.types.stream import Step

BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
RUN = RunId("run_1")


def parsed(texts: list[str]) -> list[tuple[str | None, str, dict[str, object]]]:
    """(id, event, data) of each that a browser hands on; one without data only moves its last id."""
    read: list[tuple[str | None, str, dict[str, object]]] = []
    for text in texts:
        assert text.endswith("\n\n")
        fields = dict(line.split(": ", 1) for line in text.strip().split("\n"))
        if fields.keys() == {"id"}:
            continue
        read.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
    return read


async def sent(steps: AsyncIterator[Step]) -> list[str]:
    return [one async for one in sse(steps)]


def test_a_client_sees_what_is_written_asked_and_done_and_none_of_what_is_the_operators() -> None:
    model = ScriptedModel([("I ask.", [call("lookup_order", order_id="A-1"), BIG]), "It is refunded."])

    async def story() -> None:
        agent = support(model, refund_tool(approve=APPROVED_ABOVE_50), lookup_order, on_wait="hold")
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            first = await sent(remit.stream("support", "my secret words", principal=ALICE))
            (approval,) = await remit.approvals()
            followed = asyncio.ensure_future(sent(remit.follow(approval.run, deltas=True)))
            await remit.decide(approval, allow=True, by=BOB, reason="checked the bank statement")
            texts = await followed
            read = parsed(texts)
            committed = [one for one in parsed(first) if one[1] != "delta"]
            assert committed == [one for one in read if one[1] != "delta"][: len(committed)]
            kinds = [kind for _, kind, _ in read]
            assert kinds[-1] == "end"
            assert set(kinds) == {"delta", "call", "decision_wanted", "decided", "result", "waiting", "end"}
            events = {str(one.sequence): one for one in await remit.events(approval.run)}
            assert all((place in events) == (kind != "delta") for place, kind, _ in read)
            wanted = next(data for _, kind, data in read if kind == "decision_wanted")
            assert (wanted["approval"], wanted["preview"]) == (approval.id, approval.preview)
            assert read[-1][2] == {"how": "finished", "reason": "finished", "answer": "It is refunded."}
            results = [data for _, kind, data in read if kind == "result"]
            assert {one["tool"]: one["outcome"] for one in results} == {
                "lookup_order": "succeeded",
                "issue_refund": "succeeded",
            }
            said = "".join(str(data["text"]) for _, kind, data in read if kind == "delta" and data["kind"] == "text")
            assert said == "I ask.It is refunded."
            whole = "".join(texts)
            for kept in ("my secret words", "Help.", "bank statement", "billing", "9900", "A-1", '"order"', "scripted"):
                assert kept not in whole.replace(approval.preview, "").replace(json.dumps(approval.preview)[1:-1], "")

    play(story)


def test_a_client_that_comes_back_goes_on_behind_the_last_event_that_it_has() -> None:
    model = ScriptedModel([call("lookup_order", order_id="A-1"), "Here."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)
            read = parsed(await sent(remit.follow(run.id, deltas=True)))
            place = next(int(place) for place, kind, _ in read if kind == "result" and place)
            later = parsed(await sent(remit.follow(run.id, place, deltas=True)))
            assert later == read[read.index(next(one for one in read if one[1] == "result")) + 1 :]

    play(story)


def test_a_client_that_comes_back_in_the_middle_of_a_reply_is_told_that_it_came_to_nothing() -> None:
    model = ScriptedModel([ScriptedModel.turn("The refund is ", cut=4), "It is not done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=Shop()) as remit:
            sent_first = await sent(remit.stream("support", "look", principal=ALICE))
            (row,) = await remit.runs()
            asked = next(one.sequence for one in await remit.events(row.id) if isinstance(one.event, ModelRequested))
            assert f"id: {asked}\n\n" in sent_first  # all that a browser has seen before the first word
            back = parsed(await sent(remit.follow(row.id, asked, deltas=True)))
            assert next(kind for _, kind, _ in back) == "retracted"
            said = "".join(str(data["text"]) for _, kind, data in back if kind == "delta")
            assert said == "It is not done."

    play(story)


def test_no_declared_secret_reaches_a_client_in_whatever_part_it_is() -> None:
    secrets = ("hunter22", "opensesame")
    model = ScriptedModel([("It is hunter22.", [call("lookup_order", order_id="A-1"), BIG]), "opensesame, hunter22!"])

    async def story() -> None:
        agent = support(model, refund_tool(approve=APPROVED_ABOVE_50), lookup_order, secrets=secrets[:1], on_wait="answer")
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop(), secrets=secrets[1:]) as remit:
            whole = "".join(await sent(remit.stream("support", "say hunter22", principal=ALICE)))
            (row,) = await remit.runs()
            (approval,) = await remit.approvals()
            await remit.decide(approval, allow=False, by=BOB)
            await remit.run_to_end(row.id)
            for steps in (remit.follow(row.id, deltas=True), remit.follow(row.id)):
                whole += "".join(await sent(steps))
            said = [one async for one in remit.follow(row.id, deltas=True) if isinstance(one, Delta)]
        assert not any(secret in whole + "".join(one.text for one in said) for secret in secrets)
        assert '"answer":"[redacted], [redacted]!"' in whole

    play(story)


@pytest.mark.parametrize("given", [0, -1, "5", float("nan"), True, None])
def test_a_time_that_no_comment_can_be_sent_after_is_refused_at_once(given: object) -> None:
    async def steps() -> AsyncIterator[Step]:
        yield Retracted(run=RUN, turn=1, attempt=1)

    with pytest.raises(InputError, match="above 0") as raised:
        sse(steps(), keep_alive_s=given)  # type: ignore[arg-type]
    assert raised.value.code == "sse.keep_alive_s"


def test_pieces_retractions_and_a_message_that_waits_have_their_form() -> None:
    async def steps() -> AsyncIterator[Step]:
        yield Delta(run=RUN, after=2, turn=1, attempt=1, index=0, kind="text", text="one\ntwo \u2028 \ud800")
        yield Retracted(run=RUN, turn=1, attempt=1)
        yield Paused(id=RUN, queued=True, reason="queued")
        yield Paused(id=RUN, reason="waiting")

    async def story() -> None:
        texts = await sent(steps())
        assert parsed(texts) == [
            (None, "delta", {"kind": "text", "text": "one\ntwo \u2028 \ud800", "turn": 1, "attempt": 1, "index": 0}),
            (None, "retracted", {"turn": 1, "attempt": 1}),
            (None, "waiting", {"approvals": [], "queued": True}),
        ]
        assert all(text.isascii() for text in texts)

    play(story)


def test_silence_is_filled_with_comments_and_the_source_is_closed_with_the_response() -> None:
    closed = asyncio.Event()

    async def steps() -> AsyncIterator[Step]:
        try:
            await asyncio.Event().wait()
            yield Retracted(run=RUN, turn=1, attempt=1)
        finally:
            closed.set()

    async def story() -> None:
        response = sse(steps(), keep_alive_s=0.01)
        assert [await anext(response) for _ in range(2)] == [": \n\n"] * 2
        await response.aclose()
        assert closed.is_set()

    play(story, seeded=False)
