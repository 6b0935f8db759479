"""Why there is no way to a provider: said in words, without its name, and asked again only where that may help."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import warnings
from pathlib import Path

import pytest

from model.server import Writer, listening, serving
from model.test_connection import CERTIFICATE, Proxy, failure
from remit import Agent, Escalated, Principal, Remit
from remit.errors import InputError
from remit.ledger import MemoryLedger
from remit.model import Anthropic, OpenAIChat
from remit.model.dial import dial


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "HTTP_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def _unused() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


async def _why(url: str) -> tuple[object, bool]:
    error = await failure(OpenAIChat("m", base_url=url))
    assert (error.code, error.details["sent"]) == ("model.unavailable", False)
    host = url.partition("://")[2].partition("/")[0].rpartition(":")[0] or url
    assert host not in error.message
    assert "is the base URL" in error.message or "certificate" in error.message or "proxy" in error.message
    return error.details["reason"], error.retryable


def test_a_name_that_is_not_found_and_a_port_where_nobody_listens_are_told_apart() -> None:
    assert asyncio.run(_why("http://no-such-host.invalid/v1")) == ("name_not_found", True)
    for host in ("127.0.0.1", "localhost"):
        assert asyncio.run(_why(f"http://{host}:{_unused()}/v1")) == ("refused", True)


def test_a_certificate_that_is_not_trusted_and_one_of_another_name_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with serving(tls=_tls()) as server:
            assert await _why(server.url) == ("certificate_untrusted", False)
            monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
            assert await _why(server.url.replace("127.0.0.1", "127.1")) == ("certificate_name", False)

    asyncio.run(story())


def test_a_server_without_tls_is_named_as_one() -> None:
    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()

    async def story() -> None:
        async with listening(talk) as (host, port):
            assert await _why(f"https://{host}:{port}") == ("no_tls", True)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("status", "reason", "retryable"),
    [(b"407 Who are you", "proxy_refused", False), (b"502 Not there", "proxy_failed", True)],
)
def test_what_a_proxy_answers_is_told(status: bytes, reason: str, retryable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with listening(Proxy(status).talk) as (host, port):
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{host}:{port}")
            error = await failure(Anthropic("m", api_key="k"))
            assert (error.details["reason"], error.retryable) == (reason, retryable)
            assert error.details["proxy_status"] == int(status[:3])
            assert "secret" not in f"{error!r}{error.details}"
        error = await failure(Anthropic("m", api_key="k"))
        assert error.details["reason"] == "proxy_unreachable"

    asyncio.run(story())


@pytest.mark.parametrize("content", [None, "nonsense"])
def test_certificates_that_cannot_be_read_are_named_with_their_variable(
    content: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "certificates.pem"
    if content is not None:
        place.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(place))
    with pytest.raises(InputError, match="SSL_CERT_FILE") as caught:
        asyncio.run(Anthropic("m", api_key="k").ask(b"{}"))
    assert (caught.value.code, caught.value.details["sent"]) == ("model.certificates", False)


def test_a_run_that_has_no_way_out_ends_with_the_reason_and_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> Escalated:
        agent = Agent(name="a", model=Anthropic("m", api_key="k"), instructions="x")
        async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
            ended = await remit.run("a", "hello", principal=Principal("alice"))
            assert isinstance(ended, Escalated)
            return ended

    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1080")
    ended = asyncio.run(story())
    assert ended.reason == "model.proxy"
    assert "socks" in (ended.explanation or "")
    monkeypatch.delenv("HTTPS_PROXY")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    assert asyncio.run(story()).reason == "model.certificates"


def test_who_stops_waiting_for_a_connection_leaves_no_socket_behind() -> None:
    """Over a listener whose queue is full, so that no further connection comes to stand."""

    async def story() -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            place = listener.getsockname()
            queued = [socket.socket() for _ in range(4)]
            try:
                for one in queued:
                    one.setblocking(False)
                    one.connect_ex(place)
                dialling = asyncio.ensure_future(dial(*place))
                done, _ = await asyncio.wait([dialling], timeout=0.05)
                assert not done
                dialling.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await dialling
            finally:
                for one in queued:
                    one.close()

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(story())
        gc.collect()
    assert [str(one.message) for one in warned] == []


def test_of_several_addresses_that_which_answers_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        writer.write(b"hello")
        await reader.read()

    async def story() -> None:
        loop = asyncio.get_running_loop()
        async with listening(talk) as (_, port):

            async def found(*_: object, **__: object) -> list[object]:
                places = [(socket.AF_INET6, ("::1", port, 0, 0)), (socket.AF_INET, ("127.0.0.1", port))]
                return [(family, socket.SOCK_STREAM, 6, "", place) for family, place in places]

            monkeypatch.setattr(loop, "getaddrinfo", found)
            transport = await dial("provider.example", port)
            assert await transport.read(10) == b"hello"
            transport.close()
            await asyncio.sleep(0)

    asyncio.run(story())
