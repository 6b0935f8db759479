"""An SDK client as the way to a provider: for clouds that sign requests and place models in their own manner.

Knows no cloud and imports no SDK: it uses what the clients document for endpoints they do not know, and their own
decoder where a cloud frames a stream its own way. Invariant: one call of `post` is at most one request; the client's
own retries are off, and what it raises is mapped once.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from remit.errors import InputError, ModelError, RemitError
from remit.model import failure
from remit.model.response import MOST_BYTES, StreamReader, reader_for
from remit.types.ident import Json
from remit.types.model import Streaming

if TYPE_CHECKING:
    from httpx2 import Response

__all__ = ["ClientSender", "platform_of"]

_AWS_FRAMES = "application/vnd.amazon.eventstream"
_PLATFORMS = {
    "Bedrock": "bedrock",
    "Vertex": "vertex",
    "Azure": "azure",
    "Foundry": "foundry",
    "GoogleCloud": "google-cloud",
    "AWS": "aws",
}
"""What the name of a client's class says about where its models run."""

_Post = Callable[..., Awaitable[object]]


def platform_of(client: object) -> str:
    """Where a client's models run, by its class; empty for the provider itself, and where it cannot be told."""
    for kind in type(client).__mro__:
        for word, platform in _PLATFORMS.items():
            if word in kind.__name__:
                return platform
    return ""


class ClientSender:
    """Requests through an asynchronous client of the `anthropic` or `openai` package; it stays its owner's to close.

    Args:
        path: where the provider's own API takes the request; the client makes of it what its cloud wants.
        most_bytes: the largest response that is taken in.

    Raises:
        InputError: this is no asynchronous client (`model.client`).
    """

    def __init__(self, client: object, path: str, *, most_bytes: int = MOST_BYTES) -> None:
        post = getattr(client, "post", None)
        if not inspect.iscoroutinefunction(post):
            message = (
                "`client` must be an asynchronous client of the anthropic or openai package, such as AsyncAnthropicBedrock"
            )
            raise InputError(message, code="model.client", given=type(client).__name__)
        self._client = client
        self._post = cast("_Post", post)
        self._path = path
        self._most_bytes = most_bytes

    @property
    def url(self) -> str:
        """The address that the client sends to, with the path that it is asked for."""
        return str(getattr(self._client, "base_url", "")).rstrip("/") + self._path

    async def post(self, body: bytes, stream: Streaming | None = None) -> bytes:
        """As `Sender.post`. The body is the same JSON, written again by the client."""
        from httpx2 import Response

        asked: dict[str, Json] = json.loads(body)
        once = {"max_retries": 0, "follow_redirects": False}
        begun = False
        try:
            answer = await self._post(self._path, cast_to=Response, body=asked, options=once, stream=True)
            begun = True
            # A client with middleware wraps the response in its stream, whatever it was asked to cast it to.
            response = cast("Response", getattr(answer, "response", answer))
            try:
                return await self._content(response, stream)
            finally:
                await response.aclose()
        except RemitError:
            raise
        except Exception as error:
            mapped = _mapped(error, begun=begun, streamed=stream is not None)
            raise mapped from (error if mapped.code == "model.client" else None)

    async def aclose(self) -> None:
        """Nothing: the client is closed by who made it."""

    async def _content(self, response: Response, stream: Streaming | None) -> bytes:
        headers = _read(response)
        content_type = headers.get("content-type", "")
        if response.status_code != 200:
            raise failure.refused(response.status_code, headers, await response.aread())
        reader = reader_for(stream, content_type, self._most_bytes)
        is_framed = isinstance(reader, StreamReader) and content_type.startswith(_AWS_FRAMES)
        chunks = self._events(response) if is_framed else response.aiter_bytes()
        async with aclosing(chunks):
            async for chunk in chunks:
                if reader.take(chunk):
                    break
        return reader.whole(headers)

    async def _events(self, response: Response) -> AsyncGenerator[bytes]:
        """The events of a stream in a cloud's own frames, read by the client's package and framed as elsewhere."""
        for kind in type(self._client).__mro__:
            package = sys.modules.get(kind.__module__.partition(".")[0])
            stream = getattr(package, "AsyncStream", None)
            if stream is not None:
                async for event in stream(cast_to=object, response=response, client=self._client):
                    yield f"event: {event.get('type', '')}\ndata: {json.dumps(event)}\n\n".encode()
                return
        raise failure.unusable("it is framed in a way that only the client's package reads")


def _read(response: object) -> Mapping[str, str]:
    headers = cast("Mapping[str, str]", getattr(response, "headers", None) or {})
    return {name.lower(): value for name, value in headers.items()}


def _mapped(error: Exception, *, begun: bool, streamed: bool) -> ModelError:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        response = getattr(error, "response", None)
        if begun:
            return failure.broken_off(_read(response), json.dumps(getattr(error, "body", None), default=str).encode())
        return failure.refused(status, _read(response), _body_of(response))
    names = _names(error)
    if names & {"ConnectTimeout", "PoolTimeout"}:
        return failure.timed_out("connect")
    if "WriteTimeout" in names:
        return failure.timed_out("send")
    if names & {"TimeoutException", "APITimeoutError"}:
        return failure.timed_out("idle" if begun else "first_byte")
    if not begun and names & {"ConnectError", "ProxyError", "UnsupportedProtocol"}:
        return failure.lost(sent=False, why="no connection")
    if names & {"TransportError", "RequestError", "StreamError", "APIConnectionError", "ParserError"}:
        return failure.cut() if begun and streamed else failure.lost(sent=True, why="the connection broke")
    message = f"the client raised {type(error).__name__}"
    return ModelError(message, code="model.client", retryable=False, sent=begun)


def _names(error: BaseException) -> set[str]:
    """What the error, and what it was raised from, is called; HTTP libraries of any version share these names."""
    names: set[str] = set()
    found: BaseException | None = error
    while found is not None and len(names) < 100:
        names.update(kind.__name__ for kind in type(found).__mro__)
        found = found.__cause__
    return names


def _body_of(response: object) -> bytes:
    """What a refusal said; the client has read it by now."""
    try:
        content = getattr(response, "content", b"")
    except Exception:  # of an HTTP library that has not
        return b""
    return content if isinstance(content, bytes) else b""
