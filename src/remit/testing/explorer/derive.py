"""Scenarios that follow from an agent's tools: what a model could ask for, once and twice, with and without people.

Knows declarations and rules. Invariant: every write that arguments can be made up for is in at least one scenario; those
that none can be made up for are named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from remit.agent import Agent
from remit.model import ScriptedCall, call
from remit.policy import Allow, Ask, Deny, Request, judge
from remit.testing.explorer.example import VARIANTS, example
from remit.testing.explorer.scenario import Scenario
from remit.testing.explorer.stage import Subject, every_tool
from remit.tool import Arguments, Tool
from remit.types.budget import Budget
from remit.types.ident import CallId, Json, RunId
from remit.types.label import TRUSTED
from remit.types.principal import Principal

__all__ = ["Derived", "derive", "everybody"]

_END = "That is done."


@dataclass(frozen=True, slots=True)
class Derived:
    """The scenarios, and the tools that none could be made for, each with why."""

    scenarios: tuple[Scenario, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """A tool with arguments that it takes.

    Args:
        plain: with which nobody is asked; empty if there are none that were found.
        asked: with which a person is.
    """

    tool: Tool
    plain: tuple[Arguments, ...]
    asked: tuple[Arguments, ...]

    @property
    def every(self) -> tuple[Arguments, ...]:
        """All, those first that need nobody."""
        return (*self.plain, *self.asked)

    def call(self, arguments: Arguments) -> ScriptedCall:
        """The proposal."""
        return call.raw(self.tool.name, arguments.plain_text())


def everybody(subject: Subject) -> Principal:
    """A principal with every scope that the tools need."""
    return Principal("alice", "explored", [scope for tool in every_tool(subject) for scope in tool.scopes])


def derive(agent: Agent) -> Derived:
    """What there is to explore of the agent."""
    left_out: list[str] = []
    others: list[Scenario] = []
    reads: list[_Known] = []
    writes: list[_Known] = []
    asks: list[Tool] = []
    for tool in agent.tools:
        if tool.effect.kind == "ask":
            asks.append(tool)
            continue
        if isinstance(tool.agent, Agent):
            others.append(_of_agent(tool, tool.agent))
            continue
        known = _known(agent, tool)
        if not known.every:
            left_out.append(f"{tool.name}: no arguments could be made up that it takes and its rules allow; give a Scenario")
        elif tool.effect.kind == "write":
            writes.append(known)
        else:
            reads.append(known)
    scenarios = [one for known in writes for one in _of_write(known)]
    scenarios += [*others, *_of_all(reads, writes, asks)]
    edits = {known.tool.name: known.every[-1].plain() for known in writes if len(known.every) > 1}
    return Derived(tuple(replace(one, edits=edits) for one in scenarios), tuple(left_out))


def _of_agent(tool: Tool, child: Agent) -> Scenario:
    """An agent that another asks: the same task twice in a turn and again, while it does what its own tools do."""
    inner = derive(child).scenarios
    task = call(tool.name, task=f"Do what is to be done. (task {tool.name})")
    script = next((one.turns for one in inner if not callable(one.turns)), [_END])
    below = {name: one for scenario in inner for name, one in scenario.children.items()}
    return Scenario(name=tool.name, turns=[[task, task], task, _END], children={**below, tool.name: script})


def _known(agent: Agent, tool: Tool) -> _Known:
    plain: list[Arguments] = []
    asked: list[Arguments] = []
    for variant in range(VARIANTS):
        checked = tool.check(json.dumps(example(dict(tool.declaration.schema), variant)))
        if not isinstance(checked, Arguments) or checked in plain or checked in asked:
            continue
        match _asks(agent, tool, checked):
            case True:
                asked.append(checked)
            case False:
                plain.append(checked)
            case None:
                pass
    return _Known(tool, tuple(plain), tuple(asked))


def _asks(agent: Agent, tool: Tool, arguments: Arguments) -> bool | None:
    """Whether a person is asked; None if it is not allowed at all. By today's rules, in a trusted context."""
    kind = "write" if tool.effect.kind == "write" else "read"
    request = Request(
        tool=tool.name,
        effect=kind,
        arguments=arguments,
        principal=everybody(agent),
        facts=True,
        label=TRUSTED,
        conversation=None,
        run=RunId("run"),
    )
    rule = tool.approve
    own: Allow | Ask = Ask() if kind == "write" and rule is None else Allow()
    if rule is not None and rule.wants(arguments, request):
        own = Ask()
    verdict = judge(agent.policies, request, default=own)
    if isinstance(verdict, Deny):
        return None
    return isinstance(verdict, Ask) or (rule is not None and isinstance(own, Ask))


