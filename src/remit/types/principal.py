"""Who asks. The application authenticates; a model never names a principal."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Principal"]


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated subject in a tenant, with what it may do.

    Args:
        subject: stable id of the person or service, unique in its tenant.
        tenant: whose data; keys, requests and conversations of two tenants never meet.
        scopes: what it may do now, for example `billing:refund`.
    """

    subject: str
    tenant: str = "default"
    scopes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.subject or not self.tenant:
            raise ValueError("a principal needs a subject and a tenant that are not empty")
        if isinstance(self.scopes, str):
            raise TypeError("scopes is a set of strings, not one string")
        object.__setattr__(self, "scopes", frozenset(self.scopes))

    def same_as(self, other: Principal) -> bool:
        """The same subject of the same tenant, whatever its scopes."""
        return (self.tenant, self.subject) == (other.tenant, other.subject)
