"""One request and what became of it, without a socket: what is sent, how long it may take, and what its end proves.

Knows no transport but the names of its moments. Invariant: what is raised of a write says `Declined` only where no
request of the attempt can have had an effect, this one included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

from remit import ambient
from remit.foreign import contained
from remit.http.evidence import answered, moment, place
from remit.http.setting import Http
from remit.http.status import hint_of, verdict_of
from remit.tool import Answer, Context, Declared, Declined, Doubtful, How, ReadFailed, Verdict
from remit.types.given import is_number, meant

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Client, Request

__all__ = ["Exchange", "Sealed"]

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_METHOD = re.compile(r"[A-Z]{1,20}")
_PART = re.compile(r"[A-Za-z0-9_-]{1,40}")
_KEY = "Idempotency-Key"
_KNOWN = frozenset(How.__annotations__)
_VERDICTS = ("done", "declined", "doubt", None)
_LATEST_S = 0.5
"""So much earlier than its attempt a request ends, at the most."""
_EACH = 0.9
"""The share of a request's time that one wait in it may take: the transport ends it better than a cancellation does."""


class Sealed(Exception):
    """The attempt is over: nothing may be sent for it any more."""


@dataclass(slots=True)
class _Said:
    """The head of an answer."""

    status: int
    headers: Mapping[str, str]


