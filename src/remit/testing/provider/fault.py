"""Faults on order: items of a fake provider's script that go wrong in the way they say.

Each takes a reply where there is one, and can wrap another fault: `cut(stall("text", at=10), at=20)`.
Invariant: a fault is data; what happens is in `send`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

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
    """An error of HTTP; without `body` the provider's own for this status."""
    return Fault(status=status, body=body, headers=dict(headers or {}))


def rate_limit(retry_after_s: float = 1.0) -> Fault:
    """429 with `retry-after`."""
    return Fault(status=429, headers={"retry-after": f"{retry_after_s:g}"})


def cut(reply: Faulty, at: int, *, end: End = "torn") -> Fault:
    """The reply ends after `at` bytes of its body."""
    return replace(_fault(reply), cut_at=at, end=end)


def stall(reply: Faulty, seconds: float | None = None, *, at: int = 0) -> Fault:
    """After `at` bytes nothing comes for `seconds`, or until `FakeProvider.release` is called."""
    return replace(_fault(reply), stall_at=at, stall_s=seconds)


def repeat(reply: Faulty, times: int = 2) -> Fault:
    """The body, or all events of the stream, `times` times in one response."""
    return replace(_fault(reply), times=times)


def break_off(reply: Faulty, after: int, *, status: int = 529) -> Fault:
    """After so many events of the stream comes the provider's error (of this status), and the stream ends."""
    return replace(_fault(reply), error_after=after, error_status=status)


def garbage(data: bytes = b"<html>no service</html>", *, status: int = 200) -> Fault:
    """These bytes in place of a reply."""
    return Fault(status=status, body=data)


def hang_up(when: Literal["before", "after"] = "after") -> Fault:
    """The connection is closed without a word, before or after the request's body was read."""
    return Fault(unheard=when)


def _fault(reply: Faulty) -> Fault:
    return reply if isinstance(reply, Fault) else Fault(reply=reply)
