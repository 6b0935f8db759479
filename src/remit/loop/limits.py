"""The budgets of a run and of its conversation, as the driver keeps them.

Knows the ledger's scopes, and asks the tally what an event takes. Invariant: what the ledger is told to be spent
is what the tally counts, so the shared amounts are those that the journal adds up to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from remit.budget import Tally, budget_from_json, deadline_ms, limits_of
from remit.loop.state import RunState
from remit.types.budget import Budget, Spent
from remit.types.change import Spend
from remit.types.event import ModelRequested, Replied, RequestFailed, RunStarted
from remit.types.ident import Digest
from remit.types.ledger import Ledger

__all__ = ["Limits"]

_BEFORE_REQUEST = ("turns", "tokens", "usd_micros")
"""What a request reserves."""
_NOTHING = Spent()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds, and what was spent before this run.

    Args:
        scopes: the ledger's scopes, the run tree's first, each with the bounds that hold before a request.
        before: what earlier runs of the conversation have spent.
    """

    budget: Budget
    conversation: Budget | None
    scopes: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    before: Spent

    @classmethod
    async def of(cls, started: RunStarted, ledger: Ledger) -> Limits:
        """The recorded limits of a run."""
        budget = budget_from_json(started.budget)
        scopes = [(f"run:{started.root}", _before_request(budget))]
        shared = None if started.conversation_budget is None else budget_from_json(started.conversation_budget)
        before = Spent()
        if started.conversation is not None:
            scope = f"conversation:{started.tenant}:{started.conversation}"
            scopes.append((scope, () if shared is None else _before_request(shared)))
            if shared is not None:
                before = _minus(await ledger.spent(scope), await ledger.spent(f"run:{started.root}"))
        return cls(budget, shared, tuple(scopes), before)

    @property
    def needs_price(self) -> bool:
        """Whether money is bounded."""
        return self.budget.usd is not None or (self.conversation is not None and self.conversation.usd is not None)

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
        """Calls, approvals and active time since the run last told them; never refused."""
        tally, booked = state.tally, state.booked
        return self._unbounded(
            Spent(
                calls=tally.calls - booked.calls,
                approvals=tally.approvals - booked.approvals,
                active_ms=tally.active_ms(at_ms) - booked.active_ms,
            )
        )

    def _unbounded(self, amounts: Spent) -> tuple[Spend, ...]:
        return tuple([Spend(scope, amounts) for scope, _ in self.scopes]) if amounts != _NOTHING else ()

    def _counted(self, state: RunState) -> list[tuple[Budget, Tally]]:
        own = [(self.budget, state.tally)]
        return own if self.conversation is None else [*own, (self.conversation, self._shared(state))]

    def _shared(self, state: RunState) -> Tally:
        """The run's tally with what the conversation had spent before it."""
        tally, before = state.tally, self.before
        return replace(
            tally,
            turns=tally.turns + before.turns,
            calls=tally.calls + before.calls,
            tokens=tally.tokens + before.tokens,
            usd_micros=tally.usd_micros + before.usd_micros,
            approvals=tally.approvals + before.approvals,
        )


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
