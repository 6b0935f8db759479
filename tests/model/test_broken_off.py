"""A provider that breaks a stream off: the failure is told at once, whatever the connection does then."""

from __future__ import annotations

import asyncio

import pytest

from model.server import serving
from remit.errors import ModelError
from remit.model import Anthropic
from remit.types.model import Streaming

SAID = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"later"}}\n\n'


def test_after_the_providers_error_nothing_more_is_waited_for() -> None:
    async def stall(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + SAID)
        await writer.drain()

    async def story() -> None:
        async with serving(stall) as server:
            model = Anthropic("m", base_url=server.url, api_key="k")
            async with asyncio.timeout(10):
                with pytest.raises(ModelError) as caught:
                    await model.ask(b"{}", Streaming(model.wire.gather({}), lambda _: None))
            assert caught.value.code == "model.overloaded"
            await server.until(ended=1)
            await model.aclose()

    asyncio.run(story())
