"""Faults on order: items of a fake provider's script that go wrong in the way they say.

Each takes a reply where there is one, and can wrap another fault: `cut(stall("text", at=10), at=20)`.
Invariant: a fault is data, and one that makes no sense is refused where it is written; what happens is in `send`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from remit.errors import InputError
from remit.model import Said

__all__ = ["End", "Fault", "break_off", "cut", "fail", "garbage", "hang_up", "rate_limit", "repeat", "stall"]

End = Literal["torn", "reset", "clean"]
"""How a cut ends: the connection is closed inside the body, it is reset, or the shorter body ends as if it were whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A reply and what goes wrong with it; made by the functions of this module.

    Args:
        reply: what would have been said; None where nothing is.
        status: of the response.
        body: sent in place of a reply.
        headers: of the response, beside the usual ones.
        cut_at: how many bytes of the body come before it ends.
        end: how it ends there.
        stall_at: how many bytes come before a wait.
        stall_s: how long; None until it is released.
        times: how often the body is sent, one after the other.
        error_after: how many events come before the provider's error breaks the stream off.
        error_status: which error it is, by the status that it would have.
        unheard: the connection is closed: before the request's body is read, or after.
    """

    reply: Said | None = None
    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    cut_at: int | None = None
    end: End = "torn"
    stall_at: int | None = None
    stall_s: float | None = None
    times: int = 1
    error_after: int | None = None
    error_status: int = 529
    unheard: Literal["before", "after"] | None = None


Faulty = Said | Fault
"""A reply, or one that goes wrong already."""


def fail(status: int = 500, body: bytes | None = None, *, headers: Mapping[str, str] | None = None) -> Fault:
    """An error of HTTP; without `body` the provider's own for this status.

    Raises:
        InputError: as of all faults, an argument is none of those that it can have (`fault`).
    """
    _need(201 <= status <= 599, "fail: a status is between 201 and 599")
    for name, value in (headers or {}).items():
        _need(_is_line(name) and _is_line(value), "fail: a header is one line")
        _need(name.lower() not in ("content-length", "transfer-encoding"), "fail: the length of a body is not for a script")
    return Fault(status=status, body=body, headers=dict(headers or {}))


def rate_limit(retry_after_s: float = 1.0) -> Fault:
    """429 with `retry-after`."""
    _need(_is_time(retry_after_s), "rate_limit: a wait is a number of seconds, 0 or more")
    return Fault(status=429, headers={"retry-after": f"{retry_after_s:g}"})


def cut(reply: Faulty, at: int, *, end: End = "torn") -> Fault:
    """The reply ends after `at` bytes of its body."""
    _need(at >= 0, "cut: `at` is a number of bytes, 0 or more")
    _need(end in get_args(End), f"cut: `end` is one of {', '.join(get_args(End))}")
    return replace(_fault(reply), cut_at=at, end=end)


def stall(reply: Faulty, seconds: float | None = None, *, at: int = 0) -> Fault:
    """After `at` bytes nothing comes for `seconds`, or until `FakeProvider.release` is called."""
    _need(at >= 0, "stall: `at` is a number of bytes, 0 or more")
    _need(seconds is None or _is_time(seconds), "stall: a wait is a number of seconds, 0 or more")
    return replace(_fault(reply), stall_at=at, stall_s=seconds)


def repeat(reply: Faulty, times: int = 2) -> Fault:
    """The body, or all events of the stream, `times` times in one response."""
    _need(times >= 1, "repeat: `times` is 1 or more")
    return replace(_fault(reply), times=times)


def break_off(reply: Faulty, after: int, *, status: int = 529) -> Fault:
    """After so many events of the stream comes the provider's error (of this status), and the stream ends."""
    _need(after >= 0, "break_off: `after` is a number of events, 0 or more")
    _need(400 <= status <= 599, "break_off: an error's status is between 400 and 599")
    return replace(_fault(reply), error_after=after, error_status=status)


def garbage(data: bytes = b"<html>no service</html>", *, status: int = 200) -> Fault:
    """These bytes in place of a reply."""
    _need(200 <= status <= 599, "garbage: a status is between 200 and 599")
    return Fault(status=status, body=data)


def hang_up(when: Literal["before", "after"] = "after") -> Fault:
    """The connection is closed without a word, before or after the request's body was read."""
    _need(when in ("before", "after"), "hang_up: `when` is before or after")
    return Fault(unheard=when)


def _need(holds: bool, message: str) -> None:
    if not holds:
        raise InputError(message, code="fault")


def _is_line(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _is_time(seconds: float) -> bool:
    return math.isfinite(seconds) and seconds >= 0


def _fault(reply: Faulty) -> Fault:
    return reply if isinstance(reply, Fault) else Fault(reply=reply)
