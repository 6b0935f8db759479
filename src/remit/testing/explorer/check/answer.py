"""Every proposal is answered exactly once, by one result on the wire, and the transcript is one that the provider takes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from remit.errors import ProtocolError, RemitError
from remit.loop import transcript
from remit.testing.explorer.check.record import Record, Story
from remit.types.event import CallConsidered, CallEnded, Replied, ResultsAppended, RunEnded, RunStarted
from remit.types.ident import Json, call_id
from remit.types.model import ProtocolName
from remit.wire import wire_for

__all__ = ["answers"]

_RESULT_ID = ("tool_use_id", "tool_call_id", "call_id")


def answers(record: Record) -> list[str]:
    """Proposals with no answer or several, requests that the provider refuses, and one request that made several runs."""
    found = [f"the provider refuses a request: {one}" for one in record.played.speaker.broken]
    for story in record.stories:
        found += _of_story(record, story)
    requests = Counter(story.row.request_id for story in record.stories)
    found += [f"the request {name} made {count} runs" for name, count in requests.items() if name and count > 1]
    asked, made = record.played.scenario.requests, sum(story.row.parent is None for story in record.stories)
    if made > asked:
        found.append(f"{asked} requests made {made} runs")
    return found


def _of_story(record: Record, story: Story) -> Iterator[str]:
    run = story.row.id
    ended = Counter(event.call for event in story.of(CallEnded))
    proposed = [(call_id(reply.turn, call.position), call.wire_id) for reply in story.of(Replied) for call in reply.calls]
    yield from (f"call {call} of run {run} has {count} answers" for call, count in ended.items() if count > 1)
    if story.row.status == "ended":
        yield from (f"call {call} of run {run} has no answer" for call, _ in proposed if call not in ended)
        yield from (f"run {run} ended {count} times" for count in [sum(1 for _ in story.of(RunEnded))] if count != 1)
    known = {call for call, _ in proposed} | {event.call for event in story.of(CallConsidered)}
    yield from (f"call {call} of run {run} was answered, and never proposed" for call in ended if call not in known)
    on_wire = Counter(_ids(story))
    yield from (
        f"call {call} of run {run} has {on_wire[name]} results on the wire" for call, name in proposed if on_wire[name] > 1
    )
    yield from _transcript(record, story)


def _ids(story: Story) -> Iterator[str]:
    for event in story.of(ResultsAppended):
        yield from _found(json.loads(f"[{event.wording}]"))


def _found(value: Json) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _found(one)
    elif isinstance(value, dict):
        names = [value[name] for name in _RESULT_ID if name in value]
        yield from (name for name in names[:1] if isinstance(name, str))
        yield from _found(value.get("content"))


def _transcript(record: Record, story: Story) -> Iterator[str]:
    """Whether the provider would take the transcript of an ended run back."""
    started = next(story.of(RunStarted), None)
    if started is None or story.row.status != "ended" or story.row.conversation is not None or story.row.host:
        return
    said = transcript(story.recorded)
    known, name = record.played.known, hash(tuple(said))
    if name in known:
        return
    protocol: ProtocolName = record.played.protocol
    try:
        wire_for(protocol).load([message for one in said for message in json.loads(f"[{one}]")])
    except (ProtocolError, RemitError) as error:
        yield f"the transcript of run {story.row.id} is not one that the provider takes: {error}"
    else:
        known.add(name)
