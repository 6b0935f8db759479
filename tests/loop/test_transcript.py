"""The transcript: what is sent, in which order, and which ids it has used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.world import RUN, proposal, replied, said
from remit.loop import Transcript, transcript
from remit.types.event import Event, MessageAppended, Recorded, Replied, ResultsAppended
from remit.types.ident import Wording
from remit.types.label import TRUSTED


def recorded(events: Sequence[Event]) -> list[Recorded]:
    return [Recorded(RUN, number, 0, event) for number, event in enumerate(events, start=1)]


def reply(name: str, *, waits: bool = False) -> Replied:
    return replace(replied(1, stop="end"), wording=Wording(f'"{name}"'), unresolved=("srv_1",) if waits else ())


def message(name: str, source: Literal["user", "notice", "correction", "imported"] = "user") -> MessageAppended:
    return replace(said(name), source=source)


RESULTS = ResultsAppended(turn=1, wording=Wording('"results"'))


def test_messages_come_in_the_order_of_their_events() -> None:
    events = [message("one"), reply("two"), RESULTS, message("three")]
    assert transcript(recorded(events)) == ['"one"', '"two"', '"results"', '"three"']


def test_a_reply_that_says_nothing_is_no_message() -> None:
    events = [message("one"), replace(reply(""), wording=Wording("")), message("two")]
    assert transcript(recorded(events)) == ['"one"', '"two"']


def test_behind_a_reply_that_waits_only_answers_come() -> None:
    whole = Transcript(recorded([message("one"), reply("two", waits=True), message("three"), RESULTS]))
    assert whole.waits
    assert whole.said == ['"one"', '"two"', '"results"']
    assert whole.held == ['"three"']
    whole.add(recorded([reply("four")])[0])
    assert whole.said == ['"one"', '"two"', '"results"', '"four"', '"three"']
    assert whole.held == []


def calls(name: str, *, waits: bool = False) -> Replied:
    return replace(reply(name, waits=waits), calls=(proposal(0, "read"),), stop="calls")


def test_results_come_directly_behind_the_reply_that_asked_for_them() -> None:
    whole = Transcript(recorded([message("one"), calls("two", waits=True), message("three"), RESULTS, calls("four")]))
    assert whole.said == ['"one"', '"two"', '"results"', '"four"']
    assert whole.held == ['"three"']
    grown = whole.copied()
    grown.add(recorded([replace(RESULTS, turn=2)])[0])
    assert grown.said == ['"one"', '"two"', '"results"', '"four"', '"results"', '"three"']
    assert (grown.held, whole.held) == ([], ['"three"'])


STEPS = st.lists(st.sampled_from(["message", "reply", "waits", "calls", "calls and waits"]), max_size=12)


@given(STEPS)
def test_nothing_is_lost_nothing_sent_is_moved_and_no_words_come_where_answers_are_due(steps: list[str]) -> None:
    whole = Transcript()
    sent: list[str] = []
    everything: list[str] = []
    waits = calling = False
    number = 0

    def take(event: Event) -> None:
        nonlocal number
        number += 1
        assert isinstance(event, (MessageAppended, Replied, ResultsAppended))
        everything.append(event.wording)
        whole.add(recorded([event])[0])

    for step in steps:
        if step == "message":
            take(message(f"m{number}"))
            continue
        if calling:
            take(replace(RESULTS, wording=Wording(f'"a{number}"')))
        assert whole.said[: len(sent)] == sent  # whatever is said by now is in the request before the reply
        sent = [*whole.said]
        assert not waits or all(not one.startswith('"m') for one in behind(sent))
        assert not calling or behind(sent)[0].startswith('"a')
        waits, calling = "waits" in step, "calls" in step
        take(calls(f"r{number}", waits=waits) if calling else reply(f"r{number}", waits=waits))
    assert sorted([*whole.said, *whole.held]) == sorted(everything)


def behind(said: Sequence[str]) -> list[str]:
    """What stands behind the last reply."""
    last = max((place for place, one in enumerate(said) if one.startswith('"r')), default=len(said))
    return [*said[last + 1 :]]


def test_ids_of_replies_and_of_an_imported_history_are_used() -> None:
    first = replace(reply("one"), calls=(replace(proposal(0, "read"), wire_id="call_1"),))
    assert Transcript(recorded([first])).used_ids == {"call_1"}


@pytest.mark.parametrize(
    "wording",
    [
        '{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"x","input":{"id":7}}]}',
        '{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"x"}}]}',
        '{"type":"function_call","call_id":"call_1","name":"x","arguments":"{}"},{"role":"user","content":"hi"}',
        '{"role":"tool","tool_call_id":"call_1","content":"{\\"id\\": \\"call_9\\"}"}',
    ],
)
def test_an_id_of_an_imported_message_is_found_in_every_protocol(wording: str) -> None:
    imported = MessageAppended(wording=Wording(wording), source="imported", label=TRUSTED)
    assert Transcript(recorded([imported])).used_ids == {"call_1"}
    assert Transcript(recorded([replace(imported, source="user")])).used_ids == set()
