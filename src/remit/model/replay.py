"""A model that says what was recorded: it serves the replies of a run to the requests that they answered.

Knows events and wires, no ledger and no socket. Invariant: a reply is given to the request that it was given to when
it was recorded, and to no other; a request that was not made then is an error that says where it differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from remit.canonical import digest
from remit.errors import InputError, ModelError
from remit.loop import Transcript
from remit.model.response import play
from remit.types.event import ModelRequested, Recorded, Replied, RequestFailed, RunStarted
from remit.types.ident import Digest, Json, Wording
from remit.types.model import ProtocolName, Reply, Streaming, Wire
from remit.wire import render, wire_for

__all__ = ["ReplayModel", "Served"]

_OUTSIDE = frozenset({"stream", "stream_options", "model"})
"""Members that do not say what was asked: how the reply is to come, and who is asked (which the record names)."""
_MESSAGES = ("messages", "input")
_OWN_ID = re.compile(r"\b(op|apr|run)_[0-9a-hjkmnp-tv-z]{20}\b")
"""Ids that this library makes anew in each run, as a receipt names them."""


@dataclass(frozen=True, slots=True)
class Served:
    """A recorded request that was asked again: when it had been asked for, and which members of its head differ now."""

    at_ms: int
    head_differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request as it was recorded: how many messages it held, and what came of it."""

    turn: int
    count: int
    at_ms: int
    reply: Replied | None = None
    failure: RequestFailed | None = None


class ReplayModel:
    """A `Model` that serves a recorded run.

    A request is answered if head and messages are those of a recorded one, compared as JSON; whether it asks for a
    stream, and which ids the library itself made, does not matter. Attempts that failed are left out: their request
    gets the reply that came in the end, or the last failure where none came.

    Args:
        recorded: the events of the run, in order.
        history: those of its conversation before it.
        same_head: whether instructions, tools and settings must be those recorded, too. If not, what differs is in
            `served`, and the messages alone decide.

    Raises:
        InputError: the events are not those of a run that asked a model (`replay.events`).
    """

    def __init__(self, recorded: Sequence[Recorded], *, history: Sequence[Recorded] = (), same_head: bool = True) -> None:
        first = recorded[0].event if recorded else None
        if not isinstance(first, RunStarted) or first.host:
            raise InputError("a replay needs the events of a run from its first one on", code="replay.events")
        self._started = first
        self._wire = wire_for(cast("ProtocolName", first.protocol))
        self._same_head = same_head
        transcript = Transcript(history)
        self._requests = _requests(recorded, transcript)
        self._head, _ = _parts(self._wire.body(first.head, ()))
        self._messages = [_digest(one) for said in transcript.said for one in _items(said)]
        self._next = 0
        self.served: list[Served] = []
        """The requests that were found in the record, in the order in which they were asked."""

    @property
    def identity(self) -> str:
        return self._started.model

    @property
    def name(self) -> str:
        return self._started.model.partition(":")[2]

    @property
    def wire(self) -> Wire:
        return self._wire

    def digest(self) -> Digest:
        return digest("remit.model", f"replay\n{self.identity}\n{self._wire.protocol}")

    async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
        """The recorded reply to this request.

        Raises:
            ModelError: no such request was recorded (`replay.miss`; `details` has the `turn` and what `differs`), or
                not how it ended (`replay.end`); or it failed then, with the code of its failure. Not retryable.
        """
        head, messages = _parts(body)
        differs = tuple(sorted(name for name in {*head, *self._head} if head.get(name) != self._head.get(name)))
        found = self._find(differs if self._same_head else (), messages)
        self._next = max(self._next, found + 1)
        asked = self._requests[found]
        self.served.append(Served(asked.at_ms, differs))
        if asked.reply is None:
            raise _never_answered(asked)
        reply = self._wire.restore(_reply(asked.reply))
        return reply if stream is None else await play(render(self._wire.protocol, reply), stream)

    async def aclose(self) -> None:
        """Nothing is open."""

    def _find(self, wrong: Sequence[str], messages: Sequence[Json]) -> int:
        """The place of the recorded request; of several equal ones the first that was not served. `wrong`: members of the
        head that must be as recorded, and are not."""
        same = _same(self._messages, [_digest(one) for one in messages])
        fitting = [at for at, asked in enumerate(self._requests) if asked.count == len(messages) == same]
        if fitting and not wrong:
            return next((at for at in fitting if at >= self._next), fitting[-1])
        raise self._miss(wrong, same, len(messages))

    def _miss(self, members: Sequence[str], same: int, count: int) -> ModelError:
        likely = [*(one for one in self._requests if one.count == count), *self._requests[self._next :]]
        expected = likely[0] if likely else None
        turn = expected.turn if expected is not None else (self._requests[-1].turn + 1 if self._requests else 1)
        if members:
            differs = f"the head: {', '.join(members)}"
        elif expected is None:
            differs = "the record has no further request"
        elif same < min(count, expected.count):
            differs = f"message {same + 1}"
        else:
            differs = f"{count} messages, and {expected.count} were recorded"
        message = f"this request is not in the record: turn {turn} differs in {differs}"
        return ModelError(message, code="replay.miss", retryable=False, turn=turn, differs=differs)


