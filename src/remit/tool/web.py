"""What a handler sees of HTTP: the client's verbs, an answer, and how a request can fail.

Knows no transport; whoever makes a `Context` gives it one. Invariant: an `Answer` and an error hold no more of a
body than the handler asks for, and none of their texts does.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, Unpack, cast

from remit.tool.effect import InDoubt, NoEffect
from remit.types.ident import Json

if TYPE_CHECKING:
    from remit.tool.arguments import Context

__all__ = ["Answer", "Declared", "Declined", "Doubtful", "How", "ReadFailed", "SyncWeb", "Verdict", "Web", "Webs"]

Verdict = Literal["done", "declined", "doubt"]
"""What an answer says of a write: it happened; the service did nothing; neither is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole response. Names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    content: bytes = field(default=b"", repr=False)

    @property
    def text(self) -> str:
        """The body as text, UTF-8 unless its type names another charset."""
        _, _, charset = self.headers.get("content-type", "").lower().partition("charset=")
        try:
            return self.content.decode(charset.split(";")[0].strip(" \"'") or "utf-8", "replace")
        except LookupError:
            return self.content.decode("utf-8", "replace")

    def json(self) -> Json:
        """The body as JSON.

        Raises:
            ValueError: it is none.
        """
        return cast("Json", json.loads(self.content))


Declared = Mapping[int, Verdict] | Callable[[Answer], Verdict | None]
"""What answers of a service mean where that is not what they mean elsewhere: by status, or by a look at the answer."""


class How(TypedDict, total=False):
    """What may be said of a request.

    Args:
        params: for the query.
        headers: beside those of the client. `idempotency-key` is the client's own.
        json, data, content: the body: JSON, a form, or as it is.
        auth: name and password.
        timeout_s: for all of it; never more than the attempt has left.
        part: which request of the attempt this is, where it makes several writes: it goes into the key.
        reads: the request changes nothing, whatever its method: a search, a query.
        declares: what answers of this service mean.
        key_header: the header that this service reads the key from.
    """

    params: Mapping[str, str | int | float | bool | None]
    headers: Mapping[str, str]
    json: object
    data: Mapping[str, str]
    content: str | bytes
    auth: tuple[str, str]
    timeout_s: float
    part: str
    reads: bool
    declares: Declared
    key_header: str


class _Heard:
    """What an error knows of the answer."""

    answer: Answer | None

    @property
    def status(self) -> int | None:
        """Of the answer."""
        return None if self.answer is None else self.answer.status


class Declined(_Heard, NoEffect):
    """A request of a write did nothing: it was not sent, or the service says so.

    Args:
        answer: what the service said, None where nothing was sent.
    """

    def __init__(
        self,
        message: str,
        *,
        answer: Answer | None = None,
        retry: Literal["no", "corrected", "after"] = "no",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, retry=retry, retry_after_s=retry_after_s)
        self.answer = answer


class Doubtful(_Heard, InDoubt):
    """A request of a write may have had its effect. `answer` is what the service said, as far as it was heard."""

    def __init__(self, message: str, *, answer: Answer | None = None) -> None:
        super().__init__(message)
        self.answer = answer


class ReadFailed(_Heard, Exception):
    """A request that changes nothing brought no answer, or none that is a success; `answer` is that."""

    def __init__(self, message: str, *, answer: Answer | None = None) -> None:
        super().__init__(message)
        self.answer = answer


class Web(ABC):
    """HTTP for handlers that are async: `await ctx.http.post(url, json={...})`."""

    @abstractmethod
    async def request(self, method: str, url: str, **how: Unpack[How]) -> Answer:
        """One request and its whole answer, a success; nothing is tried again, and no redirect is followed.

        Raises:
            Declined: of a write: it did nothing, and nothing else of this attempt did.
            Doubtful: of a write: it may have had its effect.
            ReadFailed: of a read.
        """

    async def get(self, url: str, **how: Unpack[How]) -> Answer:
        """`GET`, which changes nothing."""
        return await self.request("GET", url, **how)

    async def head(self, url: str, **how: Unpack[How]) -> Answer:
        """`HEAD`, which changes nothing."""
        return await self.request("HEAD", url, **how)

    async def post(self, url: str, **how: Unpack[How]) -> Answer:
        """`POST`."""
        return await self.request("POST", url, **how)

    async def put(self, url: str, **how: Unpack[How]) -> Answer:
        """`PUT`."""
        return await self.request("PUT", url, **how)

    async def patch(self, url: str, **how: Unpack[How]) -> Answer:
        """`PATCH`."""
        return await self.request("PATCH", url, **how)

    async def delete(self, url: str, **how: Unpack[How]) -> Answer:
        """`DELETE`."""
        return await self.request("DELETE", url, **how)


class SyncWeb(ABC):
    """The same for handlers that are not async: `ctx.http_sync.post(url, json={...})`."""

    @abstractmethod
    def request(self, method: str, url: str, **how: Unpack[How]) -> Answer:
        """As `Web.request`."""

    def get(self, url: str, **how: Unpack[How]) -> Answer:
        """`GET`, which changes nothing."""
        return self.request("GET", url, **how)

    def head(self, url: str, **how: Unpack[How]) -> Answer:
        """`HEAD`, which changes nothing."""
        return self.request("HEAD", url, **how)

    def post(self, url: str, **how: Unpack[How]) -> Answer:
        """`POST`."""
        return self.request("POST", url, **how)

    def put(self, url: str, **how: Unpack[How]) -> Answer:
        """`PUT`."""
        return self.request("PUT", url, **how)

    def patch(self, url: str, **how: Unpack[How]) -> Answer:
        """`PATCH`."""
        return self.request("PATCH", url, **how)

    def delete(self, url: str, **how: Unpack[How]) -> Answer:
        """`DELETE`."""
        return self.request("DELETE", url, **how)


class Webs(Protocol):
    """Makes the clients of attempts."""

    def client(self, context: Context[object]) -> Web:
        """For an attempt that awaits."""
        ...

    def sync_client(self, context: Context[object]) -> SyncWeb:
        """For an attempt that blocks its thread."""
        ...
