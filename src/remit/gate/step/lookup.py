"""Step 5, look up: whether this effect has happened, is happening, was declined, or is in doubt.

Knows operations; asks nobody. Invariant: a key that is held is answered from its holder, whoever
proposes it, and a person who declined is not asked again in the same run, nor in another of its tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from remit.canonical import decode, encode
from remit.errors import InputError
from remit.gate.code import refuse, unknown
from remit.gate.desk import Desk
from remit.gate.draft import Draft, Stop
from remit.gate.scene import Scene
from remit.gate.tree import below
from remit.tool import Tool
from remit.types.codec import decode_outcome
from remit.types.event import OperationMoved
from remit.types.ident import Json, OperationId
from remit.types.operation import Operation, OperationState
from remit.types.outcome import Failed, FieldError, NotRun, Outcome, Refused, Succeeded, Unknown

__all__ = ["Follow", "Join", "answer_of", "conflict", "doubts", "lookup", "repeat_of"]


@dataclass(frozen=True, slots=True)
class Join:
    """Share the pending operation of an earlier call of this run."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class Follow:
    """The key is held by an operation whose end is not known: wait for it, or recover it."""

    operation: OperationId


async def lookup(draft: Draft) -> Stop | Join | Follow | None:
    """What is known of this effect; None if nothing is in its way. Sets the draft's key."""
    tool, scene, proposal = draft.resolved, draft.scene, draft.proposal
    if tool.operation_scope == "call" and not scene.stable_calls:
        return Stop("lookup", refuse("call.id_missing"))
    try:
        draft.key, draft.once_per = tool.key_of(
            draft.valid,
            tenant=scene.principal.tenant,
            root=scene.root,
            run=scene.run,
            conversation=scene.conversation,
            call=proposal.call,
        )
    except InputError as error:
        if error.__cause__ is not None:
            draft.erred(error.__cause__)
        return Stop("lookup", refuse("key.empty"), detail=draft.detail)
    key = draft.key
    holder = await scene.journal.current(lambda: draft.desk.ledger.held(key))
    if holder is not None:
        return await _held(draft, holder)
    if proposal.joined is not None:
        like = await _like_holder(draft)
        if like is not None:
            return like
    return await _in_this_run(draft)


async def _held(draft: Draft, holder: Operation) -> Stop | Follow:
    if not await draft.desk.ledger.matches(holder.arguments_digest, draft.valid.digest):
        return Stop("lookup", conflict(holder, draft.valid.text), operation=holder.id)
    if holder.state == "succeeded":
        return Stop("lookup", repeat_of(holder, draft.scene), operation=holder.id)
    return Follow(holder.id)


async def _in_this_run(draft: Draft) -> Stop | Join | None:
    """A pending operation to share, a no that was said here already, or a failure that is not to be repeated so soon."""
    scene, name = draft.scene, draft.resolved.name
    states: tuple[OperationState, ...] = ("awaiting_approval", "closed", "failed")
    rows = await scene.journal.current(lambda: draft.desk.ledger.operations(run=scene.run, tool=name, state=states, limit=None))
    same = [row for row in rows if row.arguments_digest == draft.valid.digest]
    for row in same:
        if row.state == "awaiting_approval" and row.key == draft.key and row.call != draft.proposal.call:
            return Join(row)
    draft.beside = tuple(
        f"another request for the same waits with other arguments ({row.id})"
        for row in rows
        if row.state == "awaiting_approval" and row.key == draft.key and row not in same
    )
    if any(row.closed == "denied" for row in same) or await _declined_beside(draft):
        return Stop("lookup", refuse("denied"))
    left_s = max((_wait_s(row, scene) for row in rows if row.state == "failed" and row.key == draft.key), default=0.0)
    return Stop("lookup", refuse("retry.early", retry_after_s=left_s)) if left_s > 0 else None


