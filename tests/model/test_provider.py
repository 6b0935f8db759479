"""Providers' models over real connections: addresses, keys, failures and waits, and nothing said that is secret."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from model.server import Answer, Server, answer, half, hang_up, nothing, serving, torn
from remit import ambient
from remit.errors import InputError, ModelError
from remit.model import Anthropic, OpenAIChat, OpenAIResponses, Timeouts, need_key, resolve
from remit.types.model import Model

KEY = "sk-very-secret-key"
SECRETS = (KEY, "127.0.0.1", "body-secret", "http:")


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def asked(*answers: Answer, timeouts: Timeouts | None = None) -> tuple[bytes | ModelError, Server]:
    """Ask once, of a server that answers so."""

    async def story() -> tuple[bytes | ModelError, Server]:
        async with serving(*answers) as server:
            model = OpenAIChat("gpt", base_url=server.url + "/v1/", api_key=KEY, timeouts=timeouts)
            try:
                return await model.ask(b'{"body-secret":1}'), server
            except ModelError as error:
                return error, server
            finally:
                await model.aclose()

    return asyncio.run(story())


def failed(*answers: Answer, timeouts: Timeouts | None = None) -> ModelError:
    error, _ = asked(*answers, timeouts=timeouts)
    assert isinstance(error, ModelError)
    for said in (str(error), repr(error), repr(error.details), repr(pickle.loads(pickle.dumps(error)))):
        assert not any(secret in said for secret in SECRETS)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    return error


def error_body(kind: str, code: str | None = None, message: str = "body-secret") -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "code": code, "message": message}}).encode()


MODELS: list[tuple[Callable[..., Model], str, str, str]] = [
    (Anthropic, "/v1/messages", f"x-api-key: {KEY}", "anthropic:m"),
    (OpenAIResponses, "/responses", f"authorization: Bearer {KEY}", "openai:m"),
    (OpenAIChat, "/chat/completions", f"authorization: Bearer {KEY}", "openai-chat:m"),
]


@pytest.mark.parametrize(("kind", "path", "auth", "identity"), MODELS)
def test_a_request_is_the_bytes_that_were_given_and_so_is_the_reply(kind: Any, path: str, auth: str, identity: str) -> None:
    async def story() -> None:
        async with serving(answer(body=b' {"\xc3\xa9" : 1}\n')) as server:
            model = kind("m", base_url=server.url, api_key=KEY)
            assert await model.ask(b'{ "a":1 }') == b' {"\xc3\xa9" : 1}\n'
            assert server.bodies == [b'{ "a":1 }']
            first, *lines = server.heads[0].split("\r\n")
            assert first == f"POST {path} HTTP/1.1"
            lines = [line.split(":")[0].lower() + ":" + line.partition(":")[2] for line in lines]
            assert auth in lines
            assert "content-type: application/json" in lines
            assert ("anthropic-version: 2023-06-01" in lines) == (identity == "anthropic:m")
            assert (model.identity, model.name) == (identity, "m")
            assert KEY not in repr(model)
            await model.aclose()

    asyncio.run(story())


STATUSES: list[tuple[str, bytes, str, bool]] = [
    ("400 Bad Request", error_body("invalid_request_error"), "model.refused_request", False),
    ("400 Bad Request", error_body("invalid_request_error", "context_length_exceeded"), "model.context_full", False),
    ("400 Bad Request", error_body("invalid_request_error", message="prompt is too long: 9 > 8"), "model.context_full", False),
    ("401 Unauthorized", error_body("authentication_error"), "model.unauthorized", False),
    ("403 Forbidden", b"<html>body-secret</html>", "model.unauthorized", False),
    ("404 Not Found", b"", "model.refused_request", False),
    ("408 Request Timeout", b"", "model.timeout", True),
    ("409 Conflict", b"", "model.unavailable", True),
    ("413 Too Large", b"", "model.context_full", False),
    ("422 Unprocessable", b"[1]", "model.refused_request", False),
    ("429 Too Many", error_body("rate_limit_error"), "model.rate_limited", True),
    ("429 Too Many", error_body("x", "insufficient_quota"), "model.unauthorized", False),
    ("500 Server Error", error_body("api_error"), "model.unavailable", True),
    ("503 Unavailable", error_body("overloaded_error"), "model.overloaded", True),
    ("503 Unavailable", b"", "model.unavailable", True),
    ("504 Gateway Timeout", b"", "model.timeout", True),
    ("529 Overloaded", b"{", "model.overloaded", True),
    ("302 Found", b"", "model.refused_request", False),
    ("204 No Content", b"", "model.refused_request", False),
]


@pytest.mark.parametrize(("status", "body", "code", "retryable"), STATUSES)
def test_a_refusal_of_the_provider_is_named_once_and_says_nothing_secret(
    status: str, body: bytes, code: str, retryable: bool
) -> None:
    error = failed(answer(status, body, location="http://elsewhere/body-secret"))
    assert (error.code, error.retryable) == (code, retryable)
    assert error.details["status"] == int(status[:3])


@pytest.mark.parametrize("ending", [hang_up, nothing])
def test_a_refusal_stands_though_the_rest_of_it_does_not_come(ending: Answer) -> None:
    async def answer_half(writer: Any) -> None:
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 100\r\n\r\n{")
        await writer.drain()
        await ending(writer)

    error = failed(answer_half, timeouts=Timeouts(idle=0.05))
    assert (error.code, error.retryable) == ("model.unauthorized", False)


def test_a_failed_request_is_sent_once() -> None:
    error, server = asked(answer("500 Server Error"), answer())
    assert isinstance(error, ModelError)
    assert len(server.bodies) == 1


def test_the_provider_may_say_whether_to_ask_again() -> None:
    assert failed(answer("500 Server Error", x_should_retry="false")).retryable is False
    assert failed(answer("400 Bad Request", x_should_retry="true")).retryable is True


def test_the_providers_own_words_are_kept_only_where_they_are_words() -> None:
    error = failed(answer("400 Bad Request", error_body("invalid_request_error", "bad_tool"), request_id="req_1"))
    assert (error.details["reason"], error.details["request_id"]) == ("bad_tool", "req_1")
    error = failed(answer("400 Bad Request", error_body("see http://127.0.0.1"), request_id="body-secret http:"))
    assert "reason" not in error.details
    assert "request_id" not in error.details


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after": "Thu, 01 Jan 2026 00:01:00 GMT"}, 60.0),
        ({"retry_after": "Thu, 01 Jan 2015 00:00:00 GMT"}, 0.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "nan"}, None),
        ({}, None),
    ],
)
def test_when_to_ask_again_is_read_in_seconds_or_as_a_date(headers: dict[str, str], expected: float | None) -> None:
    with ambient.use(ambient.Seeded(start_ms=1_767_225_600_000, step_ms=0)):
        error = failed(answer("429 Too Many", **headers))
    assert error.details.get("retry_after_s") == expected


def test_each_wait_has_its_own_limit() -> None:
    quick, long = 0.05, 60.0
    first = failed(nothing, timeouts=Timeouts(first_byte=quick, idle=long))
    assert (first.code, first.details["phase"], first.retryable) == ("model.timeout", "first_byte", True)
    idle = failed(half, timeouts=Timeouts(first_byte=long, idle=quick))
    assert (idle.code, idle.details["phase"]) == ("model.timeout", "idle")


@pytest.mark.parametrize("broken", [hang_up, torn])
def test_a_connection_that_breaks_may_be_asked_again(broken: Answer) -> None:
    error = failed(broken)
    assert (error.code, error.retryable, error.details["sent"]) == ("model.unavailable", True, True)


def test_a_server_that_is_not_there_was_sent_nothing() -> None:
    async def story() -> ModelError:
        async with serving() as server:
            url = server.url
        with pytest.raises(ModelError) as caught:
            await OpenAIChat("m", base_url=url).ask(b"{}")
        return caught.value

    error = asyncio.run(story())
    assert (error.code, error.details["sent"]) == ("model.unavailable", False)
    assert "127.0.0.1" not in str(error)


def test_connections_are_kept_and_every_event_loop_has_its_own() -> None:
    async def twice(model: Model) -> None:
        assert await asyncio.gather(model.ask(b"{}"), model.ask(b"{}")) == [b"{}", b"{}"]
        await model.ask(b"{}")

    async def story(count: int) -> None:
        async with serving(answer(), answer(), answer(), answer()) as server:
            model = OpenAIChat("m", base_url=server.url)
            await twice(model)
            assert server.connections == 2
            await model.aclose()
            await model.aclose()
            await model.ask(b"{}")
            assert server.connections == 3
            await model.aclose()

    asyncio.run(story(1))
    asyncio.run(story(2))


def test_one_model_serves_loops_one_after_the_other() -> None:
    model: list[Model] = []

    async def story() -> None:
        async with serving(answer()) as server:
            model.append(OpenAIChat("m", base_url=server.url))
            await model[-1].ask(b"{}")
            await model[-1].aclose()

    async def later() -> None:
        with pytest.raises(ModelError):
            await model[0].ask(b"{}")
        await model[0].aclose()

    asyncio.run(story())
    asyncio.run(later())


@pytest.mark.parametrize(
    ("identity", "variable"),
    [("anthropic:m", "ANTHROPIC_API_KEY"), ("openai:m", "OPENAI_API_KEY"), ("openai-chat:m", "OPENAI_API_KEY")],
)
def test_a_missing_key_is_told_when_the_model_is_asked_and_names_the_variable(identity: str, variable: str) -> None:
    model = resolve(identity)
    with pytest.raises(InputError, match=variable) as caught:
        asyncio.run(model.ask(b"{}"))
    assert caught.value.code == "model.key"


def test_an_address_of_ones_own_needs_no_key_and_takes_the_one_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with serving(answer(), answer()) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/v1")
            bare = resolve("openai:m")
            await bare.ask(b"{}")
            await bare.aclose()
            assert "authorization" not in server.heads[0].lower()
            monkeypatch.setenv("OPENAI_API_KEY", KEY)
            keyed = resolve("openai:m")
            await keyed.ask(b"{}")
            await keyed.aclose()
            assert f"Bearer {KEY}" in server.heads[1]

    asyncio.run(story())


def test_a_key_with_a_line_end_is_refused_without_being_shown() -> None:
    model = Anthropic("m", api_key=KEY + "\n")
    with pytest.raises(InputError) as caught:
        asyncio.run(model.ask(b"{}"))
    assert KEY not in str(caught.value)


def test_a_proxy_of_the_environment_is_not_for_plain_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with serving(answer()) as server, serving(answer("500 Server Error")) as proxy:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, proxy.url)
            model = OpenAIChat("m", base_url=server.url, api_key=KEY)
            assert await model.ask(b"{}") == b"{}"
            assert proxy.connections == 0
            await model.aclose()

    asyncio.run(story())


@pytest.mark.parametrize(("prefix", "port"), [("ollama", 11434), ("vllm", 8000), ("llama-cpp", 8080)])
def test_a_server_on_this_machine_is_a_name_away_and_needs_no_key(prefix: str, port: int) -> None:
    async def story() -> None:
        async with serving(answer()) as server:
            model = resolve(f"{prefix}:qwen3:8b", base_url=server.url + "/v1")
            assert (model.identity, model.name) == (f"{prefix}:qwen3:8b", "qwen3:8b")
            assert await model.ask(b"{}") == b"{}"
            assert server.heads[0].startswith("POST /v1/chat/completions")
            assert "authorization" not in server.heads[0].lower()
            await model.aclose()

    asyncio.run(story())
    model = resolve(f"{prefix}:qwen3:8b")
    need_key(model)
    assert repr(model) == f"resolve('{prefix}:qwen3:8b')"
    same = resolve(f"{prefix}:qwen3:8b", base_url=f"http://localhost:{port}/v1")
    assert model.digest() == same.digest() != resolve("openai-chat:qwen3:8b", base_url="http://localhost/v1").digest()


@pytest.mark.parametrize("identity", ["", "claude", "anthropic:", "mistral:m", ":m"])
def test_a_name_of_no_provider_is_refused(identity: str) -> None:
    with pytest.raises(InputError, match="anthropic, openai, openai-chat"):
        resolve(identity)


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "localhost:8000", "http://", "https://x/v1?key=secret", "http://x:secret", "http://x:70000", "http://ü..x"],
)
def test_a_base_url_that_is_none_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(InputError) as caught:
        OpenAIChat("m", base_url=url)
    assert "secret" not in str(caught.value)


def test_the_digest_follows_the_model_and_its_address_and_not_its_key() -> None:
    one = OpenAIChat("m", base_url="http://a/v1")
    assert one.digest() == OpenAIChat("m", base_url="http://a/v1/", api_key=KEY).digest()
    others = [
        OpenAIChat("n", base_url="http://a/v1"),
        OpenAIChat("m", base_url="http://b/v1"),
        Anthropic("m", base_url="http://a/v1"),
    ]
    assert len({one.digest(), *(other.digest() for other in others)}) == 4


def test_importing_and_naming_a_model_loads_no_http_client() -> None:
    program = "import sys, remit.model as m; m.resolve('anthropic:x'); print({'httpx2', 'httpcore2', 'h11'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
