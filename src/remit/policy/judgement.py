"""One verdict from several policies: deny over ask over allow over the default."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from remit.canonical import digest, name_of
from remit.foreign import contained
from remit.policy.verdict import Allow, Ask, Deny, Request, Verdict

__all__ = ["Policy", "digest_of", "judge", "stricter"]

Policy = Callable[[Request], Verdict | None]
"""Pure; None is no opinion."""

_NO_RULE = Deny("policy.none")


def judge(
    policies: Sequence[Policy],
    request: Request,
    *,
    default: Verdict = _NO_RULE,
    on_error: Callable[[Exception], None] | None = None,
) -> Verdict:
    """The strictest of what the policies say, or `default` if none has an opinion.

    A policy that raises, or returns anything but a verdict or None, denies: `Deny("policy.error")`.

    Args:
        on_error: told what a policy raised, for the operator.
    """
    verdict: Verdict | None = None
    for policy in policies:
        said = _say(policy, request, on_error)
        if isinstance(said, Deny):
            return said
        if said is not None:
            verdict = said if verdict is None else stricter(verdict, said)
    return default if verdict is None else verdict


def _say(policy: Callable[[Request], object], request: Request, on_error: Callable[[Exception], None] | None) -> Verdict | None:
    try:
        with contained():
            said = policy(request)
    except Exception as error:  # the application's own function
        if on_error is not None:
            on_error(error)
        return Deny("policy.error")
    if said is None or isinstance(said, (Allow, Deny, Ask)):
        return said
    if inspect.iscoroutine(said):
        said.close()
    return Deny("policy.error")


def stricter(one: Verdict, other: Verdict) -> Verdict:
    """The stricter of two; of two asks, one that satisfies both."""
    if isinstance(one, Ask) and isinstance(other, Ask):
        return Ask(
            scope=_joined(one.scope.split() + other.scope.split(), " "),
            expires_s=min(one.expires_s, other.expires_s),
            two_person=one.two_person or other.two_person,
            reason=_joined([one.reason, other.reason], "; "),
        )
    order = (Allow, Ask, Deny)
    return other if order.index(type(other)) > order.index(type(one)) else one


def _joined(parts: Sequence[str], by: str) -> str:
    return by.join(dict.fromkeys(part for part in parts if part))


def digest_of(policies: Sequence[Policy]) -> str:
    """The policy's version: it changes when a function is added, removed, moved, renamed or rewritten."""
    return digest("remit.policy", "\n".join(name_of(policy) for policy in policies))
