"""The providers' models: an address, a key, a wire.

Knows no run. Invariant: a key is read from where it was given when a request is made, goes into one header, and
into no message, digest or representation. An SDK client that is handed in keeps its key, its address and its waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import SplitResult, urlsplit

from remit.canonical import digest
from remit.errors import InputError
from remit.model.client import ClientSender, platform_of
from remit.model.sender import Sender
from remit.model.timeouts import Timeouts
from remit.types.ident import Digest
from remit.types.model import Model, ProtocolName, Streaming, Wire
from remit.wire import wire_for

__all__ = ["Anthropic", "OpenAIChat", "OpenAIResponses", "need_key", "resolve"]


@dataclass(frozen=True, slots=True)
class _Service:
    """What a provider's models have in common. Without a `key_variable` no key is needed."""

    prefix: str
    protocol: ProtocolName
    address: str
    path: str
    key_variable: str
    address_variable: str


class _Remote:
    """A model behind HTTP; see `Anthropic`, `OpenAIChat`, `OpenAIResponses`."""

    _service: _Service

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeouts: Timeouts | None = None,
        client: object = None,
    ) -> None:
        if not name:
            raise InputError("a model needs a name", code="model.name")
        if client is not None and any(one is not None for one in (base_url, api_key, timeouts)):
            raise InputError("an SDK client brings its own address, key and waits", code="model.client")
        service = self._service
        given = base_url or os.environ.get(service.address_variable) or None
        self._name = name
        self._prefix = service.prefix
        self._key = api_key
        self._needs_key = client is None and given is None and bool(service.key_variable)
        self._sender: Sender | ClientSender
        if client is None:
            url = _address(given or service.address) + service.path
            self._sender = Sender(url, self._headers, timeouts or Timeouts())
        else:
            platform = platform_of(client)
            self._prefix += f"-{platform}" if platform else ""
            self._sender = ClientSender(client, service.path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    @property
    def identity(self) -> str:
        return f"{self._prefix}:{self._name}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def wire(self) -> Wire:
        return wire_for(self._service.protocol)

    async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
        """Send one request body, return the response body. Asks once.

        Raises:
            ModelError: `model.rate_limited`, `model.overloaded`, `model.unavailable`, `model.timeout`,
                `model.refused_request`, `model.unauthorized`, `model.context_full`, `model.stream_cut`,
                `model.unusable`.
            ProtocolError: the stream is none of the protocol's.
            InputError: there is no key (`model.key`), the message names the variable; or the environment's proxy
                or its certificates cannot be used (`model.proxy`, `model.certificates`).
        """
        return await self._sender.post(body, stream)

    def digest(self) -> Digest:
        return digest("remit.model", f"{self.identity}\n{self._sender.url}")

    async def aclose(self) -> None:
        """Close the connections of this event loop; the model can be asked again."""
        await self._sender.aclose()

    def need_key(self) -> None:
        """As `need_key` of the module."""
        if isinstance(self._sender, Sender):
            self._headers()

    def _headers(self) -> Mapping[str, str]:
        key = self._key or os.environ.get(self._service.key_variable) or ""
        if not key:
            if not self._needs_key:
                return self._extra()
            variable = self._service.key_variable
            raise InputError(
                f"there is no key for {self.identity}: set {variable}", code="model.key", variable=variable, sent=False
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise InputError("the key has characters that no key has, for example a line end", code="model.key", sent=False)
        return {**self._auth(key), **self._extra()}

    def _auth(self, key: str) -> Mapping[str, str]:
        return {"authorization": f"Bearer {key}"}

    def _extra(self) -> Mapping[str, str]:
        return {}


class Anthropic(_Remote):
    """A model of the Anthropic Messages API, or of a server that speaks it.

    Args:
        name: the provider's name for it.
        base_url: without `/v1`; else `ANTHROPIC_BASE_URL`, else the provider's own.
        api_key: else `ANTHROPIC_API_KEY`. With an address of one's own none is needed.
        timeouts: how long to wait.
        client: instead of these an asynchronous client of the `anthropic` package, for models that run in a cloud:
            `AsyncAnthropicBedrock`, `AsyncAnthropicVertex`, ... Its retries are not used; closing it is for its owner.
    """

    _service = _Service(
        prefix="anthropic",
        protocol="anthropic",
        address="https://api.anthropic.com",
        path="/v1/messages",
        key_variable="ANTHROPIC_API_KEY",
        address_variable="ANTHROPIC_BASE_URL",
    )

    def _auth(self, key: str) -> Mapping[str, str]:
        return {"x-api-key": key}

    def _extra(self) -> Mapping[str, str]:
        # The version that every model and every compatible server takes; later ones take settings away.
        return {"anthropic-version": "2023-06-01"}


class OpenAIResponses(_Remote):
    """A model of the OpenAI Responses API.

    Args:
        name: the provider's name for it.
        base_url: with its version, for example `http://localhost:8000/v1`; else `OPENAI_BASE_URL`, else the provider's own.
        api_key: else `OPENAI_API_KEY`. With an address of one's own none is needed.
        timeouts: how long to wait.
        client: instead of these an asynchronous client of the `openai` package, for models that run in a cloud:
            `AsyncAzureOpenAI`, ... Its retries are not used; closing it is for its owner.
    """

    _service = _Service(
        prefix="openai",
        protocol="openai-responses",
        address="https://api.openai.com/v1",
        path="/responses",
        key_variable="OPENAI_API_KEY",
        address_variable="OPENAI_BASE_URL",
    )


class OpenAIChat(_Remote):
    """A model of OpenAI Chat Completions, or of any server that speaks it.

    Args:
        name: the server's name for it.
        base_url: with its version, for example `http://localhost:11434/v1`; else `OPENAI_BASE_URL`, else the provider's own.
        api_key: else `OPENAI_API_KEY`. With an address of one's own none is needed.
        timeouts: how long to wait.
        client: instead of these an asynchronous client of the `openai` package, for models that run in a cloud:
            `AsyncAzureOpenAI`, ... Its retries are not used; closing it is for its owner.
    """

    _service = _Service(
        prefix="openai-chat",
        protocol="openai-chat",
        address="https://api.openai.com/v1",
        path="/chat/completions",
        key_variable="OPENAI_API_KEY",
        address_variable="OPENAI_BASE_URL",
    )


class _Local(OpenAIChat):
    """A model that a server on this machine runs; made by `resolve`."""

    def __init__(
        self, service: _Service, name: str, *, base_url: str | None, api_key: str | None, timeouts: Timeouts | None
    ) -> None:
        self._service = service
        super().__init__(name, base_url=base_url, api_key=api_key, timeouts=timeouts)

    def __repr__(self) -> str:
        return f"resolve({self.identity!r})"


def _local(prefix: str, port: int) -> Callable[..., _Local]:
    service = _Service(
        prefix=prefix,
        protocol="openai-chat",
        address=f"http://localhost:{port}/v1",
        path="/chat/completions",
        key_variable="",
        address_variable="",
    )
    return partial(_Local, service)


_KINDS: dict[str, Callable[..., Model]] = {
    "anthropic": Anthropic,
    "openai": OpenAIResponses,
    "openai-chat": OpenAIChat,
    "ollama": _local("ollama", 11434),
    "vllm": _local("vllm", 8000),
    "llama-cpp": _local("llama-cpp", 8080),
}


def resolve(
    identity: str, *, base_url: str | None = None, api_key: str | None = None, timeouts: Timeouts | None = None
) -> Model:
    """The model of a name like `anthropic:claude-sonnet-5-5`, `openai:NAME` (Responses) or `openai-chat:NAME`.

    `ollama:NAME`, `vllm:NAME` and `llama-cpp:NAME` are models of a server on this machine, at the port that it takes
    if nobody says otherwise; they need no key.

    Raises:
        InputError: there is no such provider, or the name is empty (`model.identity`).
    """
    prefix, _, name = identity.partition(":")
    kind = _KINDS.get(prefix)
    if kind is None or not name:
        raise InputError(f"a model is written as one of {', '.join(_KINDS)}, a colon and a name", code="model.identity")
    return kind(name, base_url=base_url, api_key=api_key, timeouts=timeouts)


def need_key(model: Model) -> None:
    """Return if the model can be asked as far as can be told here; what only the provider knows shows when it is asked.

    Raises:
        InputError: there is no key (`model.key`); the message names the variable.
    """
    if isinstance(model, _Remote):
        model.need_key()


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not _is_host(parts) or parts.query or parts.fragment:
        raise InputError("a base URL is http or https with a host, and no query", code="model.base_url")
    return url.rstrip("/")


def _is_host(parts: SplitResult) -> bool:
    try:
        return bool(parts.hostname) and parts.port != 0 and (parts.hostname.isascii() or bool(parts.hostname.encode("idna")))
    except ValueError:  # a port or a name that cannot be one
        return False
