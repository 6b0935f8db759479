"""Steps 1 to 6 for one proposal, in their order.

Knows the order; each step has a file of its own. Invariant: exactly one of these is recorded:
settled (with the answer), joined, waiting (durable), or ready (and then there is a plan).
"""

from __future__ import annotations

from dataclasses import replace

from remit import ambient
from remit.gate.code import not_run, refuse
from remit.gate.desk import Desk
from remit.gate.draft import Draft, Stop, Wanted
from remit.gate.note import end
from remit.gate.scene import Plan, Proposal, Scene
from remit.gate.step.approve import approve, needs_person, question
from remit.gate.step.authorize import authorize_draft, default_wanted
from remit.gate.step.bind import bind
from remit.gate.step.lookup import Follow, Join, doubts, lookup
from remit.gate.step.resolve import resolve
from remit.gate.step.validate import validate
from remit.gate.tell import label_of
from remit.types.budget import Spent
from remit.types.ident import OperationId
from remit.types.outcome import Succeeded

__all__ = ["add_doubts", "consider", "plan_of", "ready", "settle", "take_rate"]


async def consider(desk: Desk, proposal: Proposal, scene: Scene) -> Plan | None:
    """A plan if the call may start now; else its events tell the rest."""
    draft = Draft(desk, scene, proposal)
    stop = await _may_be_asked_for(draft)
    found = stop or await _in_the_way(draft)
    match found:
        case Stop():
            return settle(draft, found)
        case Join(operation=row):
            joined = draft.considered("joined", "lookup", "joined", operation=row.id, approval=row.approval, joined=row.call)
            scene.journal.note(joined)
            return None
        case Follow(operation=holder):
            return ready(draft, "lookup", "held", follow=holder)
        case None:
            return await _ask_or_go(draft)


async def _may_be_asked_for(draft: Draft) -> Stop | None:
    """Steps 1 to 4, and the budgets of calls, which count every proposal."""
    scene, proposal = draft.scene, draft.proposal
    wrong = _read(draft)
    if scene.cancelled.is_set():
        return Stop("stop", not_run("cancelled"))
    if not proposal.again:
        digest = None if draft.arguments is None else draft.arguments.digest
        over = scene.admit(proposal.name, digest) or await scene.take(Spent(calls=1))
        if over is not None:
            return Stop("budget", refuse(over))
    if wrong is not None or draft.resolved.effect.kind == "ask":
        return wrong
    return await authorize_draft(draft)


def _read(draft: Draft) -> Stop | None:
    """Steps 1 to 3: which tool, which arguments."""
    tool = resolve(draft.desk, draft.proposal, draft.scene)
    if isinstance(tool, Stop):
        return tool
    draft.tool = tool
    arguments = validate(tool, draft.proposal, draft.desk.redaction)
    if isinstance(arguments, Stop):
        return arguments if draft.proposal.cut else bind(tool, draft.proposal) or arguments
    draft.arguments = arguments
    return bind(tool, draft.proposal)


async def _in_the_way(draft: Draft) -> Stop | Join | Follow | None:
    """Step 5, for a write; for a read, whether a person has declined it."""
    if draft.resolved.effect.kind == "write":
        return await lookup(draft)
    if draft.wanted is None:
        return None
    rows = await draft.desk.ledger.approvals(run=draft.scene.run, state=("denied",), limit=None)
    same = (draft.resolved.name, draft.valid.digest)
    if any((row.tool, row.arguments_digest) == same for row in rows):
        return Stop("lookup", refuse("denied"))
    return None


async def _ask_or_go(draft: Draft) -> Plan | None:
    """Step 6, or straight on."""
    await add_doubts(draft)
    stop = await _absent(draft) or draft.desk.before_asking(draft)
    if stop is not None:
        return settle(draft, stop)
    if needs_person(draft):
        stop = await _ask(draft)
        return None if stop is None else settle(draft, stop)
    stop = take_rate(draft)
    return ready(draft, "authorize", "allowed") if stop is None else settle(draft, stop)


async def _absent(draft: Draft) -> Stop | None:
    """Nobody is asked for what could not be started here."""
    why = await draft.desk.runner.absent(draft.resolved)
    return None if why is None else Stop("execute", refuse("sandbox.absent"), detail=draft.desk.redaction.text(why))


async def _ask(draft: Draft) -> Stop | None:
    wanted = draft.wanted
    if wanted is None:
        return await question(draft)
    return await approve(draft, replace(wanted, reasons=(*wanted.reasons, *draft.beside)))


async def add_doubts(draft: Draft) -> None:
    """While an operation of the tool is unknown in this scope, a person must see it before the next one starts."""
    if draft.resolved.effect.kind != "write":
        return
    reasons = await doubts(draft.desk, draft.scene, draft.resolved)
    if reasons:
        wanted = draft.wanted or default_wanted(draft.resolved, ())
        draft.wanted = Wanted(wanted.scope, wanted.expires_s, wanted.two_person, (*wanted.reasons, *reasons))


def take_rate(draft: Draft) -> Stop | None:
    """Take one call of the tool's rate."""
    tool = draft.resolved
    if tool.rate is None:
        return None
    wait_s = draft.desk.rates.take(tool.rate, tool.name, draft.scene.principal.tenant)
    return None if wait_s is None else Stop("authorize", refuse("rate.limited", retry_after_s=wait_s))


def ready(draft: Draft, step: str, code: str, *, follow: OperationId | None = None) -> Plan:
    """Note that the call may start, and give its plan."""
    draft.scene.journal.note(draft.considered("ready", step, code))
    return plan_of(draft, follow=follow)


def plan_of(draft: Draft, *, follow: OperationId | None = None) -> Plan:
    """The plan of a draft that passed all steps."""
    return Plan(
        proposal=draft.proposal,
        tool=draft.resolved,
        arguments=draft.valid,
        key=draft.key,
        once_per=draft.once_per,
        author=draft.author,
        shown=draft.shown,
        follow=follow,
    )


def settle(draft: Draft, stop: Stop) -> None:
    """Note that a step decided, and the answer that follows from it."""
    outcome = stop.outcome
    code = outcome.code if not isinstance(outcome, Succeeded) else "repeat"
    draft.scene.journal.note(draft.considered("settled", stop.step, code, operation=stop.operation))
    proposal, subject = draft.proposal, draft.scene.principal.subject
    end(
        draft.scene,
        draft.proposal,
        outcome,
        label=label_of(draft.desk, proposal.name, outcome, proposal.label, subject=subject),
        operation=stop.operation,
        started_s=ambient.monotonic_s(),
        detail=stop.detail,
    )
