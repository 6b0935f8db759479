"""Where nothing was sent, that is known, and said of every kind of write."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from model.server import listening
from remit import ambient
from remit.http import Http
from remit.tool import Context, Tool, never, tool, write
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, Succeeded
from service.payments import Desk, closed_port, desk_of, serving, told
from service.tools import RECOVERIES, acting, refund

CERTIFICATE = Path(__file__).parents[1] / "model" / "localhost.pem"


@asynccontextmanager
async def _deaf_to_tls() -> AsyncGenerator[str]:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with listening(talk) as (host, port):
        yield f"https://{host}:{port}/x"


@asynccontextmanager
async def _unknown_certificate() -> AsyncGenerator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(talk, tls=context) as (host, port):
        yield f"https://{host}:{port}/x"


@asynccontextmanager
async def _silent_at_tls() -> AsyncGenerator[str]:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(talk) as (host, port):
        yield f"https://{host}:{port}/x"


@asynccontextmanager
async def _just(url: str) -> AsyncGenerator[str]:
    yield url


UNSENT = {
    "refused": lambda: _just(f"http://127.0.0.1:{closed_port()}/x"),
    "no such name": lambda: _just("http://nowhere.invalid/x"),
    "name that cannot be": lambda: _just("http://a..b/x"),
    "no scheme": lambda: _just("payments.example/x"),
    "other scheme": lambda: _just("ftp://payments.example/x"),
    "no address": lambda: _just("http://["),
    "empty": lambda: _just(""),
    "not tls": _deaf_to_tls,
    "unknown certificate": _unknown_certificate,
    "silent at tls": _silent_at_tls,
}


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("kind", ["manual", "idempotent", "reconcile"])
@pytest.mark.parametrize("why", UNSENT)
def test_where_nothing_was_sent_every_kind_of_write_has_failed(why: str, kind: str, blocking: bool) -> None:
    async def story(desk: Desk) -> None:
        outcome = await desk.call("pay")
        assert isinstance(outcome, Failed)
        assert outcome.retry in ("no", "after")
        assert outcome.message in ("The service could not be reached, and nothing was sent.", "The request was not sent.")
        assert "not sent: " in await desk.evidence()
        assert (await desk.operation()).attempt == 1

    async def whole() -> None:
        async with UNSENT[why]() as url:
            url_of[0] = url
            await told_here(story)

    url_of = [""]

    async def pay(id: str, ctx: Context[str]) -> object:
        """Pay.

        Args:
            id: what
        """
        return await ctx.http.post(url_of[0], json={}, timeout_s=0.3 if why == "silent at tls" else 20)

    def pay_blocking(id: str, ctx: Context[str]) -> object:
        """Pay.

        Args:
            id: what
        """
        return ctx.http_sync.post(url_of[0], json={}, timeout_s=0.3 if why == "silent at tls" else 20)

    options = {"effect": write(once_per="id", recovery=RECOVERIES[kind]), "approve": never, "label": TRUSTED}
    made = tool(name="pay", **options)(pay_blocking if blocking else pay)  # type: ignore[call-overload]
    told_here = told_with(made)
    asyncio.run(whole())


def told_with(*tools: Tool) -> Callable[[Callable[[Desk], object]], object]:
    """`told`, inside a loop that runs."""

    async def here(story: Callable[[Desk], object]) -> None:
        with ambient.use(ambient.Seeded()):
            async with serving() as service, desk_of(service, tools) as desk:
                await story(desk)  # type: ignore[misc]

    return here


@pytest.mark.parametrize(
    "how",
    [
        {"headers": {"x": "a\nb"}},
        {"headers": {"": "x"}},
        {"json": {1, 2}},
        {"part": "a b"},
        {"timeout_s": 0},
        {"timeout_s": "5"},
        {"timeout_s": float("nan")},
        {"method": "connect"},
    ],
)
def test_what_cannot_be_written_is_not_sent(how: dict[str, object]) -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Failed)
        assert desk.service.asked == []

    told(story, refund(**how))  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [{"jsn": {}}, {"timeout": 5}, {"follow_redirects": True}, {"files": {}}])
def test_what_is_misspelt_or_unknown_is_not_sent(how: dict[str, object]) -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Failed)
        assert desk.service.connections == 0
        assert f"{next(iter(how))}= is nothing that is said of a request; " in await desk.evidence()

    told(story, refund(**how))


def test_a_proxy_that_does_not_let_it_through_has_sent_nothing() -> None:
    asked: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Failed)
        assert asked[0].startswith(b"CONNECT payments.example:443")

    async def pay(ctx: Context[str]) -> object:
        return await ctx.http.post("https://payments.example/x", json={})

    async def whole() -> None:
        async with listening(talk) as (host, port), serving() as service:
            http = Http(proxy=f"http://{host}:{port}")
            async with desk_of(service, [acting(pay)], http=http) as desk:
                await story(desk)

    asyncio.run(whole())


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_the_environment_is_not_asked_for_a_proxy_unless_it_is_to_be(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    async def through(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Succeeded)

    async def stopped(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Failed)

    told(through, refund())
    told(stopped, refund(), http=Http(trust_env=True))
