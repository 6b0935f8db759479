"""A tool's own wish to ask a person: `when(...)`, `always(...)`, `never`.

Knows no approval row and no policy. Invariant: a predicate that fails asks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from remit.errors import DefinitionError
from remit.foreign import contained
from remit.tool.arguments import Arguments
from remit.tool.keyword import named
from remit.types.given import is_number

__all__ = ["ApprovalRule", "always", "never", "when"]

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Whether a call needs a person's approval, and whose.

    Args:
        kind: `never` is also a rule that allows a write.
        scope: what the approver must hold.
        expires_s: how long the request stands.
        two_person: the requester may not approve.
        reason: shown to the approver.
    """

    kind: Literal["when", "always", "never"]
    predicate: Callable[..., object] | None = None
    scope: str = "remit:approve"
    expires_s: float = _DAY_S
    two_person: bool = False
    reason: str = ""

    def wants(
        self, arguments: Arguments, request: object = None, *, on_error: Callable[[Exception], None] | None = None
    ) -> bool:
        """Whether approval is wanted for these arguments; yes, if the predicate fails or does not say yes or no.

        Args:
            on_error: told what the predicate raised, for the operator.
        """
        if self.predicate is None:
            return self.kind != "never"
        try:
            with contained():
                wanted = self.predicate(arguments, request) if _takes_request(self.predicate) else self.predicate(arguments)
        except Exception as error:  # the application's own function
            if on_error is not None:
                on_error(error)
            return True
        if inspect.iscoroutine(wanted):
            wanted.close()
        return wanted is not False


def _takes_request(predicate: Callable[..., object]) -> bool:
    """Whether it cannot be called with the arguments alone: a second parameter with a default is its own business."""
    try:
        inspect.signature(predicate).bind(None)
    except TypeError:
        return True
    return False


@named("definition.approve", predicate="FUNCTION of (arguments)")
def when(
    predicate: Callable[..., bool],
    *,
    scope: str = "remit:approve",
    expires_s: float = _DAY_S,
    two_person: bool = False,
    reason: str = "",
) -> ApprovalRule:
    """Ask a person when `predicate(arguments)` (or `predicate(arguments, request)`) is true, fails, or is not a bool.

    Raises:
        DefinitionError: the predicate cannot be called, is async, or the scope or expiry is empty.
    """
    if not callable(predicate) or inspect.iscoroutinefunction(predicate):
        raise DefinitionError("when() needs a function that is not async", code="definition.approve")
    return _rule("when", predicate, scope=scope, expires_s=expires_s, two_person=two_person, reason=reason)


@named("definition.approve")
def always(
    *, scope: str = "remit:approve", expires_s: float = _DAY_S, two_person: bool = False, reason: str = ""
) -> ApprovalRule:
    """Ask a person every time.

    Raises:
        DefinitionError: the scope or expiry is empty.
    """
    return _rule("always", None, scope=scope, expires_s=expires_s, two_person=two_person, reason=reason)


never = ApprovalRule("never")
"""No person is asked in a trusted context; the rule that allows a write."""


def _rule(
    kind: Literal["when", "always"],
    predicate: Callable[..., object] | None,
    *,
    scope: str,
    expires_s: float,
    two_person: bool,
    reason: str,
) -> ApprovalRule:
    if not isinstance(scope, str) or not scope.strip() or not is_number(expires_s) or expires_s <= 0:  # pyright: ignore
        raise DefinitionError("an approval needs a scope and an expires_s above 0", code="definition.approve")
    if not isinstance(two_person, bool) or not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DefinitionError("two_person= of an approval is True or False, reason= is text", code="definition.approve")
    return ApprovalRule(kind, predicate, scope, float(expires_s), two_person, reason)
