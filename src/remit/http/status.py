"""What an answer's status says of a write, as a table.

Pure. Sources: RFC 9110 (what each status declares), RFC 6585, RFC 8470, and the draft of the HTTPAPI working group on
the Idempotency-Key header (409: the first request of that key is still at work; 422: another request had that key).
Invariant: what is not listed as declining is in doubt.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from remit.tool import Verdict

__all__ = ["DECLINED", "Hint", "hint_of", "verdict_of"]

Hint = Literal["no", "corrected", "after"]

DECLINED: Mapping[int, Hint] = MappingProxyType(
    {
        307: "no",
        308: "no",
        400: "corrected",
        401: "no",
        402: "no",
        403: "no",
        404: "corrected",
        405: "no",
        407: "no",
        410: "corrected",
        411: "no",
        413: "corrected",
        414: "corrected",
        415: "no",
        417: "no",
        421: "no",
        422: "corrected",
        423: "after",
        425: "after",
        426: "no",
        428: "no",
        429: "after",
        431: "no",
        451: "no",
    }
)
"""Statuses by which a service declares that it did nothing, and what may be tried then.

Not among them, and so in doubt:

- 5xx: whatever stands in front of the service may have passed the request on before it failed, `Retry-After` or not.
- 300 to 304: after a `POST`, "see there" is a usual way to say that it is done. 307 and 308 ask for the same request
  elsewhere, which a server may only say that has not carried it out.
- 408, 499: somebody gave up waiting, not necessarily before the request was whole.
- 406: it may be found out only when the answer is written. 424: a part of it may be done.
- 409 and 412: something stands in the way of this request. It may be its own effect, where anything on the way sent it
  twice; RFC 9110 lets that be done with a `PUT` or a `DELETE`, and gateways do it with more.
"""

_MISMATCH = frozenset({400, 409, 422})
"""What services answer to a key that they know with another request, or that is still at work: it was heard before."""

_GONE = frozenset({404, 410})


def verdict_of(method: str, status: int, *, declared: Verdict | None = None, again: bool = False) -> Verdict:
    """What an answer says of a write.

    Args:
        declared: what the application says that it means.
        again: the operation was sent before. Then a refusal that its own earlier attempt may have caused proves nothing,
            whatever is declared: of the key, or of what a `DELETE` no longer finds.
    """
    verdict = declared or _usual(status)
    own = status in _MISMATCH or (method == "DELETE" and status in _GONE)
    return "doubt" if again and own and verdict == "declined" else verdict


def _usual(status: int) -> Verdict:
    if 200 <= status < 300:
        return "done"
    return "declined" if status in DECLINED else "doubt"


def hint_of(status: int) -> Hint:
    """What may be tried after a status that declines."""
    return DECLINED.get(status, "no")