def _same_key(tool: Tool, one: Arguments, other: Arguments) -> bool:
    def key(arguments: Arguments) -> str:
        run = RunId("run")
        return tool.key_of(arguments, tenant="t", root=run, run=run, conversation=None, call=CallId("1"))[0]

    return key(one) == key(other)


def _clash(known: _Known) -> tuple[Arguments, Arguments] | None:
    """Two of the same key that differ, of which a person is asked."""
    tool = known.tool
    once_per = tool.effect.once_per
    names = () if once_per is None else once_per.parameters
    if not names or len(known.asked) < 2:
        return None
    first, second = known.asked[:2]
    mixed: dict[str, Json] = {**second.plain(), **{name: first.plain()[name] for name in names}}
    checked = tool.check(json.dumps(mixed))
    if not isinstance(checked, Arguments) or checked == first or not _same_key(tool, first, checked):
        return None
    return first, checked


def _of_write(known: _Known) -> Iterator[Scenario]:
    """One write: twice in a turn and again in the next, beside another; asked for by two requests at once."""
    name, tool = known.tool.name, known.tool
    first = known.every[0]
    keyed = tool.operation_scope == "key"
    others = [one for one in reversed(known.every) if one != first and not (keyed and _same_key(tool, first, one))]
    turn = [known.call(first), known.call(first), *(known.call(one) for one in others[:1])]
    yield Scenario(name=name, turns=[turn, known.call(first), _END])
    if not known.asked:
        return
    asked = known.asked[0]
    if asked != first:
        yield Scenario(name=f"{name}/asked", turns=[[known.call(asked)] * 2, known.call(asked), _END])
    if keyed:
        yield Scenario(name=f"{name}/rival", turns=[known.call(asked), _END], beside=[[known.call(asked), _END]])
        clash = _clash(known)
        if clash is not None:
            one, other = clash
            yield Scenario(name=f"{name}/clash", turns=[known.call(one), _END], beside=[[known.call(other), _END]])


def _of_all(reads: Sequence[_Known], writes: Sequence[_Known], asks: Sequence[Tool]) -> Iterator[Scenario]:
    look = [known.call(known.every[0]) for known in reads]
    act = [known.call(known.every[0]) for known in writes]
    if look and len(look) + len(act) > 1:
        yield Scenario(name="all", turns=[look, act or _END, _END])
    elif len(act) > 1:
        yield Scenario(name="all", turns=[act, _END])
    if any(tool.name == "ask_user" for tool in asks):
        yield Scenario(name="question", turns=[[call("ask_user", question="Shall I?"), *act[:1]], _END])
    if not writes:
        return
    last = writes[0]
    many = [last.call(one) for one in reversed(last.every)][:4]
    yield Scenario(name="budget", turns=[many, many[:2], _END], budget=Budget(turns=2, calls=3, approvals=1))
    yield Scenario(name="talk", turns=[act[:1], _END], beside=[[act[0], _END]], conversation=True)
    yield from _of_strangers(reads, writes)


def _of_strangers(reads: Sequence[_Known], writes: Sequence[_Known]) -> Iterator[Scenario]:
    """A model that obeys what a stranger wrote: in a result, or in what the user pasted."""
    orders: list[list[ScriptedCall]] = [[]]
    for known in writes[:2]:
        orders += [[known.call(one)] for one in (known.every[-1], known.every[0])]
    untrusted = [known for known in reads if known.tool.label is None or not known.tool.label.trusted]
    if untrusted:
        reader = untrusted[0]
        turns = [writes[0].call(writes[0].every[0]), reader.call(reader.every[0]), _END]
        yield Scenario(name="stranger", turns=turns, swaps=orders)
    yield Scenario(name="pasted", turns=[_END], beside=[[_END]], swaps=orders[:3], pasted=True)
