"""What happens to connections: kept, lost, cancelled, through a proxy; and a request is on the wire once or not at all."""

from __future__ import annotations

import asyncio
import base64
import gc
import ssl
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from model.server import Answer, Server, Writer, answer, hang_up, listening, nothing, raw, serving
from remit.errors import InputError, ModelError
from remit.model import Anthropic, OpenAIChat, Timeouts
from remit.model.sender import Sender
from remit.types.model import Model

CERTIFICATE = Path(__file__).with_name("localhost.pem")
"""A key and a certificate of its own making for 127.0.0.1 and localhost; it protects nothing."""


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "HTTP_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def run(story: Callable[[Server, Model], Awaitable[None]], *answers: Answer, timeouts: Timeouts | None = None) -> None:
    async def whole() -> None:
        async with serving(*answers) as server:
            model = OpenAIChat("m", base_url=server.url, timeouts=timeouts)
            await story(server, model)
            await model.aclose()

    asyncio.run(whole())


async def failure(model: Model, body: bytes = b"{}") -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.ask(body)
    return caught.value


def then_close(first: Answer) -> Answer:
    async def write(writer: Writer) -> None:
        await first(writer)
        writer.close()

    return write


def test_a_kept_connection_that_the_server_closed_meanwhile_is_not_used() -> None:
    async def story(server: Server, model: Model) -> None:
        await model.ask(b"1")
        await server.until(ended=1)
        assert await model.ask(b"2") == b"{}"
        assert (server.bodies, server.connections) == ([b"1", b"2"], 2)

    run(story, then_close(answer()), answer())


def test_a_connection_that_closes_on_the_request_fails_once_and_is_not_tried_again_by_itself() -> None:
    async def story(server: Server, model: Model) -> None:
        await model.ask(b"1")
        error = await failure(model, b"2")
        assert (error.code, error.retryable, error.details["sent"]) == ("model.unavailable", True, True)
        assert (server.bodies, server.connections) == ([b"1", b"2"], 1)
        assert await model.ask(b"3") == b"{}"

    run(story, answer(), hang_up, answer())


def test_a_connection_that_breaks_in_the_middle_of_the_request_is_not_tried_again_by_itself() -> None:
    heads: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        await reader.readexactly(10)
        writer.transport.abort()

    async def story() -> None:
        async with listening(talk) as (host, port):
            model = OpenAIChat("m", base_url=f"http://{host}:{port}")
            error = await failure(model, b"x" * (8 << 20))
            assert (error.code, error.retryable, error.details["sent"]) == ("model.unavailable", True, True)
            assert len(heads) == 1
            await model.aclose()

    asyncio.run(story())


def test_an_answer_that_comes_before_the_request_is_through_is_heard() -> None:
    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await answer("413 Too Large")(writer)
        while await reader.read(1 << 16):
            pass
        writer.close()

    async def story() -> None:
        async with listening(talk) as (host, port):
            model = OpenAIChat("m", base_url=f"http://{host}:{port}")
            assert (await failure(model, b"x" * (8 << 20))).code == "model.context_full"
            await model.aclose()

    asyncio.run(story())


def test_a_request_and_its_head_leave_in_one_piece() -> None:
    came: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        came.append(await reader.read(1 << 16))
        await answer()(writer)
        writer.close()

    async def story() -> None:
        async with listening(talk) as (host, port):
            model = OpenAIChat("m", base_url=f"http://{host}:{port}")
            await model.ask(b"the body")
            await model.aclose()

    asyncio.run(story())
    assert came[0].startswith(b"POST /chat/completions HTTP/1.1\r\n")
    assert came[0].endswith(b"\r\n\r\nthe body")


