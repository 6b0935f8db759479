"""A model that says what it is told to: for tests, demonstrations and documentation.

Speaks a real protocol through its wire, as a stream too, so everything else behaves as with a provider. Invariant:
equal requests get equal replies; the ids of calls follow from the length of the transcript.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from remit.canonical import digest
from remit.errors import InputError, ModelError
from remit.model import failure
from remit.model.response import play
from remit.types.budget import Usage
from remit.types.ident import Digest, Json
from remit.types.model import ProtocolName, Stop, Streaming, Wire
from remit.wire import render, wire_for
from remit.wire.write import quote

__all__ = ["Said", "ScriptedCall", "ScriptedModel", "call", "scripted_body"]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call that a scripted model makes: `arguments` is the text on the wire; without an `id` it gets one."""

    name: str
    arguments: str
    id: str | None = None

    def with_id(self, wire_id: str) -> ScriptedCall:
        """The same under an id of one's choice, good or bad."""
        return replace(self, id=wire_id)


class _Caller:
    """`call`: writes calls for a scripted model."""

    def __call__(self, name: str, /, **arguments: Json) -> ScriptedCall:
        """A call of a tool with these arguments."""
        return ScriptedCall(name, quote(arguments))

    def raw(self, name: str, text: str) -> ScriptedCall:
        """A call whose arguments are this text, well formed or not."""
        return ScriptedCall(name, text)


call = _Caller()


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of a scripted model; made by `ScriptedModel.turn` where stop and usage matter."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    stop: Stop | None = None
    usage: Usage | None = None
    cut: int | None = None

    @property
    def mints(self) -> bool:
        """Whether a call of it needs an id."""
        return any(one.id is None for one in self.calls)


Said = str | ScriptedCall | Sequence[ScriptedCall] | tuple[str, Sequence[ScriptedCall]] | Turn | BaseException | bytes
"""What a reply can be written as: text, calls, both, a `ScriptedModel.turn(...)`, an error to raise, a body as it is."""

Speaker = Callable[[dict[str, Json]], Said | Awaitable[Said]]
"""Makes a reply from the request body, at once or as a coroutine."""


class ScriptedModel:
    """A `Model` that replies from a script.

    Args:
        turns: the replies in their order, each also as a function of the request body; or one function for all
            of them, which any number of runs may share.
        protocol: which provider's protocol it speaks.
        name: recorded as `scripted:NAME`.
    """

    def __init__(
        self, turns: Sequence[Said | Speaker] | Speaker, *, protocol: ProtocolName = "anthropic", name: str = "scripted"
    ):
        self._turns = turns
        self._wire = wire_for(protocol)
        self._name = name
        self.requests: list[bytes] = []
        """The bodies that it was asked, in their order."""

    @staticmethod
    def turn(
        content: str | ScriptedCall | Sequence[ScriptedCall] = "",
        *,
        text: str = "",
        stop: Stop | None = None,
        usage: Usage | None = None,
        cut: int | None = None,
    ) -> Turn:
        """A reply with a stop or usage of one's choice; `text` goes beside calls.

        Args:
            cut: the connection is lost after so many events of the stream, so that the attempt fails
                (`model.stream_cut`); the next turn answers the next one.
        """
        if isinstance(content, str):
            return Turn(content or text, (), stop, usage, cut)
        calls = (content,) if isinstance(content, ScriptedCall) else tuple(content)
        return Turn(text, calls, stop, usage, cut)

    @property
    def identity(self) -> str:
        return f"scripted:{self._name}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def wire(self) -> Wire:
        return self._wire

    def digest(self) -> Digest:
        return digest("remit.model", f"{self.identity}\n{self._wire.protocol}")

    async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
        """The next reply; streamed in small pieces where a stream is asked for.

        Raises:
            ModelError: the script is at its end (`model.script_ended`), or this reply is cut (`model.stream_cut`).
        """
        self.requests.append(body)
        said = self._next()
        if callable(said):
            said = said(json.loads(body))
            if inspect.isawaitable(said):
                said = await said
        match said:
            case BaseException():
                raise said
            case bytes():
                return said
            case _:
                turn = _turn(said)
        placed = turn.mints or self._wire.protocol == "openai-responses"
        reply = scripted_body(turn, self._wire, _length(body) if placed else 0)
        if stream is not None:
            reply = await play(render(self._wire.protocol, reply)[: turn.cut], stream)
        if turn.cut is not None:
            raise failure.cut()
        return reply

    async def aclose(self) -> None:
        """Nothing is open."""

    def _next(self) -> Said | Speaker:
        if callable(self._turns):
            return self._turns
        count = len(self.requests)
        if count > len(self._turns):
            raise ModelError(
                f"the scripted model has {len(self._turns)} turns and was asked for one more",
                code="model.script_ended",
                retryable=False,
            )
        return self._turns[count - 1]


def scripted_body(said: Said, wire: Wire, place: int) -> bytes:
    """A whole response body that says so.

    Args:
        place: the number of messages that it answers; the ids of calls without one, and of messages, follow from it.

    Raises:
        InputError: this is no reply: an error, or bytes (`model.script`).
    """
    turn = _turn(said)
    calls = [
        (f"call_{place}_{position}" if one.id is None else one.id, one.name, one.arguments)
        for position, one in enumerate(turn.calls)
    ]
    return wire.reply(turn.text, calls, stop=turn.stop, usage=turn.usage, place=place)


def _turn(said: Said) -> Turn:
    match said:
        case Turn():
            return said
        case str():
            return Turn(said)
        case ScriptedCall():
            return Turn("", (said,))
        case (str(text), calls) if not isinstance(calls, ScriptedCall | str):
            return Turn(text, tuple(calls))
        case _:
            calls = tuple(one for one in said if isinstance(one, ScriptedCall)) if isinstance(said, Sequence) else ()
            if not isinstance(said, Sequence) or len(calls) != len(said):
                raise InputError("a scripted reply is text, calls, both, an error or bytes", code="model.script")
            return Turn("", calls)


def _length(body: bytes) -> int:
    """How many messages a request holds."""
    asked: dict[str, Json] = json.loads(body)
    messages = asked.get("messages", asked.get("input"))
    return len(messages) if isinstance(messages, list) else 0