async def _declined_beside(draft: Draft) -> bool:
    """Whether a person said no to the same in another run of this tree: who delegates does not get to ask again."""
    scene, desk = draft.scene, draft.desk
    if scene.run == scene.root and not any(tool.effect.kind == "agent" for tool in desk.tools.tools):
        return False
    for run in (scene.root, *(row.id for row in await below(desk.ledger, scene.root))):
        if run == scene.run:
            continue
        rows = await desk.ledger.operations(run=run, tool=draft.resolved.name, state=("closed",), limit=None)
        if any(row.closed == "denied" and row.arguments_digest == draft.valid.digest for row in rows):
            return True
    return False


def _wait_s(row: Operation, scene: Scene) -> float:
    """How long the failed operation's handler still wants to be left alone."""
    outcome = None if row.outcome is None else decode_outcome(row.outcome)
    if not isinstance(outcome, Failed) or outcome.retry != "after" or outcome.retry_after_s is None:
        return 0.0
    return row.updated_ms / 1000 + outcome.retry_after_s - scene.journal.now_ms() / 1000


async def _like_holder(draft: Draft) -> Stop | None:
    """The answer of the call whose pending operation this one shared."""
    run, call = draft.scene.run, draft.proposal.joined
    rows = await draft.scene.journal.current(lambda: draft.desk.ledger.operations(run=run, call=call, limit=None))
    row = rows[-1] if rows else None
    if row is None or row.state not in ("failed", "closed") or row.outcome is None:
        return None
    return Stop("lookup", decode_outcome(row.outcome), operation=row.id)


async def doubts(desk: Desk, scene: Scene, tool: Tool) -> tuple[str, ...]:
    """Reasons to ask a person: operations of this tool, in this scope, of which it is not known whether they happened.

    Without them a model would do the blind retry itself, under a new call id. Business keys need no such rule: their
    key is held.
    """
    if tool.operation_scope == "key":
        return ()
    if any(isinstance(event, OperationMoved) and event.state == "unknown" for event in scene.journal.noted):
        await scene.journal.flush()
    rows = await desk.ledger.operations(tool=tool.name, tenant=scene.principal.tenant, state=("unknown",), limit=None)
    return tuple(
        f"an earlier call of {tool.name} is unknown: it may have happened ({row.id})" for row in rows if _near(row, scene)
    )


def _near(row: Operation, scene: Scene) -> bool:
    scope = row.once_per.partition(":")[0]
    if scope == "key":
        return False
    if scope != "run" and row.conversation is not None:
        return row.conversation == scene.conversation
    return row.root == scene.root


def repeat_of(row: Operation, scene: Scene) -> Succeeded:
    """What a repeat of a succeeded operation is told: its result, or to another subject only that it was done."""
    ours = (row.tenant, row.subject) == (scene.principal.tenant, scene.principal.subject)
    if ours and row.forgotten:
        return Succeeded(shown="done already; its result was forgotten", repeat=True, available=False, operation=row.id)
    if not ours or row.outcome is None:
        return Succeeded(shown="already done", repeat=True, available=False)
    outcome = decode_outcome(row.outcome)
    assert isinstance(outcome, Succeeded)
    return replace(outcome, repeat=True, operation=row.id)


def answer_of(row: Operation) -> Outcome:
    """What the call of a settled operation gets."""
    if row.outcome is None:
        return unknown("unknown", operation=row.id)
    outcome = decode_outcome(row.outcome)
    match outcome:
        case Succeeded() | Refused() | Failed() | Unknown() | NotRun():
            return replace(outcome, operation=row.id)


def conflict(holder: Operation, text: str) -> Refused:
    """The key is held for other arguments than the canonical `text`: which differ, and not how."""
    fields = () if holder.forgotten else differing(holder.arguments, text)
    return refuse("conflict", fields=fields, operation=holder.id)


def differing(held: str, asked: str) -> tuple[FieldError, ...]:
    """The top-level arguments whose values differ between two canonical texts."""
    was, now = _members(held), _members(asked)
    names = sorted(name for name in {**was, **now} if was.get(name) != now.get(name))
    return tuple(FieldError(f"/{name}", "is not what was asked for before") for name in names)


def _members(text: str) -> dict[str, str]:
    value: Json = decode(text)  # pyright: ignore[reportAssignmentType]
    return {name: encode(item) for name, item in value.items()} if isinstance(value, dict) else {}
