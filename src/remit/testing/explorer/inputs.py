"""Scenarios that follow from a workflow's signature, tools and agents: what it is given, and what its steps come to.

Knows declarations. Invariant: what a tool or agent says in them has the form that it declares, where it declares one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast, get_type_hints

from remit.agent import Agent
from remit.model import Said
from remit.testing.explorer.derive import Derived, derive
from remit.testing.explorer.example import VARIANTS, example
from remit.testing.explorer.scenario import MARK, Scenario
from remit.testing.explorer.stage import every_tool
from remit.tool import Arguments, Tool
from remit.types.ident import Json
from remit.workflow import Workflow

__all__ = ["derive_workflow"]

_OTHERWISE: dict[str, Json] = {
    "sentence": "Something else?",
    "scope": "remit:approve",
    "two_person": False,
    "expires_s": 86_400,
}
"""What an approver makes of a request of `flow.approve`, who edits."""


def derive_workflow(workflow: Workflow) -> Derived:
    """What there is to explore of the workflow."""
    inputs = [*_inputs(workflow)]
    if not inputs:
        reason = f"{workflow.name}: no input could be made up that its parameters take; give a Scenario with inputs="
        return Derived((), (reason,))
    name = workflow.name
    given = {name: inputs[:1], f"{name}/rival": [inputs[0], inputs[0]]}
    if len(inputs) > 1:
        given[f"{name}/others"] = inputs[:2]
    results, children, edits = _results(workflow), _children(workflow), _edits(workflow)
    made = [Scenario(name=one, inputs=some, results=results, children=children, edits=edits) for one, some in given.items()]
    return Derived(tuple(made), ())


def _inputs(workflow: Workflow) -> Iterator[Mapping[str, Json]]:
    known: set[str] = set()
    for variant in range(VARIANTS):
        checked = workflow.check(json.dumps(example(dict(workflow.schema), variant)))
        if isinstance(checked, Arguments) and checked.text not in known:
            known.add(checked.text)
            yield checked.plain()


def _results(workflow: Workflow) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for tool in every_tool(workflow):
        schema = None if tool.agent is not None or tool.form is None else _returned(tool)
        if schema is not None:
            trusted = tool.label is not None and tool.label.trusted
            found[tool.name] = example(schema) if trusted else _marked(example(schema))
    return found


def _returned(tool: Tool) -> dict[str, Json] | None:
    """The JSON Schema of what its handler says that it returns."""
    from pydantic import PydanticUserError, TypeAdapter
    from pydantic_core import PydanticOmit

    try:
        hint = get_type_hints(tool.handler).get("return")
        schema = cast("dict[str, Json]", TypeAdapter[object](cast("type[object]", hint)).json_schema(mode="serialization"))
    except (PydanticUserError, PydanticOmit, TypeError, NameError, AttributeError):
        return None
    return schema if {"type", "anyOf", "$ref"} & set(schema) else None


def _marked(value: Json) -> Json:
    """The same with a stranger's bytes in its texts."""
    match value:
        case str():
            return f"{value} {MARK}"
        case list():
            return [_marked(one) for one in value]
        case dict():
            return {name: _marked(one) for name, one in value.items()}
        case _:
            return value


def _children(workflow: Workflow) -> dict[str, list[Said]]:
    """What the models of the agents say that it asks: what their own tools give them to do, then an answer of their type."""
    found: dict[str, list[Said]] = {}
    for tool in workflow.tools:
        if isinstance(tool.agent, Agent):
            script, below = _script(tool.agent)
            found |= {**below, tool.name: script}
    return found


def _script(agent: Agent) -> tuple[list[Said], dict[str, list[Said]]]:
    scenarios = derive(agent).scenarios
    turns = next(([*one.turns] for one in scenarios if not callable(one.turns)), ["That is done."])
    below = {name: [*script] for one in scenarios for name, script in one.children.items() if not callable(script)}
    answer = agent.answer_type
    said: list[Said] = [*turns]
    if answer is not None:
        said[-1] = json.dumps(example(dict(answer.schema)))
    return said, below


def _edits(workflow: Workflow) -> dict[str, Mapping[str, Json]]:
    found: dict[str, Mapping[str, Json]] = {"approve": _OTHERWISE}
    for tool in every_tool(workflow):
        checked = tool.check(json.dumps(example(dict(tool.declaration.schema), VARIANTS - 1)))
        if tool.effect.kind == "write" and isinstance(checked, Arguments):
            found[tool.name] = checked.plain()
    return found
