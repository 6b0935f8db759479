"""Whose scopes count now: the caller's, the application's word, or what was recorded.

Invariant: never another tenant or subject than the run's, and a denial by the application stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal

from remit.errors import Denied, NotFound
from remit.foreign import contained
from remit.owner.state import State, recorder_for
from remit.types.event import Recorded, Resumed, RunStarted
from remit.types.ledger import Ledger
from remit.types.principal import Principal

__all__ = ["recorded_principal", "scopes_of_now", "within_parents"]

Source = Literal["caller", "principals", "recorded"]
_PRINCIPALS_S = 3.0
"""How long `principals=` may take; an owner that opens waits for it."""


async def scopes_of_now(state: State, recorded: Principal, caller: Principal | None = None) -> tuple[Principal, Source]:
    """The principal of a run with its scopes of now, and where they come from.

    Raises:
        NotFound: the caller is somebody else.
        Denied: `principals=` says that it may not act any more (`principal.denied`), failed or did not
            answer in time (`principal.failed`).
    """
    if caller is not None:
        if not caller.same_as(recorded):
            raise NotFound("no such run for this principal", code="run.not_found")
        return caller, "caller"
    if state.principals is None:
        return recorded, "recorded"
    try:
        async with asyncio.timeout(_PRINCIPALS_S):
            with contained(awaiting=True):
                now = await state.principals(recorded.tenant, recorded.subject)
    except Exception as error:  # the application's own function
        recorder_for(state.secrets).log_hook("principals=", error)
        late = isinstance(error, TimeoutError)
        message = f"principals= {'did not answer in time' if late else 'failed'} for this principal; the run waits"
        raise Denied(message, code="principal.failed", retryable=True) from error
    if now is None or not now.same_as(recorded):
        raise Denied("principals= does not know this principal any more; the run waits", code="principal.denied")
    return now, "principals"


def recorded_principal(recorded: Iterable[Recorded]) -> Principal:
    """The principal of a run as its events have it, with the scopes that were known last."""
    principal: Principal | None = None
    for one in recorded:
        match one.event:
            case RunStarted(tenant=tenant, subject=subject, scopes=scopes):
                principal = Principal(subject, tenant, frozenset(scopes))
            case Resumed(scopes=scopes) if principal is not None:
                principal = Principal(principal.subject, principal.tenant, frozenset(scopes))
            case _:
                pass
    if principal is None:
        raise NotFound("the run has no first event", code="run.not_found")
    return principal


async def within_parents(ledger: Ledger, recorded: Sequence[Recorded], principal: Principal, source: Source) -> Principal:
    """The principal with no scope that a child was not lent when it began; nor, where nobody says what its scopes are now,
    one that was found gone when a run above it was taken up."""
    first, scopes = _first_of(recorded), principal.scopes
    if first is None or first.parent is None:
        return principal
    scopes &= frozenset(first.scopes)
    while source == "recorded" and first is not None and first.parent is not None:
        above = await ledger.read(first.parent)
        first = _first_of(above)
        if first is not None and first.protocol:  # a host's run has none: the host says its scopes with each call
            scopes &= recorded_principal(above).scopes
    return Principal(principal.subject, principal.tenant, scopes)


def _first_of(recorded: Sequence[Recorded]) -> RunStarted | None:
    first = recorded[0].event if recorded else None
    return first if isinstance(first, RunStarted) else None
