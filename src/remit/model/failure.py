"""A provider's failures, mapped once to `ModelError`.

Knows HTTP's words and the providers' error types. Invariant: a message holds no key, address or body; of a body
only the provider's own short words (its error type and code) are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Literal

from remit import ambient
from remit.errors import ModelError
from remit.types.ident import Json

__all__ = ["NoConnection", "Phase", "broken_off", "cut", "lost", "no_connection", "refused", "timed_out", "unusable"]

NoConnection = Literal[
    "name_not_found",
    "refused",
    "unreachable",
    "certificate_untrusted",
    "certificate_expired",
    "certificate_name",
    "no_tls",
    "proxy_unreachable",
    "proxy_failed",
    "proxy_refused",
]
"""Why a connection could not be made."""

Phase = Literal["connect", "send", "first_byte", "idle", "total"]

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_FULL = re.compile(
    r"prompt is too long|maximum context length|context window|exceed context limit|too many tokens|input is too long", re.I
)
_MESSAGES = {
    "model.rate_limited": "the provider limits the rate of requests",
    "model.overloaded": "the provider is overloaded",
    "model.unavailable": "the provider could not be reached or failed",
    "model.timeout": "the provider did not answer in time",
    "model.refused_request": "the provider called the request itself wrong",
    "model.unauthorized": "the provider did not accept the key, or it may not use this model",
    "model.not_found": "the provider has no such model",
    "model.context_full": "the conversation is longer than the model's context",
    "model.stream_cut": "the provider's stream ended before its reply did",
    "model.unusable": "the provider's response cannot be used",
}
_NO_ADDRESS = "; is the base URL right? For a compatible server it usually ends in /v1"
_NO_CONNECTION: dict[NoConnection, str] = {
    "name_not_found": "its name was not found; is the base URL right?",
    "refused": "the connection was refused; is the base URL right, and does the server run?",
    "unreachable": "no connection",
    "certificate_untrusted": "its certificate is not trusted; SSL_CERT_FILE or SSL_CERT_DIR names others to trust",
    "certificate_expired": "its certificate has expired, or this machine's clock is wrong",
    "certificate_name": "its certificate is that of another name; is the base URL right?",
    "no_tls": "it does not speak TLS as is expected; is the base URL one of https?",
    "proxy_unreachable": "the environment's proxy could not be reached",
    "proxy_failed": "the environment's proxy could not connect",
    "proxy_refused": "the environment's proxy lets no connection through",
}
_FINAL = frozenset({"certificate_untrusted", "certificate_expired", "certificate_name", "proxy_refused"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REDIRECT = "the provider's answer is a redirect, which is not followed (HTTP {}); is the base URL right?"
_NO_REPLY = "the provider's answer is not a reply (HTTP {}); is the base URL right?"
_BY_STATUS = {
    401: "model.unauthorized",
    402: "model.unauthorized",
    403: "model.unauthorized",
    408: "model.timeout",
    409: "model.unavailable",
    413: "model.context_full",
    424: "model.unavailable",
    425: "model.unavailable",
    429: "model.rate_limited",
    504: "model.timeout",
    524: "model.timeout",
    529: "model.overloaded",
}
_BY_WORD = {
    "overloaded_error": "model.overloaded",
    "rate_limit_error": "model.rate_limited",
    "rate_limit_exceeded": "model.rate_limited",
    "context_length_exceeded": "model.context_full",
    "authentication_error": "model.unauthorized",
    "permission_error": "model.unauthorized",
    "billing_error": "model.unauthorized",
    "insufficient_quota": "model.unauthorized",
    "not_found_error": "model.not_found",
    "model_not_found": "model.not_found",
    "timeout_error": "model.timeout",
    "throttlingException": "model.rate_limited",
    "modelTimeoutException": "model.timeout",
}
_WRONG = frozenset({"invalid_request_error", "request_too_large", "invalid_prompt", "validationException"})
_RETRYABLE = frozenset({"model.rate_limited", "model.overloaded", "model.unavailable", "model.timeout"})


@dataclass(frozen=True, slots=True)
class _Said:
    """The provider's own words for what is wrong."""

    words: tuple[str, ...] = ()
    full: bool = False


