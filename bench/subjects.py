"""What is measured: each subject is a module, what it is called with, and the environment that it runs in."""

from __future__ import annotations

from dataclasses import dataclass, field

PROTOCOLS = ("anthropic", "chat", "responses")

Given = dict[str, str | bool]


@dataclass(frozen=True)
class Subject:
    """One row of the table.

    Args:
        name: what the row is called.
        kind: `floor`, `lean`, `own` or `peer`.
        protocol: which the fake model is spoken to in.
        module: dotted, below this folder.
        given: what its `run` is called with, beside the task.
        durable: whether what happened survives the process.
        streamed: whether replies come as streams.
        family: whose environment it needs: a file of `peer/requirements`; None is the project's own.
    """

    name: str
    kind: str
    protocol: str
    module: str
    given: Given = field(default_factory=dict)
    durable: bool = False
    streamed: bool = False
    family: str | None = None

    @property
    def floor(self) -> str:
        """The name of the floor that it is held against."""
        return f"floor {self.protocol}{' journal' if self.durable else ''}{' stream' if self.streamed else ''}"

    @property
    def floors(self) -> tuple[str, ...]:
        """The names of all floors that it is held against."""
        return (self.floor,) if self.durable or self.streamed else (self.floor, f"lean floor {self.protocol}")


def _floors(protocol: str) -> list[Subject]:
    name, module = f"floor {protocol}", f"floor.{protocol}"
    return [
        Subject(name, "floor", protocol, module),
        Subject(f"lean floor {protocol}", "lean", protocol, "floor.lean", {"protocol": protocol}),
        Subject(f"{name} stream", "floor", protocol, module, {"stream": True}, streamed=True),
        Subject(f"{name} journal", "floor", protocol, "floor.journal", {"protocol": protocol}, durable=True),
    ]


def _own(protocol: str) -> list[Subject]:
    name, module, given = f"remit {protocol}", "own.loop", {"protocol": protocol}
    durable: Given = {**given, "durable": True, "effect": "write"}
    return [
        Subject(name, "own", protocol, module, {**given}),
        Subject(f"{name} stream", "own", protocol, module, {**given, "stream": True}, streamed=True),
        Subject(f"{name} sqlite write", "own", protocol, module, durable, durable=True),
    ]


def _peer(
    name: str, protocol: str, family: str, *, durable: bool = False, streamed: bool = False, **given: str | bool
) -> Subject:
    module = f"peer.{family}"
    given = {"protocol": protocol, **given}
    return Subject(name, "peer", protocol, module, given, durable=durable, streamed=streamed, family=family)


PEERS = [
    _peer("anthropic tool runner", "anthropic", "anthropic_sdk"),
    _peer("anthropic tool runner stream", "anthropic", "anthropic_sdk", streamed=True, stream=True),
    _peer("openai sdk, own loop", "chat", "openai_sdk"),
    _peer("openai-agents chat", "chat", "openai_agents"),
    _peer("openai-agents responses", "responses", "openai_agents"),
    _peer("openai-agents sqlite session", "chat", "openai_agents", durable=True, session=True),
    _peer("pydantic-ai anthropic", "anthropic", "pydantic_ai"),
    _peer("pydantic-ai chat", "chat", "pydantic_ai"),
    _peer("pydantic-ai responses", "responses", "pydantic_ai"),
    _peer("langchain anthropic", "anthropic", "langchain"),
    _peer("langchain chat", "chat", "langchain"),
    _peer("langchain sqlite", "anthropic", "langchain", durable=True, checkpoints=True),
    _peer("agno chat", "chat", "agno"),
]

SUBJECTS = {
    subject.name: subject
    for subject in [
        *(one for protocol in PROTOCOLS for one in (*_floors(protocol), *_own(protocol))),
        *PEERS,
    ]
}
