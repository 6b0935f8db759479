"""What an agent refuses when it is written, and what its version follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from remit import (
    READ,
    TRUSTED,
    Agent,
    Budget,
    DefinitionError,
    InputError,
    Principal,
    RemitError,
    ScriptedModel,
    manual,
    tool,
    write,
)
from remit.agent import DATA_SENTENCE
from remit.types.ident import Json

ALICE = Principal("alice", scopes=frozenset({"a"}))


@tool(effect=READ, label=TRUSTED)
async def look(name: str) -> str:
    """Look.

    Args:
        name: what
    """
    return name


@tool(effect=write(once_per="name", recovery=manual), label=TRUSTED)
async def change(name: str) -> str:
    """Change.

    Args:
        name: what
    """
    return name


@dataclass
class Sum:
    total: int


def agent(**changes: object) -> Agent:
    settings: dict[str, object] = {"model": "anthropic:some", "instructions": "Help.", "tools": [look]}
    return Agent("helper", **(settings | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("model", "claude"),
        ("model", "anthropic:"),
        ("on_wait", "maybe"),
        ("max_tokens", 0),
        ("max_tokens", "many"),
        ("max_tokens", True),
        ("model", 3),
        ("model", None),
        ("model", ScriptedModel),
        ("budget", None),
        ("budget", {"turns": 3}),
        ("budget", Budget(calls_per_tool={"lok": 0})),
        ("conversation_budget", 3),
        ("conversation_budget", Budget(calls_per_tool={"paay": 0})),
        ("settings", None),
        ("settings", "hot"),
        ("settings", {"temperature": object()}),
        ("server_tools", {"type": "web_search"}),
        ("server_tools", [{"name": "web_search"}]),
        ("stream", "yes"),
        ("fallback", "anthropic:claude-x"),
        ("fallback", ["claude-x"]),
        ("fallback", ["openai-chat:gpt-x"]),
        ("server_tools", ["web_search"]),
        ("parallel", "yes"),
        ("policy", 3),
        ("tools", None),
        ("tools", "look"),
        ("done", "yes"),
        ("policy", ["rule"]),
        ("instructions", 3),
        ("tools", look),
        ("answer", object()),
        ("tool_choice", "lok"),
    ],
)
def test_what_is_written_wrongly_is_refused_with_its_place(place: str, value: object) -> None:
    with pytest.raises(DefinitionError) as error:
        agent(**{place: value})
    assert f"{place}=" in str(error.value)
    assert error.value.code == f"agent.{place}"


@pytest.mark.parametrize("secrets", ["abcdef", ["abc"], [12345], 3, None])
def test_secrets_that_cannot_be_removed_are_refused(secrets: object) -> None:
    with pytest.raises(DefinitionError, match="secrets= of agent") as error:
        agent(secrets=secrets)
    assert error.value.code == "secret.short"


def test_a_limit_of_a_tool_that_is_not_there_names_the_one_that_was_meant() -> None:
    with pytest.raises(DefinitionError, match=r"'lok', which is no tool of it; did you mean 'look'\?"):
        agent(budget=Budget(calls_per_tool={"lok": 0}))
    assert agent(budget=Budget(calls_per_tool={"look": 0})).budget.calls_per_tool == {"look": 0}


def test_a_plain_function_is_no_tool_and_a_name_is_text() -> None:
    def plain(name: str) -> str:
        return name

    with pytest.raises(DefinitionError, match="'plain' is not a tool; put @tool"):
        agent(tools=[plain])
    with pytest.raises(DefinitionError, match="name="):
        Agent(3, model="anthropic:some")  # type: ignore[arg-type]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(DefinitionError, match="look"):
        agent(tools=[look, look])


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(DefinitionError):
        Agent(" ", model="anthropic:some")


def test_an_agent_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        agent().name = "other"  # type: ignore[misc]


def test_the_model_goes_on_with_a_receipt_only_where_it_can_withdraw() -> None:
    assert agent(tools=[look, change]).catalogue.get("withdraw") is None
    assert agent(tools=[look, change], on_wait="answer").catalogue.get("withdraw") is not None
    assert agent(tools=[look], on_wait="answer").catalogue.get("withdraw") is None


def test_instructions_end_with_the_sentence_about_data() -> None:
    assert agent().instructions_for(ALICE) == f"Help.\n\n{DATA_SENTENCE}"
    assert agent(instructions="").instructions_for(ALICE) == DATA_SENTENCE


def test_instructions_may_depend_on_the_principal() -> None:
    spoken = agent(instructions=lambda principal: f"Help {principal.subject}.")
    assert spoken.instructions_for(ALICE).startswith("Help alice.")


@pytest.mark.parametrize("function", [lambda principal: 1 / 0, lambda principal: None])
def test_instructions_that_fail_are_said_to_the_caller(function: object) -> None:
    with pytest.raises(InputError) as error:
        agent(instructions=function).instructions_for(ALICE)
    assert error.value.code == "agent.instructions"


def test_equal_descriptions_have_equal_versions() -> None:
    assert agent().digest == agent().digest


@pytest.mark.parametrize(
    "change_",
    [
        {"instructions": "Help well."},
        {"model": "anthropic:other"},
        {"settings": {"temperature": 0}},
        {"tools": [look, change]},
        {"policy": [lambda request: None]},
        {"budget": Budget(turns=3)},
        {"conversation_budget": Budget(turns=3)},
        {"answer": Sum},
        {"done": lambda ctx: True},
        {"on_wait": "answer"},
        {"max_tokens": 7},
        {"parallel": False},
        {"tool_choice": "required"},
        {"server_tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    ],
)
def test_whatever_shapes_it_changes_its_version(change_: dict[str, object]) -> None:
    assert agent(**change_).digest != agent().digest


def test_secrets_are_not_in_its_version() -> None:
    assert agent(secrets=["hunter22"]).digest == agent().digest


def test_a_scripted_model_is_an_identity_too() -> None:
    assert agent(model=ScriptedModel([])).identity == "scripted:scripted"
    assert agent().with_model(ScriptedModel([])).name == "helper"
    assert replace(agent(), max_tokens=5).max_tokens == 5


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (Sum, '{"total": 3}', {"total": 3}),
        (Sum, '```json\n{"total": 3}\n```', {"total": 3}),
        (int, '{"answer": 3}', 3),
        (list[str], '{"answer": ["a"]}', ["a"]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
    ],
)
def test_an_answer_of_the_type_is_read(form: object, text: str, value: Json) -> None:
    answer = agent(answer=form).answer_type
    assert answer is not None
    assert answer.schema["type"] == "object"
    assert answer.check(text) == (value, None)


@pytest.mark.parametrize(
    ("form", "text"), [(Sum, "three"), (Sum, '{"total": "x"}'), (Sum, "[]"), (int, "3"), (int, '{"a": 3}')]
)
def test_an_answer_of_another_type_is_told_what_is_wrong(form: object, text: str) -> None:
    answer = agent(answer=form).answer_type
    assert answer is not None
    value, fault = answer.check(text)
    assert value is None
    assert fault


@pytest.mark.parametrize("form", [None, str])
def test_text_needs_no_answer_type(form: object) -> None:
    assert agent(answer=form).answer_type is None


def test_run_sync_says_so_inside_an_event_loop() -> None:
    import asyncio

    async def story() -> None:
        with pytest.raises(InputError, match="async with Remit"):
            agent().run_sync("hello", principal=ALICE)

    asyncio.run(story())


def test_errors_of_definitions_are_remit_errors() -> None:
    assert issubclass(DefinitionError, RemitError)
