"""A provider on this machine: three protocols over real HTTP, plain and streamed, that refuses what the real ones refuse.

Invariant: a request that breaks a rule gets the provider's own error and takes no turn of the script; equal scripts,
seeds and requests give equal bytes, cut in equal places.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from random import Random
from types import TracebackType
from typing import cast

from remit import ambient
from remit.errors import InputError
from remit.model import Anthropic, OpenAIChat, OpenAIResponses
from remit.testing.provider.asked import Asked
from remit.testing.provider.book import RULES
from remit.testing.provider.error import broken_body, error_body, error_event
from remit.testing.provider.fault import Fault
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import Broken, first_broken
from remit.testing.provider.script import Script, Turns
from remit.testing.provider.server import Received, Response, Server, Wait
from remit.testing.provider.value import member
from remit.types.ident import Json
from remit.types.model import Model, ProtocolName
from remit.wire import render

__all__ = ["FakeProvider"]

_PATHS: dict[str, ProtocolName] = {
    "/v1/messages": "anthropic",
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
}
_MODELS = {"anthropic": Anthropic, "openai-chat": OpenAIChat, "openai-responses": OpenAIResponses}
_SIZES = (1, 2, 3, 7, 20, 60, 200, 1000, 4000)
"""Sizes of the pieces in which a body goes out, as far as they go."""


class FakeProvider:
    """A provider for tests: `async with FakeProvider(["Hello."]) as provider: ... provider.model("anthropic")`.

    Args:
        turns: the replies in their order as for `ScriptedModel`, with faults (`remit.testing.fault`) among them, each
            also as a function of the request body; or one function for all of them. Bytes are a whole response body;
            those of an event stream go out as they are. What a function raises is raised when the provider is left; a
            `ModelError` is answered as the error that it is.
        seed: decides where texts, arguments and bytes are cut.
    """

    def __init__(self, turns: Turns, *, seed: int = 0) -> None:
        self.requests: list[Received] = []
        """What it was asked, in order; also what it refused."""
        self.broken: list[Broken] = []
        """The rules that requests broke, in order."""
        self._script = Script(turns)
        self._seed = seed
        self._memory = Memory()
        self._server = Server(self._answer, self._deaf)
        self._url = ""
        self._released = asyncio.Event()
        self._stalled = asyncio.Event()
        self._models: list[Model] = []
        self._failed: list[Exception] = []

    async def __aenter__(self) -> FakeProvider:
        self._url = await self._server.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for model in self._models:
            await model.aclose()
        await self._server.aclose()
        if error is None and self._failed:
            raise self._failed[0]

    @property
    def url(self) -> str:
        """The address without `/v1`, as Anthropic's SDK takes it; OpenAI's takes `base_url`.

        Raises:
            InputError: it is not open.
        """
        if not self._url:
            raise InputError("the fake provider is not open: use it as `async with`", code="testing.provider")
        return self._url

    def base_url(self, protocol: ProtocolName) -> str:
        """The address as the models and SDKs of a protocol take it."""
        return self.url if protocol == "anthropic" else f"{self.url}/v1"

    def model(self, protocol: ProtocolName = "anthropic", name: str = "fake") -> Model:
        """A model that asks this provider; it is closed with it."""
        model = _MODELS[protocol](name, base_url=self.base_url(protocol), api_key="fake")
        self._models.append(model)
        return model

    def release(self) -> None:
        """Let go on what stalls, and what will."""
        self._released.set()

    async def stalled(self) -> None:
        """Return when a response has come to its stall."""
        await self._stalled.wait()

    def _deaf(self) -> bool:
        item = self._script.peek()
        if isinstance(item, Fault) and item.unheard == "before":
            self._script.skip()
            return True
        return False

    async def _answer(self, received: Received) -> Response | None:
        self.requests.append(received)
        number = len(self.requests)
        protocol = _PATHS.get(received.path.partition("?")[0])
        if protocol is None or received.method != "POST":
            body = error_body("anthropic" if "anthropic-version" in received.headers else "openai-chat", 404)
            return _plain(404, body)
        asked = Asked(protocol, received.body, self._memory)
        broken = first_broken(RULES[protocol], asked)
        if broken is not None:
            self.broken.append(broken)
            return _plain(400, broken_body(broken))
        try:
            fault = await self._script.next(asked)
            return None if fault.unheard else self._response(asked, fault, Random(f"{self._seed}.{number}"))
        except Exception as error:  # the script's functions are the test's own code
            self._failed.append(error)
            return _plain(400, error_body(protocol, 400, f"the script of the fake provider failed: {type(error).__name__}"))

    def _response(self, asked: Asked, fault: Fault, chance: Random) -> Response:
        body = fault.body or b""
        good = fault.status == 200
        streams = good and asked.body.get("stream") is True
        if good and fault.reply is not None:
            _remember(asked, body)
        if streams and fault.reply is not None and not _is_stream(body):
            usage = member(asked.body, "stream_options").get("include_usage") is True
            events = [*render(asked.protocol, body, seed=chance.getrandbits(32), usage=usage)]
            if fault.error_after is not None:
                events[fault.error_after :] = [error_event(asked.protocol, fault.error_status)]
            body = b"".join(events)
        whole = body * fault.times
        kind = "text/event-stream; charset=utf-8" if streams or _is_stream(body) else "application/json"
        at = len(whole) if fault.cut_at is None else min(fault.cut_at, len(whole))
        return Response(
            status=fault.status,
            headers={"content-type": kind, "request-id": "req_fake", "x-request-id": "req_fake", **fault.headers},
            pieces=[*self._pieces(whole[:at], fault, chance)],
            end="whole" if fault.cut_at is None or fault.end == "clean" else fault.end,
        )

    def _pieces(self, body: bytes, fault: Fault, chance: Random) -> Iterator[bytes | Wait]:
        """The body in pieces of random sizes, with the stall where it belongs."""
        start, stall = 0, fault.stall_at
        while True:
            end = min(start + chance.randint(1, chance.choice(_SIZES)), len(body))
            if stall is not None and start <= stall <= end:
                if stall > start:
                    yield body[start:stall]
                yield Wait(lambda: self._hold(fault.stall_s))
                start, stall = stall, None
                continue
            if start >= len(body):
                return
            yield body[start:end]
            start = end

    async def _hold(self, seconds: float | None) -> None:
        self._stalled.set()
        if seconds is None:
            await self._released.wait()
        else:
            await ambient.sleep(seconds)


def _remember(asked: Asked, body: bytes) -> None:
    try:
        said = cast("Json", json.loads(body))
    except ValueError:
        return
    if isinstance(said, dict):
        asked.answered(said)


def _is_stream(body: bytes) -> bool:
    return body.lstrip().startswith((b"data:", b"event:", b":"))


def _plain(status: int, body: bytes) -> Response:
    pieces: Sequence[bytes | Wait] = [body]
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    return Response(status=status, headers=headers, pieces=pieces)
