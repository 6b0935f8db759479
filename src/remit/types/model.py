"""What the loop asks of a model and of a provider's protocol.

`Wire` is pure: it reads and writes a protocol's text. `Model` is a wire with somebody at the other
end. A conversation is a list of `Wording`s: text exactly as it goes to the provider, appended once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal, Protocol

from remit.types.budget import Usage
from remit.types.ident import Digest, Json, Wording
from remit.types.outcome import Attachment
from remit.types.part import Part
from remit.types.quick import quick

__all__ = [
    "Call",
    "Declaration",
    "Gather",
    "HeadSpec",
    "OnPiece",
    "Mend",
    "Model",
    "Piece",
    "ProtocolName",
    "Reading",
    "Reply",
    "ResultText",
    "Stop",
    "Streaming",
    "Wire",
]

ProtocolName = Literal["anthropic", "openai-chat", "openai-responses"]

Stop = Literal["calls", "end", "length", "context", "refusal", "filter", "pause", "compaction", "unknown"]
"""Why a model stopped, over all protocols. Tools run on `calls` only; `pause` and `compaction` go on unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A tool as a model sees it. `name` is ours; the wire maps it to what the provider accepts, and back."""

    name: str
    description: str
    schema: Mapping[str, Json]
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSpec:
    """All of a request that stays the same from turn to turn.

    Args:
        tool_choice: `auto`, `none`, `required`, or a tool's name.
        parallel: whether several calls in one reply are welcome.
        answer_schema: JSON Schema of the final answer, for native structured output.
        settings: passed verbatim, over what this library sets itself (`temperature`, `thinking`, ...).
        server_tools: provider-run tools, verbatim declarations.
    """

    model: str
    instructions: str
    tools: tuple[Declaration, ...]
    max_tokens: int
    tool_choice: str = "auto"
    parallel: bool = True
    answer_schema: Mapping[str, Json] | None = None
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    server_tools: tuple[Mapping[str, Json], ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A proposal as it was read from a reply.

    Args:
        position: from 0, in the model's order.
        wire_id: the id on the wire (after a mend); only a label, never an identity.
        name: our tool name where the wire name maps to one, else the name as sent.
        arguments: JSON text as sent; `"{}"` where the provider sent an empty string.
        cut: the reply ended inside this call; never repaired, answered `truncated`.
        caller: `direct`, or what else asked (model-written code).
    """

    position: int
    wire_id: str
    name: str
    arguments: str
    cut: bool = False
    caller: str = "direct"


@dataclass(frozen=True, slots=True)
class Mend:
    """One of the closed list of changes to a reply.

    `id.missing`, `id.duplicate`, `id.unfit`: a call gets an id of ours. `text.empty`: a block that says nothing goes.
    `call.cut`: arguments that cannot go back as they are. `thought.last`: a thought that nothing follows, which
    Anthropic does not take back. `role.missing`, `calls.empty`: what servers compatible with Chat write and Chat itself
    does not take back.
    """

    kind: Literal[
        "id.missing", "id.duplicate", "id.unfit", "text.empty", "call.cut", "thought.last", "role.missing", "calls.empty"
    ]
    was: str
    now: str
    position: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Our reading of a provider's reply; `wording` is what goes back, verbatim but for the mends.

    Args:
        wording: the assistant message (Responses: its output items, joined by commas).
        text: the visible text, joined; not thinking.
        stop: why it stopped; `raw_stop` is the provider's word.
        refusal: the provider's explanation, on `refusal` and `filter`.
        unresolved: ids of provider-run calls that wait for the next request.
        server_ran: the provider ran tools of its own; what they found is in the reply.
    """

    wording: Wording
    text: str
    calls: tuple[Call, ...]
    stop: Stop
    raw_stop: str
    usage: Usage
    model: str = ""
    response_id: str = ""
    refusal: str | None = None
    unresolved: tuple[str, ...] = ()
    mends: tuple[Mend, ...] = ()
    server_ran: bool = False


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ResultText:
    """One answer on its way to the wire. `error` is sent as a flag where the protocol has one."""

    wire_id: str
    name: str
    text: str
    error: bool = False
    attachments: tuple[tuple[Attachment, bytes], ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reply is read with.

    Args:
        max_tokens: the cap that was sent; output tokens equal to it count as cut.
        names: wire name -> our name.
        used_ids: wire ids that the transcript holds already; looked up, never copied.
        mint: an id for the call at a position, where the provider's cannot stand.
    """

    max_tokens: int
    names: Mapping[str, str]
    used_ids: Set[str] = frozenset()
    mint: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Piece:
    """Something of a reply that is still being written; it counts for nothing until the reply is whole.

    `text` and `reasoning` are to be shown one after the other; `call` is the name of a tool (ours) as soon as the
    model begins to call it.
    """

    kind: Literal["text", "reasoning", "call"]
    text: str


