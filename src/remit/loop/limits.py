"""The budgets of a run, of its conversation and of the runs above it, as the driver keeps them.

Knows the ledger's scopes, and asks the tally what an event takes. Invariant: what the ledger is told to be spent
is what the tally counts, so the shared amounts are those that the journal adds up to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from remit.budget import Tally, admission_of, budget_from_json, deadline_ms, limits_of
from remit.gate.tree import conversation_of
from remit.loop.state import RunState
from remit.types.budget import Budget, Spent
from remit.types.change import Spend
from remit.types.event import ModelRequested, Replied, RequestFailed, RunStarted
from remit.types.ident import Digest, child_of
from remit.types.ledger import Ledger

__all__ = ["Limits"]

_BEFORE_REQUEST = ("turns", "tokens", "usd_micros")
"""What a request reserves."""
_NOTHING = Spent()
_UNBOUNDED = Budget(turns=None, calls=None, consecutive_errors=None, repeats=None, approvals=None)
_Bounds = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds, and what was spent before this run.

    Args:
        scopes: the ledger's scopes, the run's own first, each with the bounds that hold before a request: a run takes from
            its own, from those of the runs above it and from the conversation's.
        before: what earlier runs of the conversation have spent.
        admission: the same scopes with their bounds of calls and of requests to people.
        is_child: it answers another run's call.
        needs_price: money is bounded.
        below: what the runs below this one have taken of its calls and requests to people.
    """

    budget: Budget
    conversation: Budget | None
    scopes: tuple[tuple[str, _Bounds], ...]
    before: Spent
    admission: tuple[tuple[str, _Bounds], ...] = ()
    is_child: bool = False
    needs_price: bool = False
    below: Spent = _NOTHING

    @classmethod
    async def of(cls, started: RunStarted, ledger: Ledger) -> Limits:
        """The recorded limits of a run. What `below` says is not yet without the run's own: see `less`."""
        budgets = {_own(started): budget_from_json(started.budget)}
        budgets |= {f"run:{share.run}": budget_from_json(share.budget) for share in started.shares}
        shared = None if started.conversation_budget is None else budget_from_json(started.conversation_budget)
        conversation = await conversation_of(ledger, started)
        chain = None if conversation is None else f"conversation:{started.tenant}:{conversation}"
        before = Spent()
        if chain is not None:
            budgets[chain] = shared or _UNBOUNDED
            if shared is not None and started.parent is None:
                before = _minus(await ledger.spent(chain), await ledger.spent(f"run:{started.root}"))
        delegates = any(tool.effect == "agent" for tool in started.tools)
        return cls(
            budgets[_own(started)],
            None if started.parent is not None else shared,
            tuple([(scope, _before_request(budget)) for scope, budget in budgets.items()]),
            before,
            admission=tuple([(scope, admission_of(budget)) for scope, budget in budgets.items()]),
            is_child=started.parent is not None,
            needs_price=any(budget.usd is not None for budget in budgets.values()),
            below=await ledger.spent(_own(started)) if delegates else _NOTHING,
        )

    def less(self, booked: Spent) -> Limits:
        """Without what the run itself has told the ledger."""
        return self if self.below == _NOTHING else replace(self, below=_minus(self.below, booked))

    async def looked(self, ledger: Ledger, booked: Callable[[], Spent]) -> Limits:
        """With what the runs below have taken by now. `booked`: what the run itself has told the ledger."""
        while True:
            told = booked()
            spent = await ledger.spent(self.scopes[0][0])
            if told == booked():
                return replace(self, below=_minus(spent, told))

    def may_request(self, state: RunState, now_ms: int, *, tokens: int, usd_micros: int) -> str | None:
        """None, or the reason with which the run stops before its next request. A further attempt is the same turn."""
        for budget, tally in self._counted(state):
            if state.attempt:
                tally = replace(tally, turns=tally.turns - 1)
            reason = tally.may_request(budget, now_ms=now_ms, reserve_tokens=tokens, reserve_usd_micros=usd_micros)
            if reason is not None:
                return reason
        spent_ms = self.before.active_ms + state.tally.active_ms(now_ms)
        seconds = None if self.conversation is None else self.conversation.seconds
        return "budget.seconds" if seconds is not None and spent_ms >= seconds * 1000 else None

    def left_s(self, state: RunState, now_ms: int) -> float | None:
        """How much time the run has left by `seconds` and `deadline`; None is no bound."""
        own, shared = self.budget, self.conversation
        active_ms = state.tally.active_ms(now_ms)
        left_ms: list[float] = [
            at_ms - now_ms for at_ms in (deadline_ms(own), shared and deadline_ms(shared)) if at_ms is not None
        ]
        if own.seconds is not None:
            left_ms.append(own.seconds * 1000 - active_ms)
        if shared is not None and shared.seconds is not None:
            left_ms.append(shared.seconds * 1000 - active_ms - self.before.active_ms)
        return min(left_ms) / 1000 if left_ms else None

    def admit(self, state: RunState, tool: str, digest: Digest | None, *, polls: bool) -> str | None:
        """None, or the code with which one more call of the tool is refused."""
        for budget, tally in self._counted(state):
            code = tally.admit(budget, tool, digest, polls=polls)
            if code is not None:
                return code
        return None

    def may_ask(self, state: RunState) -> str | None:
        """None, or the code with which no further person is asked."""
        for budget, tally in self._counted(state):
            code = tally.may_ask(budget)
            if code is not None:
                return code
        return None

    def request(self, state: RunState, event: ModelRequested, at_ms: int) -> tuple[Spend, ...]:
        """What the commit of a request takes: its reservation within the bounds, and what is not yet booked."""
        turns, tokens, usd_micros = state.tally.taken_by(event)
        reserved = Spent(turns=turns, tokens=tokens, usd_micros=usd_micros)
        return (*[Spend(scope, reserved, limits) for scope, limits in self.scopes], *self.book(state, at_ms))

    def settle(self, state: RunState, event: Replied | RequestFailed) -> tuple[Spend, ...]:
        """From the reservation to what the request really took; what was never started is given back."""
        turns, tokens, usd_micros = state.tally.taken_by(event)
        return self._unbounded(Spent(turns=turns, tokens=tokens, usd_micros=usd_micros))

    def book(self, state: RunState, at_ms: int) -> tuple[Spend, ...]:
        """Calls, approvals and active time since the run last told them; never refused. What a child took of the runs above
        it was taken when it was admitted, and its time is theirs already."""
        tally, booked = state.tally, state.booked
        amounts = Spent(
            calls=tally.calls - booked.calls,
            approvals=tally.approvals - booked.approvals,
            active_ms=tally.active_ms(at_ms) - booked.active_ms,
        )
        return self._unbounded(amounts)[: 1 if self.is_child else None]

    def take(self, amounts: Spent) -> tuple[Spend, ...]:
        """One more call or request to a person, of all that bound it at once; the ledger refuses what does not fit."""
        return tuple([Spend(scope, amounts, bounds) for scope, bounds in self.admission])

    def give_back(self, amounts: Spent) -> tuple[Spend, ...]:
        """What was taken for something that was not made after all."""
        back = Spent(calls=-amounts.calls, approvals=-amounts.approvals)
        return self._unbounded(back)

    def _unbounded(self, amounts: Spent) -> tuple[Spend, ...]:
        return tuple([Spend(scope, amounts) for scope, _ in self.scopes]) if amounts != _NOTHING else ()

    def _counted(self, state: RunState) -> list[tuple[Budget, Tally]]:
        tally = state.tally
        if self.below != _NOTHING:
            tally = replace(tally, calls=tally.calls + self.below.calls, approvals=tally.approvals + self.below.approvals)
        own = [(self.budget, tally)]
        return own if self.conversation is None else [*own, (self.conversation, self._shared(tally))]

    def _shared(self, tally: Tally) -> Tally:
        """The run's tally with what the conversation had spent before it."""
        before = self.before
        return replace(
            tally,
            turns=tally.turns + before.turns,
            calls=tally.calls + before.calls,
            tokens=tally.tokens + before.tokens,
            usd_micros=tally.usd_micros + before.usd_micros,
            approvals=tally.approvals + before.approvals,
        )


def _own(started: RunStarted) -> str:
    """The run's own scope; of a run that is no child its root is itself."""
    if started.parent is None or started.parent_call is None:
        return f"run:{started.root}"
    return f"run:{child_of(started.parent, started.parent_call)}"


def _before_request(budget: Budget) -> tuple[tuple[str, int], ...]:
    return tuple(limit for limit in limits_of(budget) if limit[0] in _BEFORE_REQUEST)


def _minus(one: Spent, other: Spent) -> Spent:
    return Spent(
        turns=one.turns - other.turns,
        calls=one.calls - other.calls,
        tokens=one.tokens - other.tokens,
        usd_micros=one.usd_micros - other.usd_micros,
        approvals=one.approvals - other.approvals,
        active_ms=one.active_ms - other.active_ms,
    )
