"""Who may decide, and whether a decision made earlier still covers what is wanted now.

Pure. Invariant: nothing that a model, a tool or a conversation says is an input here.
"""

from __future__ import annotations

from collections.abc import Collection

from remit.errors import Denied
from remit.types.approval import Approval
from remit.types.principal import Principal

__all__ = ["covers", "may_decide"]


def may_decide(approval: Approval, principal: Principal) -> None:
    """Return if `principal` may decide this row, in any direction. A scope that names several needs all of them.

    Raises:
        Denied: `approval.tenant` (it is another tenant's), `approval.scope` (the approver's scope is missing), or
            `approval.two_person` (the requester, or whoever wrote the arguments, cannot be the second person).
    """
    if principal.tenant != approval.tenant:
        raise Denied("this approval belongs to another tenant", code="approval.tenant")
    missing = sorted(set(approval.scope.split()) - principal.scopes)
    if missing:
        raise Denied(f"deciding this needs the scope {' and '.join(missing)}", code="approval.scope", scope=approval.scope)
    if approval.two_person and principal.subject in (approval.requester, approval.author):
        raise Denied("this needs a second person to decide", code="approval.two_person")


def covers(approval: Approval, *, scope: str, two_person: bool, reasons: Collection[str]) -> bool:
    """Whether a yes to `approval` still answers what would be asked today.

    It does not if another scope is needed, if a second person is needed and there was none, or if there is a reason
    that the approver was not shown.
    """
    if not set(scope.split()) <= set(approval.scope.split()) or not set(reasons) <= set(approval.reasons):
        return False
    return not two_person or approval.decided_by not in (approval.requester, approval.author)