def _requests(recorded: Sequence[Recorded], transcript: Transcript) -> list[_Asked]:
    """All requests in order, each as its last attempt left it; reads the transcript to its end."""
    found: list[_Asked] = []
    counted = held = 0
    for one in recorded:
        event = one.event
        match event:
            case ModelRequested():
                held += sum(len(_items(said)) for said in transcript.said[counted:])
                counted = len(transcript.said)
                asked = _Asked(event.turn, held, one.at_ms)
                if found and found[-1].turn == event.turn and found[-1].reply is None:
                    asked = replace(asked, failure=found.pop().failure)
                found.append(asked)
            case Replied() if found:
                found[-1] = replace(found[-1], reply=event)
            case RequestFailed() if found:
                found[-1] = replace(found[-1], failure=event)
            case _:
                pass
        transcript.add(one)
    return found


def _parts(body: bytes) -> tuple[dict[str, Json], list[Json]]:
    """What a request says beside its messages, and its messages."""
    asked: dict[str, Json] = json.loads(body)
    name = next((one for one in _MESSAGES if one in asked), "")
    said = asked.pop(name, None)
    messages: list[Json] = said if isinstance(said, list) else [said]
    head = {name: value for name, value in asked.items() if name not in _OUTSIDE}
    if messages and isinstance(messages[0], dict) and messages[0].get("role") == "system":
        head["system"] = messages.pop(0)
    return head, messages


def _items(wording: Wording) -> list[Json]:
    """The messages of a wording, which may hold several or none."""
    return json.loads(f"[{wording}]")


def _digest(message: Json) -> Digest:
    return digest("remit.replay", _OWN_ID.sub(r"\1", json.dumps(message, sort_keys=True)))


def _same(known: Sequence[Digest], asked: Sequence[Digest]) -> int:
    """How many messages are the same from the beginning."""
    same = 0
    for one, other in zip(known, asked, strict=False):
        if one != other:
            break
        same += 1
    return same


def _reply(event: Replied) -> Reply:
    return Reply(
        wording=event.wording,
        text=event.text,
        calls=event.calls,
        stop=event.stop,
        raw_stop=event.raw_stop,
        usage=event.usage,
        model=event.model,
        response_id=event.response_id,
        refusal=event.refusal,
        unresolved=event.unresolved,
        server_ran=not event.label.trusted,
    )


def _never_answered(asked: _Asked) -> ModelError:
    failure = asked.failure
    if failure is not None:
        return ModelError(failure.message, code=failure.code, retryable=False, turn=asked.turn)
    message = f"the record has no reply of turn {asked.turn}: it ends here"
    return ModelError(message, code="replay.end", retryable=False, turn=asked.turn)