OnPiece = Callable[[Piece], None]
"""Told each piece of a reply as it comes; it must not raise."""


class Gather(Protocol):
    """One streamed reply, put together: pure, fed with the stream's bytes, cut anywhere.

    What comes out is a response body as the provider would have sent it unstreamed, so a stream is read by the same
    `Wire.read`. Invariant: `body` gives nothing unless the stream said that the reply is whole.
    """

    def feed(self, data: bytes) -> Sequence[Piece]:
        """Take the next bytes, return what they add.

        Raises:
            ProtocolError: they are not a stream of this protocol.
        """
        ...

    @property
    def error(self) -> bytes | None:
        """The provider's error body, where it broke the stream off with one."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the stream said that its reply is whole, or broken off: what comes behind that is not read."""
        ...

    def body(self) -> bytes:
        """The whole response.

        Raises:
            ProtocolError: `stream.cut`: the stream ended before the reply did.
        """
        ...


@dataclass(frozen=True, slots=True)
class Streaming:
    """How a reply that is asked for as a stream is taken in: what puts it together, and who is told its pieces."""

    gather: Gather
    on_piece: OnPiece


class Wire(Protocol):
    """A provider's protocol, pure: no socket, clock or randomness. Any method may raise `ProtocolError`."""

    @property
    def protocol(self) -> ProtocolName: ...

    def head(self, spec: HeadSpec) -> Wording:
        """The members of the request object that never change, without braces and without the messages."""
        ...

    def body(self, head: Wording, messages: Sequence[Wording], *, stream: bool = False) -> bytes:
        """A request body: a join of text that exists already. `stream` asks for a stream, its usage included."""
        ...

    def head_for(self, head: Wording, model: str) -> Wording:
        """The same head for another model of the protocol, named as its provider does; all else stays verbatim."""
        ...

    def gather(self, names: Mapping[str, str]) -> Gather:
        """What puts one streamed reply together. `names`: wire name -> our name, for the pieces."""
        ...

    def restore(self, reply: Reply) -> bytes:
        """A response body that reads as `reply` does: for replaying what was recorded. Its calls need no mend again."""
        ...

    def user(self, parts: Sequence[Part]) -> Wording:
        """A user message."""
        ...

    def results(self, results: Sequence[ResultText]) -> Wording:
        """The answers to one reply's calls, in the model's order, with the provider's role, pairing and error form."""
        ...

    def reply(
        self,
        text: str = "",
        calls: Sequence[tuple[str, str, str]] = (),
        *,
        stop: Stop | None = None,
        usage: Usage | None = None,
        place: int = 0,
    ) -> bytes:
        """A whole response body as the provider would send it, from text and `(wire id, tool name, arguments JSON)`: for
        scripted models and fakes.

        Args:
            place: the number of messages that it answers; ids of items that must differ follow from it.
        """
        ...

    def read(self, body: bytes, reading: Reading) -> Reply:
        """Read a response."""
        ...

    def names(self, tools: Sequence[str]) -> Mapping[str, str]:
        """wire name -> our name, reversible: equal for equal lists, distinct for distinct names."""
        ...

    def load(self, messages: Sequence[Json]) -> tuple[Wording, ...]:
        """An imported history in provider form; refuses what the provider would refuse."""
        ...


class Model(Protocol):
    """A model that can be asked. `identity` is how a run records it: `provider:NAME`, never a URL or a key."""

    @property
    def identity(self) -> str: ...

    @property
    def name(self) -> str:
        """The provider's name for the model, as sent."""
        ...

    @property
    def wire(self) -> Wire: ...

    async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
        """Send one request body, return the response body.

        Args:
            body: the request.
            stream: takes in the stream that `body` asks for; None where it asks for none.

        Raises:
            ModelError: it failed; `retryable` and `details["retry_after_s"]` say if and when to ask again, and
                `code` is `model.refused_request` where the provider called the request itself wrong.
        """
        ...

    def digest(self) -> Digest:
        """Changes when the model, its provider or its address does."""
        ...

    async def aclose(self) -> None: ...
