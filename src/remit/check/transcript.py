"""A transcript as no protocol writes it: who said what, what was called and what came of it, each with its place.

Knows no protocol and no rule. Invariant: two transcripts are equal when they say the same, wherever it stands and
however it is spelt; what a provider wrote is kept beside it, as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from remit.canonical import encode, parse
from remit.errors import InputError
from remit.types.ident import Json
from remit.types.model import ProtocolName

__all__ = [
    "Call",
    "Content",
    "Declared",
    "Form",
    "Item",
    "Kind",
    "Media",
    "Message",
    "Opaque",
    "Refused",
    "Result",
    "Role",
    "Text",
    "Thought",
    "Transcript",
    "meaning",
]

Form = ProtocolName
"""Whose protocol a document is written in."""

Role = Literal["system", "user", "assistant", "tool"]
"""Who says it. Results are the tool's, whichever role the provider wants them in."""

Kind = Literal["function", "functions", "custom", "hosted"]
"""A call with JSON; the same in OpenAI's old `functions` form, which has no ids; one with free text; one of a provider's
own tools that the application runs."""


def meaning(arguments: str) -> str:
    """One text for equal JSON; what is no JSON means its own text."""
    try:
        return encode(parse(arguments))
    except InputError:
        return arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Visible text."""

    text: str
    place: str = field(default="", compare=False)
    raw: Json = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image, a file or a sound.

    Args:
        kind: `image`, `file` or `audio`.
        data: its base64 text, where it is in the document.
        url: its address or the provider's id for it, where it is not.
        media_type: for example `image/png`; empty where it is not said.
        name: of a file.
    """

    kind: Literal["image", "file", "audio"]
    data: str = ""
    url: str = ""
    media_type: str = ""
    name: str = ""
    place: str = field(default="", compare=False)
    raw: Json = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """Thinking or reasoning. `seal` is what the provider proves it by: a signature, or the encrypted whole."""

    text: str
    seal: str = ""
    place: str = field(default="", compare=False)
    raw: Json = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The model's words for not doing it, where the protocol keeps them apart."""

    text: str
    place: str = field(default="", compare=False)
    raw: Json = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """What only its provider can say: a tool that it ran itself, a reference, a compaction. `kind` is its type."""

    kind: str
    place: str = field(default="", compare=False)
    raw: Json = field(default=None, compare=False)


Content = Text | Media | Opaque
"""What a result is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A proposal to run a tool.

    Args:
        id: the one on the wire, empty where there is none.
        name: as sent.
        arguments: JSON text as it stands in the document; of `custom` the free text.
        asked: what `meaning` makes of the arguments: how two calls are compared.
        waits: whether an answer is due before the model is asked again.
    """

    id: str
    name: str
    arguments: str = field(compare=False)
    asked: str
    kind: Kind = "function"
    waits: bool = True
    place: str = field(default="", compare=False)
    raw: Json = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a call.

    Args:
        id: of the call that it answers, empty where there is none.
        said: what it is made of.
        name: the tool's, where the protocol says it.
        error: the provider's flag; False where it has none.
    """

    id: str
    said: tuple[Content, ...]
    name: str = field(default="", compare=False)
    error: bool = False
    kind: Kind = field(default="function", compare=False)
    place: str = field(default="", compare=False)
    raw: Json = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """Its text, joined."""
        return "\n".join(one.text for one in self.said if isinstance(one, Text))


Item = Text | Media | Thought | Call | Result | Refused | Opaque
"""One thing that is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What one party says before another one does.

    Consecutive messages of one role are one, and a user's message that brings results is a tool's and a user's.

    Args:
        written: the messages or items of the document that it is made of, each with its place.
        stop: why the model stopped, in the provider's words; empty where that is not in the document.
        received: it is a response, which no request has sent back yet.
    """

    role: Role
    said: tuple[Item, ...]
    written: tuple[tuple[str, Mapping[str, Json]], ...] = field(default=(), compare=False)
    stop: str = field(default="", compare=False)
    received: bool = field(default=False, compare=False)

    @property
    def places(self) -> tuple[str, ...]:
        """Where it is written."""
        return tuple(place for place, _ in self.written)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls in it."""
        return tuple(one for one in self.said if isinstance(one, Call))

    @property
    def results(self) -> tuple[Result, ...]:
        """The results in it."""
        return tuple(one for one in self.said if isinstance(one, Result))

    @property
    def text(self) -> str:
        """Its visible text, joined."""
        return "\n".join(one.text for one in self.said if isinstance(one, Text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A tool that a request declares. A provider's own has its type as its name, and no schema."""

    name: str
    description: str = ""
    schema: Json = None
    strict: bool | None = None
    kind: Kind = "function"
    place: str = field(default="", compare=False)
    raw: Json = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One request, exchange, response or list of messages.

    Args:
        form: the protocol it was read from.
        system: the instructions in front of the conversation.
        tools: what is declared; None where the document is no request and says nothing about it.
        messages: in their order, the response last where there is one.
        settings: all other members of the request, as they were.
        place: of the request in its document, empty where it is the whole.
        asked: whether it is a whole request, which must be one that its provider takes.
        reaches: earlier messages are kept at the provider, so calls may be there and not here.
    """

    form: Form = field(compare=False)
    system: tuple[Text, ...] = ()
    tools: tuple[Declared, ...] | None = None
    messages: tuple[Message, ...] = ()
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json], compare=False)
    place: str = field(default="", compare=False)
    asked: bool = field(default=False, compare=False)
    reaches: bool = field(default=False, compare=False)

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls, in their order."""
        return tuple(call for message in self.messages for call in message.calls)

    @property
    def written(self) -> tuple[tuple[str, Mapping[str, Json]], ...]:
        """The messages or items of the document, each with its place."""
        return tuple({place: (place, raw) for message in self.messages for place, raw in message.written}.values())
