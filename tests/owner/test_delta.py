"""What a follower has heard of a reply: nothing twice, nothing of an attempt that came to nothing, the whole text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.owner.delta import DeltaCursor
from remit.trace import Redactor
from remit.types.budget import Usage
from remit.types.event import (
    CancelRequested,
    Event,
    ModelRequested,
    Recorded,
    Replied,
    RequestFailed,
    Resumed,
    RunEnded,
    Waiting,
)
from remit.types.ident import OwnerId, RunId, Wording
from remit.types.label import TRUSTED
from remit.types.stream import Delta, Retracted

RUN = RunId("run_1")


class Told:
    """A ledger in which one run's events and deltas stand."""

    def __init__(self, *events: Event) -> None:
        self.events = [Recorded(RUN, number, 0, event) for number, event in enumerate(events, start=1)]
        self.told: list[Delta] = []

    def tell(self, after: int, *texts: str) -> None:
        asked = self.events[after - 1].event
        assert isinstance(asked, ModelRequested)
        self.told = [
            Delta(run=RUN, after=after, turn=asked.turn, attempt=asked.attempt, index=index, kind="text", text=text)
            for index, text in enumerate(texts)
        ]

    async def read(self, run: RunId, *, after: int = 0, limit: int | None = None) -> list[Recorded]:
        return self.events[after:][:limit]

    async def deltas(self, run: RunId, *, after: int, index: int = 0) -> list[Delta]:
        return [one for one in self.told if one.after == after and one.index >= index]


def asked(turn: int = 1, attempt: int = 1) -> ModelRequested:
    return ModelRequested(turn=turn, attempt=attempt, model="m", reserved_tokens=0, reserved_usd_micros=0, label=TRUSTED)


def reply(text: str, turn: int = 1, attempt: int = 1) -> Replied:
    return Replied(
        turn=turn, attempt=attempt, wording=Wording(""), text=text, calls=(), stop="end", raw_stop="end", usage=Usage()
    )


FAILED = RequestFailed(turn=1, attempt=1, code="model.stream_cut", message="", retryable=True)
OVER: tuple[Event, ...] = (
    FAILED,
    Resumed(owner=OwnerId("o"), scopes=(), scopes_from="recorded"),
    RunEnded(how="cancelled", reason="cancelled"),
    Waiting(approvals=()),
    asked(attempt=2),
)


def texts(steps: Sequence[object]) -> list[str]:
    return [one.text for one in steps if isinstance(one, Delta)]


def cursor_of(told: Told) -> DeltaCursor:
    return DeltaCursor(told, RUN, Redactor(rules=()))  # type: ignore[arg-type]


def test_what_was_heard_is_not_given_again_and_the_rest_comes_before_the_reply() -> None:
    told = Told(asked(), reply("one two three four"))

    async def story() -> None:
        cursor = cursor_of(told)
        assert await cursor.before(told.events[0]) == []
        told.tell(1, "one ")
        assert texts(await cursor.fetch()) == ["one "]
        assert await cursor.fetch() == []
        told.tell(1, "one ", "two ")
        last = await cursor.before(told.events[1])
        assert texts(last) == ["two ", "three four"]
        assert [one.index for one in last if isinstance(one, Delta)] == [1, 2]
        assert await cursor.fetch() == []

    asyncio.run(story())


@pytest.mark.parametrize("over", OVER, ids=lambda one: one.kind)
def test_what_was_given_of_an_attempt_without_a_reply_is_retracted_and_only_then(over: Event) -> None:
    told = Told(asked(), over)

    async def story() -> None:
        for heard in (False, True):
            cursor = cursor_of(told)
            told.told = []
            await cursor.before(told.events[0])
            if heard:
                told.tell(1, "one")
                await cursor.fetch()
            expected = [Retracted(run=RUN, turn=1, attempt=1)] if heard else []
            assert await cursor.before(told.events[1]) == expected

    asyncio.run(story())