def refused(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """The error for a response that is no success."""
    said = _said(body)
    code = _code(status, said)
    hint = _NO_ADDRESS if status in (404, 405) and not said.words else ""
    message = f"{_MESSAGES[code]} (HTTP {status}){hint}"
    if status < 400 and code == "model.refused_request":
        message = (_REDIRECT if status in _REDIRECTS else _NO_REPLY).format(status)
    return _failed(message, code, said, headers, status=status)


def broken_off(headers: Mapping[str, str], body: bytes) -> ModelError:
    """The error for a stream that the provider broke off with an error body, after it had begun with a success."""
    said = _said(body)
    code = _worded(said) or ("model.refused_request" if _WRONG.intersection(said.words) else "model.unavailable")
    if said.full:
        code = "model.context_full"
    return _failed(f"{_MESSAGES[code]} (in mid-stream)", code, said, headers, status=200)


def _failed(message: str, code: str, said: _Said, headers: Mapping[str, str], *, status: int) -> ModelError:
    should = headers.get("x-should-retry")
    retryable = should == "true" if should in ("true", "false") else code in _RETRYABLE
    details: dict[str, object] = {"status": status}
    if said.words:
        details["reason"] = said.words[-1]
    after = _retry_after_s(headers)
    if after is not None:
        details["retry_after_s"] = after
    request_id = headers.get("request-id") or headers.get("x-request-id") or ""
    if _ID.fullmatch(request_id):
        details["request_id"] = request_id
    return ModelError(message, code=code, retryable=retryable, **details)


def timed_out(phase: Phase) -> ModelError:
    """The error for a wait that was too long; after `connect` nothing had been sent."""
    message = f"{_MESSAGES['model.timeout']} ({phase})"
    return ModelError(message, code="model.timeout", retryable=True, phase=phase, sent=phase != "connect")


def no_connection(reason: NoConnection, *, status: int | None = None) -> ModelError:
    """The error for a connection that could not be made; of a proxy's refusal also its status."""
    why = _NO_CONNECTION[reason] if status is None else f"{_NO_CONNECTION[reason]} (HTTP {status})"
    details = {} if status is None else {"proxy_status": status}
    message = f"{_MESSAGES['model.unavailable']}: {why}"
    return ModelError(message, code="model.unavailable", retryable=reason not in _FINAL, sent=False, reason=reason, **details)


def lost(*, sent: bool, why: str = "") -> ModelError:
    """The error for a connection that could not be made or broke."""
    message = _MESSAGES["model.unavailable"]
    return ModelError(f"{message} ({why})" if why else message, code="model.unavailable", retryable=True, sent=sent)


def cut() -> ModelError:
    """The error for a stream whose connection ended, well or badly, before the reply did."""
    return ModelError(_MESSAGES["model.stream_cut"], code="model.stream_cut", retryable=True, sent=True)


def unusable(why: str) -> ModelError:
    """The error for a success that is of no use, and would be none if it were asked for again."""
    return ModelError(f"{_MESSAGES['model.unusable']}: {why}", code="model.unusable", retryable=False, sent=True)


def _code(status: int, said: _Said) -> str:
    if said.full and 400 <= status < 500:
        return "model.context_full"
    worded = _worded(said)
    if worded is not None:
        return worded
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return "model.unavailable" if status >= 500 else "model.refused_request"


def _worded(said: _Said) -> str | None:
    return next((_BY_WORD[word] for word in reversed(said.words) if word in _BY_WORD), None)


def _said(body: bytes) -> _Said:
    """The error type and code out of a body, if it has the providers' shape."""
    try:
        whole: Json = json.loads(body)
    except (ValueError, RecursionError):
        return _Said()
    if not isinstance(whole, dict):
        return _Said()
    error = whole.get("error")
    if not isinstance(error, dict):
        error = whole  # an event of a Responses stream says it flatly, and so does a cloud
    said = [error.get(key) for key in ("type", "code", "status")]
    words = tuple(word for word in said if isinstance(word, str) and word != "error" and _WORD.fullmatch(word))
    message = error.get("message")
    return _Said(words, isinstance(message, str) and _FULL.search(message) is not None)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """When to ask again: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date."""
    exact = _number(headers.get("retry-after-ms", ""))
    if exact is not None:
        return exact / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - ambient.now_ms() / 1000)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
