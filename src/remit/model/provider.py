"""The providers' models: an address, a key, a wire.

Knows no run. Invariant: a key is read from where it was given when a request is made, goes into one header, and
into no message, digest or representation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from remit.canonical import digest
from remit.errors import InputError
from remit.model.sender import Sender, Timeouts
from remit.types.ident import Digest
from remit.types.model import Model, ProtocolName, Wire
from remit.wire import wire_for

__all__ = ["Anthropic", "OpenAIChat", "OpenAIResponses", "need_key", "resolve"]


@dataclass(frozen=True, slots=True)
class _Service:
    """What a provider's models have in common."""

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
    ) -> None:
        service = self._service
        if not name:
            raise InputError("a model needs a name", code="model.name")
        given = base_url or os.environ.get(service.address_variable) or None
        self._name = name
        self._own_address = given is not None
        self._url = _address(given or service.address) + service.path
        self._key = api_key
        self._sender = Sender(self._url, self._headers, timeouts or Timeouts())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    @property
    def identity(self) -> str:
        return f"{self._service.prefix}:{self._name}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def wire(self) -> Wire:
        return wire_for(self._service.protocol)

    async def ask(self, body: bytes) -> bytes:
        """Send one request body, return the response body. Asks once.

        Raises:
            ModelError: `model.rate_limited`, `model.overloaded`, `model.unavailable`, `model.timeout`,
                `model.refused_request`, `model.unauthorized`, `model.context_full`.
            InputError: there is no key (`model.key`); the message names the variable.
        """
        return await self._sender.post(body)

    def digest(self) -> Digest:
        return digest("remit.model", f"{self.identity}\n{self._url}")

    async def aclose(self) -> None:
        """Close the connections of this event loop; the model can be asked again."""
        await self._sender.aclose()

    def need_key(self) -> None:
        """As `need_key` of the module."""
        self._headers()

    def _headers(self) -> Mapping[str, str]:
        key = self._key or os.environ.get(self._service.key_variable) or ""
        if not key:
            if self._own_address:
                return self._extra()
            variable = self._service.key_variable
            raise InputError(f"there is no key for {self.identity}: set {variable}", code="model.key", variable=variable)
        if not key.isascii() or not key.isprintable() or " " in key:
            raise InputError("the key has characters that no key has, for example a line end", code="model.key")
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
        return {"anthropic-version": "2023-06-01"}


class OpenAIResponses(_Remote):
    """A model of the OpenAI Responses API.

    Args:
        name: the provider's name for it.
        base_url: with its version, for example `http://localhost:8000/v1`; else `OPENAI_BASE_URL`, else the provider's own.
        api_key: else `OPENAI_API_KEY`. With an address of one's own none is needed.
        timeouts: how long to wait.
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
    """

    _service = _Service(
        prefix="openai-chat",
        protocol="openai-chat",
        address="https://api.openai.com/v1",
        path="/chat/completions",
        key_variable="OPENAI_API_KEY",
        address_variable="OPENAI_BASE_URL",
    )


_KINDS: dict[str, type[_Remote]] = {"anthropic": Anthropic, "openai": OpenAIResponses, "openai-chat": OpenAIChat}


def resolve(
    identity: str, *, base_url: str | None = None, api_key: str | None = None, timeouts: Timeouts | None = None
) -> Model:
    """The model of a name like `anthropic:claude-sonnet-5-5`, `openai:NAME` (Responses) or `openai-chat:NAME`.

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
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InputError("a base URL is http or https with a host, and no query", code="model.base_url")
    return url.rstrip("/")