def test_who_stops_waiting_closes_the_connection() -> None:
    async def story(server: Server, model: Model) -> None:
        asking = asyncio.ensure_future(model.ask(b"1"))
        await server.until(asked=1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await model.ask(b"2") == b"{}"
        assert server.connections == 2

    async def waits(writer: Writer) -> None:
        await writer.drain()

    run(story, waits, answer())


def test_a_request_under_way_when_the_model_is_closed_comes_to_its_end() -> None:
    release = asyncio.Event()

    async def late(writer: Writer) -> None:
        await release.wait()
        await answer()(writer)

    async def story(server: Server, model: Model) -> None:
        asking = asyncio.ensure_future(model.ask(b"1"))
        await server.until(asked=1)
        await model.aclose()
        release.set()
        assert await asking == b"{}"
        await server.until(ended=1)

    run(story, late)


def test_a_server_that_takes_nothing_in_is_waited_for_as_long_as_was_said() -> None:
    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.Event().wait()

    async def story() -> None:
        async with listening(talk) as (host, port):
            model = OpenAIChat("m", base_url=f"http://{host}:{port}", timeouts=Timeouts(idle=0.1))
            error = await failure(model, b"x" * (32 << 20))
            assert (error.code, error.details["phase"]) == ("model.timeout", "send")
            await model.aclose()

    asyncio.run(story())


def test_a_large_response_comes_whole() -> None:
    body = bytes(range(256)) * (5 << 12)

    async def story(server: Server, model: Model) -> None:
        assert await model.ask(b"{}") == body
        assert await model.ask(b"{}") == b"{}"
        assert server.connections == 1

    run(story, answer(body=body), answer())


def test_a_response_that_is_too_large_is_refused_before_it_is_taken_in() -> None:
    async def story() -> None:
        async with serving(answer(body=b"x" * 11), answer(body=b"x" * 10)) as server:
            sender = Sender(server.url + "/v1", dict, Timeouts(), most_bytes=10)
            with pytest.raises(ModelError, match="too large") as caught:
                await sender.post(b"{}")
            assert (caught.value.code, caught.value.retryable) == ("model.unusable", False)
            assert await sender.post(b"{}") == b"x" * 10
            await sender.aclose()

    asyncio.run(story())


def test_a_compressed_response_is_not_asked_for_and_refused() -> None:
    async def story(server: Server, model: Model) -> None:
        error = await failure(model)
        assert (error.code, error.retryable) == ("model.unusable", False)
        assert "accept-encoding: identity" in server.heads[0].lower()
        assert await model.ask(b"{}") == b"{}"

    run(story, answer(content_encoding="gzip"), answer(content_encoding="identity"))


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"],
        [b"HTTP/1.0 200 OK\r\n\r\n", b"{", b"}"],
        [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", b"{}"],
        [b"HT", b"TP/1.1 200 OK\r\ncontent-len", b"gth: 2\r\n\r", b"\n{", b"}"],
    ],
)
def test_every_way_to_answer_is_understood(pieces: list[bytes]) -> None:
    async def story(server: Server, model: Model) -> None:
        assert await model.ask(b"1") == b"{}"
        await server.until(ended=1)
        assert await model.ask(b"2") == b"{}"

    run(story, raw(*pieces, close=True), answer())


@pytest.mark.parametrize(
    "garbage", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x16\r\n\r\n"]
)
def test_what_is_no_http_is_a_broken_connection(garbage: bytes) -> None:
    async def story(server: Server, model: Model) -> None:
        error = await failure(model)
        assert (error.code, error.details["sent"]) == ("model.unavailable", True)

    run(story, raw(garbage, close=True))


LENGTH = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("whole", [LENGTH + b'{"a": 12}', CHUNKED + b'4\r\n{"a"\r\n5\r\n: 12}\r\n0\r\n\r\n'])
def test_a_response_cut_at_any_byte_is_never_taken_for_whole(whole: bytes) -> None:
    cuts = range(1, len(whole))

    async def story(server: Server, model: Model) -> None:
        for _ in cuts:
            error = await failure(model)
            assert (error.code, error.retryable, error.details["sent"]) == ("model.unavailable", True, True)
        for _ in cuts:
            assert await model.ask(b"{}") == b'{"a": 12}'
        assert len(server.bodies) == 2 * len(cuts)

    run(story, *(raw(whole[:at], close=True) for at in cuts), *(raw(whole[:at], whole[at:]) for at in cuts))


def test_many_requests_at_once_have_a_connection_each_and_some_are_kept() -> None:
    async def story(server: Server, model: Model) -> None:
        count = 100
        bodies = [b"%d" % number for number in range(count)]
        assert await asyncio.gather(*map(model.ask, bodies)) == [b"{}"] * count
        assert (sorted(server.bodies), server.connections) == (sorted(bodies), count)
        await server.until(ended=count - 64)
        assert await asyncio.gather(*map(model.ask, bodies[:64])) == [b"{}"] * 64
        assert server.connections == count

    run(story, *[answer()] * 164)


def test_what_nobody_asked_for_answers_no_request() -> None:
    whole = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

    async def story(server: Server, model: Model) -> None:
        assert await model.ask(b"1") == b"{}"
        assert await model.ask(b"2") == b"[]"
        assert (server.bodies, server.connections) == ([b"1", b"2"], 2)

    run(story, raw(whole + whole), answer(body=b"[]"))


def test_an_address_with_a_user_in_it_says_so_in_the_usual_header() -> None:
    async def story() -> None:
        async with serving(answer()) as server:
            url = server.url.replace("http://", "http://user:p%40ss@")
            model = OpenAIChat("m", base_url=url + "/a b")
            await model.ask(b"{}")
            await model.aclose()
            head = server.heads[0]
            assert head.startswith("POST /a%20b/chat/completions HTTP/1.1")
            assert f"Basic {base64.b64encode(b'user:p@ss').decode()}" in head
            assert "@" not in head

    asyncio.run(story())


def test_a_host_that_cannot_be_one_was_sent_nothing() -> None:
    for host in ("no-such-host.invalid", "a..b", "x" * 64 + ".example"):
        error = asyncio.run(failure(OpenAIChat("m", base_url=f"http://{host}/v1")))
        assert (error.code, error.details["sent"]) == ("model.unavailable", False)
        assert host not in str(error)


