"""The explorer on agents: whatever goes wrong, every promise holds; equal seeds are equal plays; and what it says of them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from examples.example import load
from remit import (
    CANNOT_TELL,
    DID_NOT,
    READ,
    TRUSTED,
    Agent,
    Arguments,
    Context,
    Happened,
    InputError,
    ScriptedModel,
    Tool,
    call,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.demo.agent import support
from remit.testing import Scenario, explore
from remit.testing.explorer.rows import reachable
from remit.tool import Told
from testing.explorer.works import chief, waiting, works

HERE = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("agent", "schedules"),
    [
        pytest.param(works, 150, id="every kind of tool"),
        pytest.param(waiting, 50, id="answered while people wait"),
        pytest.param(chief, 40, id="an agent that asks another"),
        pytest.param(support(ScriptedModel([], protocol="openai-chat")), 80, id="the demo's billing agent"),
        pytest.param(load("expense").expense_agent(ScriptedModel([])), 50, id="the expense example"),
        pytest.param(load("service").support(), 50, id="the service example"),
    ],
)
def test_whatever_goes_wrong_every_promise_holds(agent: Agent, schedules: int) -> None:
    exploration = explore(agent, schedules=schedules)
    assert exploration.holds, str(exploration)
    assert exploration.schedules == schedules
    assert exploration.left_out == ()


ROWS = [
    "post_letter: person=edit",
    "post_letter: person=deny",
    "post_letter: person=late",
    "post_letter: person=withdraw",
    "post_letter: person=cancel",
    "refund/asked: person=revoke",
    "post_letter: person=stricter",
    "post_letter: person=alter",
    "refund/rival:",
    "refund/clash:",
    "pay: world:pay=lost",
    "pay: world:pay=refuse",
    "refund: world:refund=hang",
    "refund: world:refund=fail",
    "refund: world:refund=late",
    "refund: world:refund=fail cancel@40",
    "notify: world:notify=lost",
    "notify: world:notify=fail",
    "notify: world:notify=late",
    "notify: world:notify=late-refuse",
    "open_account: crash@w4-",
]


def test_every_row_of_the_table_of_effects_that_these_tools_can_take_is_taken_somewhere() -> None:
    exploration = explore(works, schedules=ROWS)
    assert exploration.holds, str(exploration)
    assert reachable(works.tools) - exploration.taken == set()


def test_a_crash_in_the_recovery_of_a_crash_and_a_second_process_beside_it() -> None:
    texts = [
        "refund: crash@w4+ crash@+w1-",
        "refund: crash@w4+ crash@+w1+ crash@+w2-",
        "refund: crash@w4- second@+1 order=7",
        "refund: second@20 order=5 crash@40 cancel@+5",
        "refund: world:refund=after ask:refund=cannot crash@w4+ pause=3600",
        "pay: world:pay=lost crash@w3+ clock+3456000@30",
        "pay: crash@w3+ clock-3600@30 again@35",
    ]
    exploration = explore(works, schedules=texts)
    assert exploration.holds, str(exploration)
    assert exploration.schedules == len(texts)


def _digest_of(seed: int, hash_seed: str) -> str:
    code = (
        "import sys; from hashlib import sha256; from remit.testing.explorer.judge import Explorer\n"
        "from remit.testing.explorer.play import Play\nfrom remit.testing.explorer.check import read\n"
        "from testing.explorer.works import works\n"
        f"explorer = Explorer(works, seed={seed})\n"
        "for schedule in explorer.plan(30):\n"
        "    record = read(Play(explorer.cast(schedule.scenario), schedule).play())\n"
        "    events = [repr(one) for story in record.stories for one in story.recorded]\n"
        "    print(schedule, record.played.steps, sha256(''.join(events).encode()).hexdigest())\n"
    )
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(HERE)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def test_the_same_seed_is_the_same_schedules_and_the_same_bytes_in_every_process() -> None:
    first = _digest_of(0, "1")
    assert _digest_of(0, "2") == first
    assert _digest_of(1, "1") != first


def test_processes_that_share_the_work_find_the_same() -> None:
    alone, shared = explore(works, schedules=60), explore(works, schedules=60, jobs=2)
    assert replace(alone, seconds=0.0) == replace(shared, seconds=0.0)


def test_a_tool_that_no_arguments_can_be_made_up_for_is_named_and_a_scenario_explores_it() -> None:
    schema = {
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"}},
        "required": ["code"],
    }
    coded = Tool.from_schema(
        name="coded",
        description="A code.",
        schema=schema,
        handler=lambda arguments, ctx: None,
        effect=write(once_per="code", recovery=manual),
        approve=never,
    )
    with pytest.raises(InputError, match="coded: no arguments could be made up"):
        explore(Agent("a", model="anthropic:x", tools=[coded]))
    both = Agent("a", model="anthropic:x", tools=[coded, *works.tools[:3]])
    assert [one.partition(":")[0] for one in explore(both, schedules=5).left_out] == ["coded"]
    own = Scenario(name="own", turns=[call("coded", code="ABC-1234"), "done"])
    exploration = explore(both, scenarios=[own], schedules=60)
    assert exploration.holds, str(exploration)
    assert exploration.scenarios == ("own",)


def test_a_scenario_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="there is no scenario 'nothing'; there are: pay, refund"):
        explore(works, schedules=["nothing: crash@3"])


@dataclass
class Bank:
    """The application's own outside."""

    paid: list[str] = field(default_factory=list[str])
    blind: bool = False


def _agent_of(look: object) -> Agent:
    @tool(effect=write(once_per="order", recovery=reconcile(look)), approve=never, label=TRUSTED, timeout_s=1)  # type: ignore[arg-type]
    def settle(order: str, ctx: Context[Bank]) -> str:
        """Settle an order.

        Args:
            order: which
        """
        ctx.deps.paid.append(order)
        return "settled"

    @tool(effect=READ, label=TRUSTED)
    async def state(order: str, ctx: Context[Bank]) -> bool:
        """Look at an order.

        Args:
            order: which
        """
        return order in ctx.deps.paid

    return Agent("bank", model="anthropic:x", tools=[settle, state])


def truthful(arguments: Arguments, ctx: Context[Bank]) -> Told:
    return Happened("settled") if arguments["order"] in ctx.deps.paid else DID_NOT


def wrong(arguments: Arguments, ctx: Context[Bank]) -> Told:
    return DID_NOT if ctx.deps.paid else CANNOT_TELL


def test_live_runs_the_applications_own_handlers_and_finds_a_reconciler_that_is_wrong() -> None:
    exploration = explore(_agent_of(truthful), live=True, deps=Bank, schedules=80)
    assert exploration.holds, str(exploration)
    exploration = explore(_agent_of(wrong), live=True, deps=Bank, schedules=80)
    assert any("settle had 2 effects" in one for failure in exploration.failures for one in failure.found), str(exploration)
