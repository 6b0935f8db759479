"""The providers' error bodies, and the statuses under which they come.

Source: the SDKs' error types. Invariant: what is written here is read by the SDKs as the error that it is.
"""

from __future__ import annotations

import json

from remit.errors import ModelError
from remit.testing.provider.rule import Broken
from remit.types.ident import Json
from remit.types.model import ProtocolName

__all__ = ["broken_body", "error_body", "error_event", "status_of"]

_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_OPENAI: dict[int, tuple[str, str | None]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
_WORDS = {
    401: "the key is not valid",
    429: "the rate of requests is limited",
    500: "Internal server error",
    503: "the service is unavailable",
    529: "Overloaded",
}
_STATUS = {
    "model.rate_limited": 429,
    "model.overloaded": 529,
    "model.timeout": 504,
    "model.refused_request": 400,
    "model.unauthorized": 401,
    "model.context_full": 400,
}


def error_body(protocol: ProtocolName, status: int, message: str | None = None) -> bytes:
    """What the provider answers under a status."""
    error = _error(protocol, status, message)
    return _written({"type": "error", **error} if protocol == "anthropic" else error)


def error_event(protocol: ProtocolName, status: int = 529) -> bytes:
    """The event with which a provider breaks a stream off."""
    error = _error(protocol, status, None)
    match protocol:
        case "anthropic":
            return b"event: error\ndata: " + _written({"type": "error", **error}) + b"\n\n"
        case "openai-chat":
            return b"data: " + _written(error) + b"\n\n"
        case "openai-responses":
            said: dict[str, Json] = {"type": "error", "code": "server_error", "message": _word(status), "param": None}
            return b"event: error\ndata: " + _written({**said, "sequence_number": 0}) + b"\n\n"


def broken_body(broken: Broken) -> bytes:
    """What the provider answers to a request that breaks a rule."""
    if broken.protocol == "anthropic":
        return error_body(broken.protocol, 400, broken.message)
    said: Json = {
        "message": broken.message,
        "type": "invalid_request_error",
        "param": broken.param,
        "code": broken.rule.error,
    }
    return _written({"error": said})


def status_of(error: BaseException) -> tuple[int, str | None]:
    """The status for an error that a script raises, and its words."""
    if not isinstance(error, ModelError):
        return 500, None
    if error.code == "model.context_full":
        return 400, "prompt is too long: maximum context length exceeded"
    return _STATUS.get(error.code, 500 if error.retryable else 400), None


def _error(protocol: ProtocolName, status: int, message: str | None) -> dict[str, Json]:
    words = message or _word(status)
    if protocol == "anthropic":
        return {"error": {"type": _ANTHROPIC.get(status, "api_error"), "message": words}, "request_id": "req_fake"}
    kind, code = _OPENAI.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    return {"error": {"message": words, "type": kind, "param": None, "code": code}}


def _word(status: int) -> str:
    return _WORDS.get(status, f"HTTP {status}")


def _written(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
