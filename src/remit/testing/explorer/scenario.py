"""A scenario: what is asked for, what the model proposes, and what the world holds.

Knows no schedule. Invariant: what a scenario's model says follows from the conversation that it is sent, so that it says
the same after a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from remit.model import Said, ScriptedCall
from remit.types.budget import Budget
from remit.types.ident import Json
from remit.types.principal import Principal

__all__ = ["MARK", "Script", "Scenario"]

Script = Sequence[Said] | Callable[[dict[str, Json]], Said]
"""What the model says to one request, turn by turn; or a function of the body that it is sent."""

MARK = "bytes-of-a-stranger"
"""Stands in every result that is not declared trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One story that every schedule of it tells, with another trouble each time.

    Args:
        name: of the scenario; a schedule begins with it.
        turns: what the model says, turn by turn, the last a text.
        request: what the user says.
        beside: further requests, made at once with the first: for each what the model says to it.
        principal: who asks; None is one with every scope that the tools name.
        conversation: whether the requests are messages of one conversation.
        results: what tools return, by name; of the others something is made up.
        facts: what `owns=` answers, by tool; of the others it answers yes.
        edits: the arguments that a person writes who edits, by tool.
        budget: in place of the agent's.
        children: what the models of other agents say, by the name of the tool that asks them; their task must hold
            `(task NAME)`, which is added to the task of a workflow's step.
        inputs: of a workflow, in the place of `turns` and `beside`: the input of each request.
        swaps: what the untrusted result may say, as the calls that a model makes that obeys it. The schedule is played
            once with each, and what nobody approved must not depend on which.
        pasted: whether the order is in what the user pasted, too.
    """

    name: str
    turns: Script = ()
    request: str = "Do what is to be done."
    beside: Sequence[Script] = ()
    principal: Principal | None = None
    conversation: bool = False
    results: Mapping[str, Json] = field(default_factory=dict[str, Json])
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    edits: Mapping[str, Mapping[str, Json]] = field(default_factory=dict[str, Mapping[str, Json]])
    budget: Budget | None = None
    children: Mapping[str, Script] = field(default_factory=dict[str, Script])
    swaps: Sequence[Sequence[ScriptedCall]] = ()
    pasted: bool = False
    inputs: Sequence[Mapping[str, Json]] = ()

    @property
    def scripts(self) -> tuple[Script, ...]:
        """What the model says to each request."""
        return (self.turns, *self.beside)

    @property
    def requests(self) -> int:
        """How many requests are made."""
        return len(self.inputs) or len(self.scripts)
