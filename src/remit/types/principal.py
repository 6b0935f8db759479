"""Who asks. The application authenticates; a model never names a principal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from remit.errors import InputError
from remit.types.given import given_id

__all__ = ["Principal"]


@dataclass(frozen=True, slots=True, init=False)
class Principal:
    """An authenticated subject in a tenant, with what it may do.

    Args:
        subject: stable id of the person or service, unique in its tenant.
        tenant: whose data; keys, requests and conversations of two tenants never meet.
        scopes: what it may do now, for example `{"billing:refund"}`.

    Raises:
        InputError: a subject, tenant or scope that is no text or empty, or scopes that are one string.
    """

    subject: str
    tenant: str
    scopes: frozenset[str]

    def __init__(self, subject: str, tenant: str = "default", scopes: Iterable[str] = ()) -> None:
        object.__setattr__(self, "subject", given_id(subject, "subject= of Principal", "give the id of who asks"))
        object.__setattr__(self, "tenant", given_id(tenant, "tenant= of Principal", "give the id of whose data it is"))
        object.__setattr__(self, "scopes", _scopes(scopes))

    def same_as(self, other: Principal) -> bool:
        """The same subject of the same tenant, whatever its scopes."""
        return (self.tenant, self.subject) == (other.tenant, other.subject)


def _scopes(scopes: Iterable[object]) -> frozenset[str]:
    mend = 'give a set of strings, for example {"billing:refund"}'
    if isinstance(scopes, str) or not isinstance(scopes, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"scopes= of Principal is a {type(scopes).__name__}; {mend}", code="principal.scopes")
    return frozenset(given_id(scope, "a scope of Principal", mend) for scope in scopes)
