"""SDK clients as the way to a model: each cloud gets what it wants, once, and answers as the provider itself would."""

from __future__ import annotations

import asyncio
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from remit.budget import price
from remit.errors import InputError, ModelError
from remit.model import Anthropic, OpenAIChat, OpenAIResponses, Timeouts
from remit.model.client import ClientSender
from remit.types.budget import Usage
from remit.types.model import HeadSpec, Piece, Reading, Reply, Streaming
from remit.types.part import Text
from remit.wire import render

SECRET = "sk-very-secret"
Answer = Callable[[httpx2.Request], httpx2.Response]
Make = Callable[[httpx2.AsyncClient], Any]


def azure(http: httpx2.AsyncClient) -> Any:
    return openai.AsyncAzureOpenAI(
        azure_endpoint="https://me.openai.azure.com", api_version="2026-01-01", api_key=SECRET, http_client=http
    )


def bedrock(http: httpx2.AsyncClient) -> Any:
    return anthropic.AsyncAnthropicBedrock(aws_region="eu-west-1", api_key=SECRET, http_client=http)


def vertex(http: httpx2.AsyncClient) -> Any:
    return anthropic.AsyncAnthropicVertex(region="europe-west1", project_id="p", access_token=SECRET, http_client=http)


def foundry(http: httpx2.AsyncClient) -> Any:
    return anthropic.AsyncAnthropicFoundry(resource="me", api_key=SECRET, http_client=http)


def straight(http: httpx2.AsyncClient) -> Any:
    return anthropic.AsyncAnthropic(api_key=SECRET, http_client=http)


def straight_openai(http: httpx2.AsyncClient) -> Any:
    return openai.AsyncOpenAI(api_key=SECRET, http_client=http)


BEDROCK = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-v1:0"
VERTEX = (
    "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/anthropic/models/claude@1"
)
AZURE = "https://me.openai.azure.com/openai"

WAYS: list[tuple[Any, Make, str, str, str, str]] = [
    (
        Anthropic,
        bedrock,
        "anthropic.claude-v1:0",
        "anthropic-bedrock",
        f"{BEDROCK}/invoke",
        f"{BEDROCK}/invoke-with-response-stream",
    ),
    (Anthropic, vertex, "claude@1", "anthropic-vertex", f"{VERTEX}:rawPredict", f"{VERTEX}:streamRawPredict"),
    (Anthropic, foundry, "claude", "anthropic-foundry", "https://me.services.ai.azure.com/anthropic/v1/messages", ""),
    (Anthropic, straight, "claude", "anthropic", "https://api.anthropic.com/v1/messages", ""),
    (OpenAIChat, azure, "mine", "openai-chat-azure", f"{AZURE}/deployments/mine/chat/completions?api-version=2026-01-01", ""),
    (OpenAIResponses, azure, "mine", "openai-azure", f"{AZURE}/responses?api-version=2026-01-01", ""),
    (OpenAIChat, straight_openai, "gpt", "openai-chat", "https://api.openai.com/v1/chat/completions", ""),
    (OpenAIResponses, straight_openai, "gpt", "openai", "https://api.openai.com/v1/responses", ""),
]
every = pytest.mark.parametrize(("kind", "make", "name", "prefix", "url", "stream_url"), WAYS)


