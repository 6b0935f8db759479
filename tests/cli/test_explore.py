"""`remit explore`: what it prints, and what its exit code says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.cli import main

SHOP = '''
from remit import DID_NOT, TRUSTED, Agent, Context, Happened, ScriptedModel, call, never, reconcile, tool, write
from remit.testing import Scenario


def look(arguments, ctx: Context):
    return Happened("sold") if arguments["item"] in ctx.deps else DID_NOT


def look_elsewhere(arguments, ctx: Context):
    return DID_NOT


def agent(look):
    @tool(effect=write(once_per="item", recovery=reconcile(look)), approve=never, label=TRUSTED, timeout_s=1)
    def sell(item: str, ctx: Context[list]) -> str:
        """Sell an item.

        Args:
            item: which
        """
        ctx.deps.append(item)
        return "sold"

    return Agent("seller", model="anthropic:x", tools=[sell])


right, wrong = agent(look), agent(look_elsewhere)


def made(model):
    return right.with_model(model)


stories = [Scenario(name="one", turns=[call("sell", item="a hat"), "Sold."])]
one = stories[0]
'''


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hats.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_it_says_how_much_was_played_and_that_every_promise_held(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "hats:right", "--schedules", "40", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("40 schedules of ")
    assert "every promise held" in said


def test_a_function_that_makes_the_agent_of_a_model_is_taken_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "hats:made", "--schedule", "sell: crash@w3+"]) == 0
    assert capsys.readouterr().out.startswith("1 schedules of ")


def test_a_broken_promise_is_an_exit_code_and_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    lost = "one: world:sell=lost model#2=slow"
    arguments = ["explore", "hats:wrong", "--live", "--deps", "builtins:list", "--scenarios", "hats:one"]
    assert main([*arguments, "--schedule", lost]) == 17
    said = capsys.readouterr().out
    assert "sell had 2 effects under operation" in said
    assert "remit explore hats:wrong --seed 0 --schedule 'one: world:sell=lost'" in said
    assert main([*arguments, "--schedule", "one: world:sell=lost", "--json"]) == 17
    document = json.loads(capsys.readouterr().out)
    assert document["holds"] is False
    assert document["failures"][0]["schedule"] == "one: world:sell=lost"
    arguments[1] = "hats:right"
    assert main([*arguments, "--schedule", lost, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["holds"], document["schedules"], document["scenarios"]) == (True, 1, ["one"])


def test_scenarios_of_ones_own_are_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "hats:right", "--scenarios", "hats:stories", "-n", "20", "--jobs", "1"]) == 0
    assert "scenarios: one\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hats:right", "--schedule", "sell: crush@3"], "'crush@3' in the schedule cannot be read"),
        (["hats:right", "--schedule", "nothing: crash@3"], "there is no scenario 'nothing'"),
        (["hats:right", "--scenarios", "hats:right"], "hats:right is no list of Scenario"),
        (["hats:look"], "hats:look failed when it was called"),
        (["hats:stories"], "hats:stories is a list, not an Agent"),
    ],
)
def test_what_cannot_be_used_is_said(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", *arguments]) == 2
    assert said in capsys.readouterr().err
