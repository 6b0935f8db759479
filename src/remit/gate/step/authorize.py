"""Step 4, authorize: scopes, ownership, policy and labels, in this order; the strictest decides.

Knows no decision of a person. Invariant: deny over approve over allow over the default, and whatever
goes wrong in here denies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from remit.gate.attempt import context_for
from remit.gate.code import refuse
from remit.gate.desk import Desk
from remit.gate.draft import Draft, Stop, Wanted
from remit.gate.inquire import inquire
from remit.gate.result import describe
from remit.gate.scene import Scene
from remit.label import may_send, needs_approval
from remit.policy import Allow, Ask, Deny, Request, Verdict, judge, stricter
from remit.tool import Arguments, Tool
from remit.types.ident import CallId, Json
from remit.types.label import Label

__all__ = ["authorize", "authorize_draft", "default_wanted"]

OnError = Callable[[Exception], None] | None


async def authorize_draft(draft: Draft) -> Stop | None:
    """Step 4 for a draft; sets what a person must grant."""
    call, label = draft.proposal.call, draft.proposal.label
    found = await authorize(draft.desk, draft.scene, draft.resolved, draft.valid, call=call, label=label, on_error=draft.erred)
    if isinstance(found, Stop):
        return replace(found, detail=draft.detail or found.detail)
    draft.wanted = found
    return None


async def authorize(
    desk: Desk, scene: Scene, tool: Tool, arguments: Arguments, *, call: CallId, label: Label, on_error: OnError = None
) -> Stop | Wanted | None:
    """Whether the call may run: it may not, it may if a person grants something, or it may.

    Args:
        on_error: told what a rule or a function of the tool raised.
    """
    missing = tool.scopes - scene.principal.scopes
    if missing:
        return Stop("authorize", refuse("scope.missing"), detail=f"missing: {', '.join(sorted(missing))}")
    facts: Json = None
    if tool.owns is not None:
        found = await _facts(desk, scene, tool, arguments, call)
        if isinstance(found, Stop):
            return found
        facts = found[0]
    verdict = _verdict(desk, scene, tool, arguments, facts=facts, label=label, on_error=on_error)
    if isinstance(verdict, Deny):
        code = "policy.error" if verdict.reason == "policy.error" else "policy.denied"
        return Stop("authorize", refuse(code), detail=desk.redaction.text(verdict.reason))
    if not may_send(label, tool.audience(arguments, on_error=on_error), tool.open_world):
        return Stop("authorize", refuse("label.readers"))
    wanted = _wanted(tool, arguments, verdict, label)
    return None if wanted is None else replace(wanted, reasons=tuple(map(desk.redaction.text, wanted.reasons)))


async def _facts(desk: Desk, scene: Scene, tool: Tool, arguments: Arguments, call: CallId) -> tuple[Json] | Stop:
    """What `owns=` answers about the resource that is named. No answer, False and a failure are denials."""
    assert tool.owns is not None
    try:
        answer = await inquire(tool.owns, arguments, context_for(desk, scene, call, tool), timeout_s=tool.timeout_s)
    except Exception as error:  # the application's own function
        return Stop("authorize", refuse("owner.denied"), detail=describe(desk.redaction, error))
    if answer is None or answer is False:
        return Stop("authorize", refuse("owner.denied"))
    return (cast("Json", answer),)


def _verdict(
    desk: Desk, scene: Scene, tool: Tool, arguments: Arguments, *, facts: Json, label: Label, on_error: OnError
) -> Verdict:
    request = Request(
        tool=tool.name,
        effect="write" if tool.effect.kind == "write" else "read",
        arguments=arguments,
        principal=scene.principal,
        facts=facts,
        label=label,
        conversation=scene.conversation,
        run=scene.run,
    )
    rule = tool.approve
    if rule is None:
        default: Verdict = Ask(reason="no rule allows this write") if tool.effect.kind == "write" else Allow()
        return judge(desk.policies, request, default=default, on_error=on_error)
    own: Verdict = Allow()
    if rule.wants(arguments, request, on_error=on_error):
        own = Ask(scope=rule.scope, expires_s=rule.expires_s, two_person=rule.two_person, reason=rule.reason)
    return stricter(judge(desk.policies, request, default=own, on_error=on_error), own)


def _wanted(tool: Tool, arguments: Arguments, verdict: Verdict, label: Label) -> Wanted | None:
    reasons = needs_approval(label, tool.effect.kind == "write", arguments=arguments, free=tool.free)
    if isinstance(verdict, Ask):
        said = (verdict.reason,) if verdict.reason else ()
        return Wanted(verdict.scope, verdict.expires_s, verdict.two_person, (*said, *reasons))
    return default_wanted(tool, reasons) if reasons else None


def default_wanted(tool: Tool, reasons: tuple[str, ...]) -> Wanted:
    """Who is asked where nobody said who: as the tool's own rule would have it."""
    rule, default = tool.approve, Ask()
    if rule is None:
        return Wanted(default.scope, default.expires_s, default.two_person, reasons)
    return Wanted(rule.scope, rule.expires_s, rule.two_person, reasons)