class Cloud:
    """A transport that answers as it is told to, and remembers what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[httpx2.Request] = []
        self._answers = iter(answers)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return next(self._answers)(request)

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.requests[-1].content)


def answering(content: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: httpx2.Response(status, headers={"content-type": kind, **named}, content=content)


class Torn(httpx2.AsyncByteStream):
    """A response whose connection breaks, after these bytes."""

    def __init__(self, content: bytes, error: Exception) -> None:
        self._content = content
        self._error = error

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        yield self._content
        raise self._error


def tearing(content: bytes, error: Exception, kind: str = "text/event-stream") -> Answer:
    return lambda _: httpx2.Response(200, headers={"content-type": kind}, stream=Torn(content, error))


def raising(error: Exception) -> Answer:
    def answer(_: httpx2.Request) -> httpx2.Response:
        raise error

    return answer


def frames(events: tuple[bytes, ...]) -> bytes:
    """The events as AWS frames them: a prelude, headers, the payload, each with its checksum."""
    import base64

    made: list[bytes] = []
    for event in events:
        data = event.split(b"data: ", 1)[1].strip()
        headers = b"".join(
            bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
            for name, value in (
                (b":event-type", b"chunk"),
                (b":content-type", b"application/json"),
                (b":message-type", b"event"),
            )
        )
        payload = json.dumps({"bytes": base64.b64encode(data).decode()}).encode()
        prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
        whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
        made.append(whole + struct.pack(">I", zlib.crc32(whole)))
    return b"".join(made)


def ask(
    kind: Any, make: Make, name: str, cloud: Cloud, *, stream: bool = False, heard: list[Piece] | None = None
) -> bytes | ModelError:
    async def story() -> bytes | ModelError:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(cloud)) as http:
            model = kind(name, client=make(http))
            head = model.wire.head(HeadSpec(model=name, instructions="Be brief.", tools=(), max_tokens=100))
            body = model.wire.body(head, [model.wire.user([Text("hi")])], stream=stream)
            try:
                if not stream:
                    return await model.ask(body)
                return await model.ask(body, Streaming(model.wire.gather({}), ([] if heard is None else heard).append))
            except ModelError as error:
                return error
            finally:
                await model.aclose()
                assert not http.is_closed

    return asyncio.run(story())


def failed(got: bytes | ModelError) -> ModelError:
    assert isinstance(got, ModelError)
    assert SECRET not in f"{got}{got!r}{got.details}"
    return got


def read(kind: Any, body: bytes | ModelError) -> Reply:
    assert isinstance(body, bytes)
    return kind("m").wire.read(body, Reading(max_tokens=10**6, names={}, mint=str))


def reply_of(kind: Any) -> bytes:
    return kind("m").wire.reply("Looked up.", [("call_1", "send", '{"amount":5}')])


@every
def test_a_cloud_is_asked_in_its_own_manner_and_answers_with_the_same_bytes(
    kind: Any, make: Make, name: str, prefix: str, url: str, stream_url: str
) -> None:
    cloud = Cloud(answering(reply_of(kind)))
    assert ask(kind, make, name, cloud) == reply_of(kind)
    (request,) = cloud.requests
    assert (request.method, str(request.url)) == ("POST", url)
    assert SECRET in str(list(request.headers.values()))
    assert ("model" in cloud.body) == (prefix not in ("anthropic-bedrock", "anthropic-vertex"))
    assert ("anthropic_version" in cloud.body) == (prefix in ("anthropic-bedrock", "anthropic-vertex"))
    assert "hi" in str(cloud.body)


@every
def test_a_clouds_stream_is_told_and_comes_out_as_one_body(
    kind: Any, make: Make, name: str, prefix: str, url: str, stream_url: str
) -> None:
    events = render(kind("m").wire.protocol, reply_of(kind))
    sse = answering(b"".join(events), kind="text/event-stream; charset=utf-8")
    aws = answering(frames(events), kind="application/vnd.amazon.eventstream")
    cloud, heard = Cloud(aws if prefix == "anthropic-bedrock" else sse), list[Piece]()
    got = ask(kind, make, name, cloud, stream=True, heard=heard)
    assert read(kind, got) == read(kind, reply_of(kind))
    assert "".join(piece.text for piece in heard if piece.kind == "text") == "Looked up."
    assert str(cloud.requests[0].url) == (stream_url or url)
    assert cloud.body.get("stream", True) is True


@every
def test_a_cloud_that_streams_nothing_is_read_as_it_answers(
    kind: Any, make: Make, name: str, prefix: str, url: str, stream_url: str
) -> None:
    heard = list[Piece]()
    assert ask(kind, make, name, Cloud(answering(reply_of(kind))), stream=True, heard=heard) == reply_of(kind)
    assert heard == []


@every
def test_a_stream_that_is_cut_is_told_as_one(kind: Any, make: Make, name: str, prefix: str, url: str, stream_url: str) -> None:
    events = render(kind("m").wire.protocol, reply_of(kind))
    is_aws = prefix == "anthropic-bedrock"
    content = frames(events[:3]) if is_aws else b"".join(events[:3])
    framed = "application/vnd.amazon.eventstream" if is_aws else "text/event-stream"
    endings = [
        answering(content, kind=framed),
        answering(content[:-7], kind=framed),
        tearing(content, httpx2.ReadError("secret host"), framed),
        tearing(content, httpx2.RemoteProtocolError("secret host"), framed),
    ]
    for ending in endings:
        error = failed(ask(kind, make, name, Cloud(ending), stream=True))
        assert (error.code, error.retryable) == ("model.stream_cut", True)
    idle = failed(ask(kind, make, name, Cloud(tearing(content, httpx2.ReadTimeout("x"), framed)), stream=True))
    assert (idle.code, idle.details["phase"]) == ("model.timeout", "idle")


@every
def test_a_stream_through_a_client_is_left_when_it_is_too_large(
    kind: Any, make: Make, name: str, prefix: str, url: str, stream_url: str
) -> None:
    events = render(kind("m").wire.protocol, reply_of(kind))
    is_aws = prefix == "anthropic-bedrock"
    framed = "application/vnd.amazon.eventstream" if is_aws else "text/event-stream"
    path = {Anthropic: "/v1/messages", OpenAIChat: "/chat/completions", OpenAIResponses: "/responses"}[kind]
    cloud = Cloud(answering(frames(events) if is_aws else b"".join(events), kind=framed))

    async def story() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(cloud)) as http:
            sender = ClientSender(make(http), path, most_bytes=100)
            with pytest.raises(ModelError, match="too large") as caught:
                await sender.post(b'{"model":"m","stream":true}', Streaming(kind("m").wire.gather({}), lambda _: None))
            assert (caught.value.code, caught.value.retryable) == ("model.unusable", False)

    asyncio.run(story())


REFUSALS: list[tuple[int, bytes, str, bool]] = [
    (429, b'{"error":{"type":"rate_limit_error"}}', "model.rate_limited", True),
    (401, b"{}", "model.unauthorized", False),
    (400, b'{"error":{"type":"invalid_request_error","code":"context_length_exceeded"}}', "model.context_full", False),
    (400, b'{"message":"Input is too long for requested model."}', "model.context_full", False),
    (404, b'{"error":{"code":"DeploymentNotFound","message":"x"}}', "model.refused_request", False),
    (429, b'[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]', "model.rate_limited", True),
    (503, b"<html>", "model.unavailable", True),
    (529, b"", "model.overloaded", True),
    (307, b"", "model.refused_request", False),
    (202, b"", "model.refused_request", False),
]


@pytest.mark.parametrize(("kind", "make"), [(Anthropic, bedrock), (Anthropic, vertex), (OpenAIChat, azure)])
@pytest.mark.parametrize(("status", "body", "code", "retryable"), REFUSALS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_clouds_refusal_is_named_once_and_never_tried_again_below(
    kind: Any, make: Make, status: int, body: bytes, code: str, retryable: bool, stream: bool
) -> None:
    cloud = Cloud(answering(body, status, retry_after="3", location="https://elsewhere.example"))
    error = failed(ask(kind, make, "m", cloud, stream=stream))
    assert (error.code, error.retryable, error.details["status"]) == (code, retryable, status)
    assert error.details["retry_after_s"] == 3.0
    assert len(cloud.requests) == 1


LOST: list[tuple[Exception, str, dict[str, Any]]] = [
    (httpx2.ConnectError("secret host"), "model.unavailable", {"sent": False}),
    (httpx2.ProxyError("secret host"), "model.unavailable", {"sent": False}),
    (httpx2.ConnectTimeout("x"), "model.timeout", {"phase": "connect", "sent": False}),
    (httpx2.PoolTimeout("x"), "model.timeout", {"phase": "connect", "sent": False}),
    (httpx2.WriteTimeout("x"), "model.timeout", {"phase": "send", "sent": True}),
    (httpx2.ReadTimeout("x"), "model.timeout", {"phase": "first_byte", "sent": True}),
    (httpx2.ReadError("secret host"), "model.unavailable", {"sent": True}),
    (httpx2.RemoteProtocolError("secret host"), "model.unavailable", {"sent": True}),
]


@pytest.mark.parametrize(("kind", "make"), [(Anthropic, bedrock), (Anthropic, vertex), (OpenAIResponses, azure)])
@pytest.mark.parametrize(("raised", "code", "details"), LOST)
def test_what_breaks_on_the_way_is_named_by_what_was_sent(
    kind: Any, make: Make, raised: Exception, code: str, details: dict[str, Any]
) -> None:
    cloud = Cloud(raising(raised))
    error = failed(ask(kind, make, "m", cloud))
    assert (error.code, error.retryable, error.details) == (code, True, details)
    assert (len(cloud.requests), "secret" in str(error), error.__cause__) == (1, False, None)


def test_an_error_in_mid_stream_is_named_in_bedrocks_frames_too() -> None:
    said = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"secret"}}\n\n'
    events = (*render("anthropic", reply_of(Anthropic))[:4], said)
    for make, answer in (
        (bedrock, answering(frames(events), kind="application/vnd.amazon.eventstream")),
        (vertex, answering(b"".join(events), kind="text/event-stream")),
    ):
        error = failed(ask(Anthropic, make, "m", Cloud(answer), stream=True))
        assert (error.code, error.retryable, error.details["status"]) == ("model.overloaded", True, 200)


def test_a_client_without_credentials_says_what_it_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(http: httpx2.AsyncClient) -> Any:
        return anthropic.AsyncAnthropicVertex(region="europe-west1", access_token="t", http_client=http)

    monkeypatch.delenv("ANTHROPIC_VERTEX_PROJECT_ID", raising=False)
    error = failed(ask(Anthropic, lost, "m", Cloud()))
    assert (error.code, error.retryable, error.message) == ("model.client", False, "the client raised RuntimeError")
    assert "project_id" in str(error.__cause__)


class Stub:
    """What the clients document: an address, and a way to ask endpoints that they do not know."""

    base_url = "https://stub.example/v1/"

    def __init__(self, response: object) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._response = response

    async def post(self, path: str, **options: Any) -> Any:
        self.asked.append((path, options))
        if isinstance(self._response, Exception):
            raise self._response
        return self._response


def test_only_what_a_client_documents_is_used() -> None:
    stub = Stub(httpx2.Response(200, headers={"content-type": "application/json"}, content=b'{"whole": 1}'))
    model = OpenAIChat("m", client=stub)
    assert asyncio.run(model.ask(b'{"model":"m","n":1.50}')) == b'{"whole": 1}'
    ((path, options),) = stub.asked
    assert path == "/chat/completions"
    assert options["cast_to"] is httpx2.Response
    assert options["body"] == {"model": "m", "n": 1.5}
    assert options["options"] == {"max_retries": 0, "follow_redirects": False}
    assert model.identity == "openai-chat:m"


def test_a_client_that_wraps_the_response_in_its_stream_is_understood() -> None:
    class Wrapped:
        response = httpx2.Response(200, content=b"{}")

    assert asyncio.run(OpenAIChat("m", client=Stub(Wrapped())).ask(b"{}")) == b"{}"


@pytest.mark.parametrize("client", [openai.OpenAI(api_key="k"), anthropic.Anthropic(api_key="k"), "sk-key", object()])
def test_a_client_that_would_block_is_refused_with_the_mend(client: Any) -> None:
    with pytest.raises(InputError, match="asynchronous client") as caught:
        OpenAIChat("m", client=client)
    assert caught.value.code == "model.client"
    assert "sk-key" not in str(caught.value)


def test_a_client_brings_its_own_address_key_and_waits() -> None:
    for given in ({"base_url": "http://h/v1"}, {"api_key": "k"}, {"timeouts": Timeouts()}):
        with pytest.raises(InputError, match="its own"):
            OpenAIChat("m", client=Stub(None), **given)  # type: ignore[arg-type]


def test_where_a_model_runs_is_part_of_what_it_is_and_of_what_it_costs() -> None:
    def made(kind: Any, make: Make, name: str) -> Any:
        return kind(name, client=make(httpx2.AsyncClient()))

    models = [
        made(Anthropic, bedrock, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        made(Anthropic, vertex, "claude-sonnet-4-5@20250929"),
        made(OpenAIChat, azure, "gpt-4o"),
        made(OpenAIResponses, azure, "gpt-4o"),
    ]
    usage = Usage(input_tokens=1000, output_tokens=1000)
    assert all((price(model.identity, usage) or 0) > 0 for model in models)
    assert price("openai-azure:my-deployment", usage) is None
    assert len({model.digest() for model in models}) == 4
    assert made(OpenAIChat, azure, "gpt-4o").digest() == models[2].digest() != OpenAIChat("gpt-4o").digest()
    assert SECRET not in repr(models)


def test_no_sdk_is_loaded_that_nobody_handed_in() -> None:
    program = (
        "import sys, asyncio, remit.model as m, remit.errors as e\n"
        "class Stub:\n"
        "    base_url = 'x'\n"
        "    async def post(self, *a, **k): raise ValueError\n"
        "try: asyncio.run(m.OpenAIChat('m', client=Stub()).ask(b'{}'))\n"
        "except e.ModelError as error: print(error.code, 'openai' in sys.modules, 'anthropic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "model.client False False\n"