def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def test_certificates_come_from_the_environment_and_others_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with serving(answer(), answer(body=b"x" * (1 << 20)), tls=_tls()) as server:
            error = await failure(OpenAIChat("m", base_url=server.url))
            assert (error.code, error.details["sent"], server.bodies) == ("model.unavailable", False, [])
            monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
            model = OpenAIChat("m", base_url=server.url, api_key="k")
            assert await model.ask(b"1") == b"{}"
            assert await model.ask(b"2") == b"x" * (1 << 20)
            assert (server.bodies, server.connections) == ([b"1", b"2"], 1)
            await model.aclose()

    asyncio.run(story())


def test_certificates_may_come_from_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ce275665.0").write_text(CERTIFICATE.read_text())  # as `openssl rehash` names it

    async def story() -> None:
        async with serving(answer(), tls=_tls()) as server:
            monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
            model = OpenAIChat("m", base_url=server.url)
            assert await model.ask(b"1") == b"{}"
            await model.aclose()

    asyncio.run(story())


def test_a_server_that_never_shakes_hands_is_waited_for_as_long_as_was_said() -> None:
    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        while await reader.read(1 << 16):
            pass

    async def story() -> None:
        async with listening(talk) as (host, port):
            model = OpenAIChat("m", base_url=f"https://{host}:{port}", timeouts=Timeouts(connect=0.05))
            error = await failure(model)
            assert (error.code, error.details["phase"], error.details["sent"]) == ("model.timeout", "connect", False)
            await model.aclose()

    asyncio.run(story())


class Proxy:
    """Lets connections through to anywhere, and remembers what it was asked."""

    def __init__(self, status: bytes = b"200 Connection established") -> None:
        self.heads: list[str] = []
        self._status = status

    async def talk(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        writer.write(b"HTTP/1.1 " + self._status + b"\r\n\r\n")
        if not self._status.startswith(b"2"):
            writer.close()
            return
        host, _, port = head.split()[1].rpartition(":")
        there, away = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_pass(reader, away), _pass(there, writer))


async def _pass(reader: asyncio.StreamReader, writer: Writer) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY", "https_proxy"])
def test_the_way_out_to_a_provider_is_the_environments_proxy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        proxy = Proxy()
        async with serving(answer(), answer(), answer(), tls=_tls()) as server, listening(proxy.talk) as (host, port):
            monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
            monkeypatch.setenv(variable, f"http://me:p%40ss@{host}:{port}")
            model = Anthropic("m", base_url=server.url, api_key="secret-key")
            await model.ask(b"1")
            await model.ask(b"2")
            await model.aclose()
            assert len(proxy.heads) == 1
            assert proxy.heads[0].startswith(f"CONNECT {server.url.removeprefix('https://')} HTTP/1.1")
            assert f"Basic {base64.b64encode(b'me:p@ss').decode()}" in proxy.heads[0]
            assert "secret-key" not in proxy.heads[0]
            assert server.bodies == [b"1", b"2"]
            assert not any("proxy-authorization" in head.lower() for head in server.heads)
            monkeypatch.setenv("NO_PROXY", "other.example, 127.0.0.1")
            straight = Anthropic("m", base_url=server.url, api_key="k")
            await straight.ask(b"3")
            await straight.aclose()
            assert len(proxy.heads) == 1

    asyncio.run(story())


def test_a_proxy_that_lets_nobody_through_means_that_nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with listening(Proxy(b"407 Who are you").talk) as (host, port):
            monkeypatch.setenv("HTTPS_PROXY", f"{host}:{port}")
            error = await failure(Anthropic("m", api_key="k"))
            assert (error.code, error.details["sent"]) == ("model.unavailable", False)

    asyncio.run(story())


@pytest.mark.parametrize("url", ["socks5://127.0.0.1:1080", "socks4://127.0.0.1:1080", "ftp://x", "http://x:no", "http://"])
def test_a_proxy_that_cannot_be_used_is_refused_with_the_mend(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", url)
    with pytest.raises(InputError, match="socks") as caught:
        asyncio.run(Anthropic("m", api_key="k").ask(b"{}"))
    assert caught.value.code == "model.proxy"


def test_an_event_loop_that_ended_is_let_go() -> None:
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []
    models: list[Model] = []

    async def story() -> None:
        async with serving(then_close(answer())) as server:
            loops.append(weakref.ref(asyncio.get_running_loop()))
            models[:] = models or [OpenAIChat("m", base_url=server.url)]
            with suppress(ModelError):  # the second server has another port
                await models[0].ask(b"{}")
                await server.until(ended=1)

    for _ in range(2):
        asyncio.run(story())
    gc.collect()
    assert loops[0]() is None


def test_nothing_is_sent_where_nobody_waits_for_an_answer() -> None:
    async def story(server: Server, model: Model) -> None:
        asking = asyncio.ensure_future(model.ask(b"1"))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await model.ask(b"2")
        assert server.bodies == [b"2"]

    run(story, answer(), nothing)
