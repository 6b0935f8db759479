"""What an agent declares secret is in nothing that the command writes, word by word or whole."""

from __future__ import annotations

import pytest

from cli.conftest import Desk
from cli.test_words import delta, on_terminal
from remit.cli.screen import Screen
from remit.cli.words import Words

SECRET = "hunter22 and hunter33"
SPY = f"""
from remit import Agent, ScriptedModel, call, manual, tool, write

@tool(effect=write(once_per=("note",), recovery=manual), preview=lambda arguments: f"Keep {{arguments['note']}}.")
async def keep(note: str) -> str:
    "Keep a note."
    return note

turns = [("It is {SECRET}, and password = zebra9 too.", [call("keep", note="{SECRET}")]), "I say {SECRET}."]
spy = Agent("spy", model=ScriptedModel(turns), tools=[keep], secrets=["{SECRET}"])
again = Agent("again", model=ScriptedModel(lambda _: "It is {SECRET}, said so."), stream=True, secrets=["{SECRET}"])
"""


@pytest.fixture
def spying(desk: Desk) -> Desk:
    (desk.here / "spies.py").write_text(SPY)
    return desk


@pytest.mark.parametrize("more", [(), ("--json",), ("--dry-run",), ("--dry-run", "--json")])
def test_a_run_shows_a_declared_secret_nowhere(spying: Desk, more: tuple[str, ...]) -> None:
    said = spying("run", "spies:spy", f"Keep {SECRET}", "--principal", "alice", *more)
    assert "hunter" not in said.out + said.err
    assert "[redacted]" in said.out
    assert "zebra9" not in said.err


def test_a_terminal_shows_no_secret_word_by_word(spying: Desk) -> None:
    shown = on_terminal(spying, "run", "spies:again", f"Say {SECRET}", "--principal", "alice")
    assert "  model: It is [redacted], said so.\n" in shown
    assert "hunter" not in shown


def test_show_and_follow_mask_what_the_agent_that_is_named_declares(spying: Desk) -> None:
    run = spying("run", "spies:again", f"Say {SECRET}", "--principal", "alice", "--json").json["run"]
    for look in (("show", run), ("show", run, "--json"), ("follow", run), ("follow", run, "--json")):
        said = spying(*look, "--agent", "spies:again")
        assert said.code == 0
        assert "hunter" not in said.out + said.err
        assert "[redacted]" in said.out + said.err
    assert "hunter" in spying("show", run).out  # the ledger alone does not say what is secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdefghijklmnopqrstuvwx\nDone. ", "Authorization: [redacted]\n         Done. "),
        ("the password = hunter2 now ", "the password = [redacted] now "),
        ("card 4111 1111 1111 1111 it is ", "card [redacted] it is "),
        ("-----BEGIN PRIVATE KEY-----\nabc def\n-----END PRIVATE KEY-----\nso ", "[redacted]\n         so "),
    ],
)
def test_a_secret_with_spaces_in_it_is_masked_as_in_the_whole_text(
    text: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = Words(Screen())
    for letter in text:
        words.hear(delta(letter))
    words.close()
    assert capsys.readouterr().err == f"  model: {shown}\n"