class Exchange:
    """One request of an attempt; of a write, if it may change something.

    Raises:
        Declined, ReadFailed: it cannot be made.
        Doubtful: it cannot, and an earlier one of this attempt may have had an effect.
    """

    def __init__(self, context: Context[object], http: Http, method: str, url: str, how: How) -> None:
        self._context, self._trail = context, context.trail
        self._http, self._how = http, how
        self.method, self.url = str(method).upper(), str(url)
        self._where = f"{self.method} {place(context.trail.clean(self.url))}" if _METHOD.fullmatch(self.method) else "a request"
        self.writes = self.method not in _SAFE and not how.get("reads", False)
        self._name = how.get("part", "")
        self._reserved = False
        self._sent = False
        self._said: _Said | None = None
        self._began_s = ambient.monotonic_s()
        self.limit_s = self._limit()
        self._check()

    # before it

    def _check(self) -> None:
        how = self._how
        problem, unknown = None, next((name for name in how if name not in _KNOWN), None)
        if unknown is not None:
            problem = f"{unknown}= is nothing that is said of a request{meant(unknown, _KNOWN)}"
        elif not _METHOD.fullmatch(self.method) or self.method == "CONNECT":  # that one is between a client and its proxy
            problem = "its method is none"
        elif not is_number(how.get("timeout_s", 0)):
            problem = "timeout_s= is a number of seconds"
        elif any(name.lower() == self._key_header.lower() for name in how.get("headers", {})):
            problem = f"{self._key_header} is the client's own header: it carries the operation's id"
        elif self._name and not _PART.fullmatch(self._name):
            problem = "part= is 1 to 40 letters, digits, '_' or '-'"
        elif self.writes and not (self._trail.writes and self._context.operation_id):
            problem = "only the handler of a write may send what changes something; of what does not, say reads=True"
        elif self.limit_s <= 0:
            problem = "the time of this attempt is over"
        if problem is not None:
            raise self._unsent(f"not sent: {problem}", "no")
        if self.writes and not self._trail.reserve(self._name):
            raise self._unsent("not sent: the request before it may have happened; name each further one with part=", "no")
        self._reserved = self.writes

    def _limit(self) -> float:
        """Seconds for all of it; it ends before its attempt does, so that what it proves is heard."""
        left_s = min(self._context.deadline_s - self._began_s, self._http.timeout_s)
        given_s = self._how.get("timeout_s", left_s)
        return min(given_s if is_number(given_s) else 0.0, left_s - min(_LATEST_S, left_s / 10))

    @property
    def _key_header(self) -> str:
        return self._how.get("key_header", _KEY)

    def request(self, client: Client | AsyncClient) -> Request:
        """The request, as the transport takes it. Raises whatever the transport says of what it cannot send."""
        from httpx2 import URL, Timeout

        how = self._how
        headers = {"user-agent": "remit", **{n.lower(): v for n, v in self._http.headers.items()}}
        headers |= {name.lower(): value for name, value in how.get("headers", {}).items()}
        if self.writes:
            key = str(self._context.operation_id)
            headers[self._key_header.lower()] = f"{key}.{self._name}" if self._name else key
        connect_s = min(self._http.connect_s, _EACH * self.limit_s)
        return client.build_request(
            self.method,
            URL(self.url).copy_merge_params(how.get("params", {})),
            headers=headers,
            timeout=Timeout(_EACH * self.limit_s, connect=connect_s),
            json=how.get("json"),
            data=how.get("data"),
            content=how.get("content"),
        )

    # while it goes on

    def traced(self, name: str, info: Mapping[str, object]) -> None:
        """Hear of a moment of the transport.

        Raises:
            Sealed: the first byte must not leave.
        """
        if name.endswith(".send_request_headers.started"):
            if getattr(info.get("request"), "method", b"") == b"CONNECT":  # to a proxy: the request itself comes later
                return
            if self.writes and not self._trail.send(self._name):
                raise Sealed
            self._sent = True
            key = f" under {self._context.operation_id}" if self.writes else ""
            self._trail.note(f"{moment(ambient.now_ms())} {self._where} sent{key}")
        elif name.endswith(".send_request_headers.failed") and type(info.get("exception")).__name__ == "LocalProtocolError":
            self._sent = False  # it was not of a form that can be written, and nothing was

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Hear how the answer begins."""
        self._said = _Said(status, {name.lower(): value for name, value in headers.items()})
        took_ms = round((ambient.monotonic_s() - self._began_s) * 1000)
        self._trail.note(f"{self._where} {answered(status, self._said.headers)}; after {took_ms} ms")

    @property
    def most_bytes(self) -> int:
        """How much of the body is taken in."""
        return self._http.most_bytes

    # after it

    def ended(self) -> None:
        """Nothing of it is under way any more."""
        if self.writes:
            self._trail.heard(self._name)

    def finished(self, content: bytes) -> Answer:
        """What a whole answer is worth.

        Raises:
            Declined, Doubtful, ReadFailed: it is no success.
        """
        assert self._said is not None
        answer = Answer(status=self._said.status, headers=self._said.headers, content=content)
        declared = self._declared(answer)
        if not self.writes:
            verdict = declared or ("done" if 200 <= answer.status < 300 else "declined")
            if verdict == "done" and not (declared or self._is_ended(answer) or self._context.operation_id is None):
                why = f"nothing marks the answer's end; it may be cut, unless you say declares={{{answer.status}: 'done'}}"
                self._trail.note(f"{self._where}: {why}")
                raise self._read_failed(why, answer)
            if verdict == "done":
                return answer
            raise self._read_failed(f"answered with status {answer.status}", answer)
        if declared == "done":
            self.ended()
            return answer
        return self._judged(answer, verdict_of(self.method, answer.status, declared=declared, again=self._again))

    def _is_ended(self, answer: Answer) -> bool:
        """Whether it says where it ends; where only the connection's end does, that may have come too early."""
        chunked = "chunked" in answer.headers.get("transfer-encoding", "").lower()
        empty = self.method == "HEAD" or answer.status in (204, 205)
        return empty or "content-length" in answer.headers or chunked

    @property
    def _again(self) -> bool:
        return self._context.attempt > 1

    def _declared(self, answer: Answer) -> Verdict | None:
        declares: Declared | None = self._how.get("declares")
        if declares is None:
            return None
        try:
            with contained():
                verdict = declares(answer) if callable(declares) else declares.get(answer.status)
        except Exception as error:  # the application's own function
            self._trail.note(f"declares= raised {type(error).__name__}")
            return "doubt"
        return verdict if verdict in _VERDICTS else "doubt"

    def _judged(self, answer: Answer, verdict: Verdict) -> Answer:
        self.ended()
        if verdict == "done" and self._is_ended(answer):
            return answer
        if verdict == "done":
            mend = f"it may be cut, unless you say declares={{{answer.status}: 'done'}}"
            raise Doubtful(f"{self._where} was answered, and nothing marks the answer's end; {mend}", answer=answer)
        if verdict == "doubt":
            raise Doubtful(f"{self._where} answered {answer.status}, which does not say that nothing happened", answer=answer)
        self._trail.free(self._name)
        hint, after_s = hint_of(answer.status), _retry_after_s(answer.headers)
        if self._trail.changed:
            raise Doubtful(f"{self._where} was declined, and an earlier request of this attempt was not", answer=answer)
        raise Declined(
            f"The service declined this with status {answer.status}.",
            answer=answer,
            retry=hint,
            retry_after_s=after_s if hint == "after" else None,
        )

    def failed(self, why: str, retry: Literal["no", "after"]) -> Exception:
        """What to raise where there is no whole answer.

        Args:
            why: in words, without any of the exchange's own.
            retry: what may be tried where nothing was sent.
        """
        looks = callable(self._how.get("declares"))
        if self._said is not None and self.writes and not looks and not 200 <= self._said.status < 300:
            return self._head_only()
        if not self._sent:
            return self._unsent(f"not sent: {why}", retry)
        self.ended()
        self._trail.note(f"{self._where}: {why}")
        answer = None if self._said is None else Answer(status=self._said.status, headers=self._said.headers)
        if not self.writes:
            return self._read_failed(why, answer)
        return Doubtful(f"{self._where} was sent: {why}", answer=answer)

    def _head_only(self) -> Exception:
        """A refusal stands by its head, whatever became of its words; but not where those say what it means."""
        try:
            self.finished(b"")
        except (Declined, Doubtful) as error:
            return error
        return Doubtful(f"{self._where}: the answer broke off")

    def _unsent(self, why: str, retry: Literal["no", "after"]) -> Exception:
        self._trail.note(f"{moment(ambient.now_ms())} {self._where} {why}")
        if not self._trail.writes:
            return self._read_failed(why, None)
        if self._reserved:
            self._trail.free(self._name)
        if self._trail.changed:
            return Doubtful(f"{self._where} was {why}")
        said = "The service could not be reached, and nothing was sent." if retry == "after" else "The request was not sent."
        return Declined(said, retry=retry)

    def _read_failed(self, why: str, answer: Answer | None) -> Exception:
        """A read's failure; where it stands in the way of a write, nothing has changed unless a request had left."""
        message = f"{self._where}: {why}"
        if not self._trail.writes:
            return ReadFailed(message, answer=answer)
        if self._trail.changed:
            return Doubtful(message, answer=answer)
        status = "" if answer is None else f" (status {answer.status})"
        retry = "corrected" if answer is not None and answer.status in (404, 410) else "after"
        return Declined(
            f"What had to be looked up first could not be{status}; nothing was changed.", answer=answer, retry=retry
        )


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the other side asks for, from a number or a date."""
    said = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,8}", said):
        return float(said)
    try:
        until_s = parsedate_to_datetime(said).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, until_s - ambient.now_ms() / 1000)