@pytest.mark.parametrize("over", OVER, ids=lambda one: one.kind)
def test_who_comes_back_is_told_that_an_attempt_came_to_nothing(over: Event) -> None:
    told = Told(asked(), CancelRequested(by="bob"), over)

    async def story() -> None:
        for after in (0, 1, 2, 3):
            cursor = cursor_of(told)
            await cursor.catch_up(after)
            steps = [step for recorded in told.events[after:] for step in await cursor.before(recorded)]
            assert steps == ([Retracted(run=RUN, turn=1, attempt=1)] if after in (1, 2) else [])

    asyncio.run(story())


def test_a_declared_secret_is_in_no_delta_wherever_it_is_cut() -> None:
    secret = "hunter22"
    text = f"It is {secret}, and {secret[:5]}"
    told = Told(asked(), reply(text))

    async def story() -> None:
        for at in range(len(text) + 1):
            cursor = DeltaCursor(told, RUN, Redactor([secret], rules=()))  # type: ignore[arg-type]
            await cursor.before(told.events[0])
            told.tell(1, text[:at], text[at:])
            heard = [*await cursor.fetch(), *await cursor.before(told.events[1])]
            assert "".join(texts(heard)) == "It is [redacted], and hunte"
            assert [one.index for one in heard if isinstance(one, Delta)] == list(range(len(heard)))

    asyncio.run(story())


def test_what_a_model_thinks_is_without_declared_secrets_and_whole_once_it_has_replied() -> None:
    told = Told(asked(), reply("Yes."))
    told.tell(1, "a hunter", "22 and hunt", "Yes.")
    told.told = [replace(one, kind="reasoning") if one.index < 2 else one for one in told.told]

    async def story() -> None:
        cursor = DeltaCursor(told, RUN, Redactor(["hunter22"], rules=()))  # type: ignore[arg-type]
        await cursor.before(told.events[0])
        heard = [*await cursor.fetch(), *await cursor.before(told.events[1])]
        thought = [one.text for one in heard if isinstance(one, Delta) and one.kind == "reasoning"]
        assert "".join(thought) == "a [redacted] and hunt"
        assert "".join(texts([one for one in heard if isinstance(one, Delta) and one.kind == "text"])) == "Yes."

    asyncio.run(story())


def test_what_happens_beside_an_open_request_ends_nothing() -> None:
    told = Told(asked(), CancelRequested(by="bob"), reply("one"))

    async def story() -> None:
        cursor = cursor_of(told)
        await cursor.catch_up(2)
        told.tell(1, "o")
        assert texts(await cursor.fetch()) == ["o"]
        assert texts(await cursor.before(told.events[2])) == ["ne"]

    asyncio.run(story())


def test_a_reply_that_reads_otherwise_than_it_was_written_gives_nothing_more() -> None:
    told = Told(asked(), reply("something else"))

    async def story() -> None:
        cursor = cursor_of(told)
        await cursor.before(told.events[0])
        told.tell(1, "one")
        await cursor.fetch()
        assert await cursor.before(told.events[1]) == []

    asyncio.run(story())


@given(st.text(max_size=12), st.lists(st.integers(0, 12), max_size=4), st.integers(0, 2))
def test_wherever_a_follower_begins_and_listens_the_texts_are_the_replys(text: str, cuts: list[int], begins: int) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    told = Told(asked(), FAILED, asked(attempt=2), replace(reply(text), attempt=2))

    async def story() -> None:
        cursor, given_texts = cursor_of(told), list[str]()
        await cursor.catch_up(begins)
        for recorded in told.events[begins:3]:
            await cursor.before(recorded)
        for count in range(len(pieces)):
            told.tell(3, *pieces[: count + 1])
            if count % 2:
                given_texts += texts(await cursor.fetch())
        told.told = []
        given_texts += texts(await cursor.before(told.events[3]))
        assert "".join(given_texts) == text

    asyncio.run(story())
