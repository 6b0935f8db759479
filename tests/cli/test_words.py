"""A terminal shows words as they come, a pipe whole lines; and a run can be watched from another process."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from cli.conftest import Desk
from remit.cli.screen import Screen
from remit.cli.words import Words
from remit.types.ident import RunId
from remit.types.stream import Delta

SCRIPT = "import sys; from remit.cli import main; sys.exit(main())"


def on_terminal(desk: Desk, *argv: str) -> str:
    """What a person sees on standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *argv],
        cwd=desk.here,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 65_536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    os.close(ours)
    assert process.wait() == 0, shown
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r\n", "\n")


def test_a_terminal_shows_the_words_of_the_reply_once_and_masked(desk: Desk) -> None:
    shown = on_terminal(desk, "run", "shop:stutterer", "Where is it?", "--principal", "alice")
    assert "  attempt 1 failed: model.stream_cut" in shown
    assert shown.count("  model: It is with") == 1
    assert "  model: It is with [redacted]\n         at the door.\n" in shown
    assert "sk-abcdefghijklmnopqrstuv" not in shown


def test_words_that_stand_for_nothing_are_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    words = Words(Screen())
    words.retract()
    words.hear(delta("It is not "))
    words.retract()
    words.hear(delta("It is. ", attempt=2))
    words.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].rstrip() == "  model: It is not"
    assert "taken back" in lines[1]
    assert lines[2].rstrip() == "  model: It is."
    assert words.told == (1, 2)


def test_a_pipe_gets_whole_lines_and_no_stream_is_asked_for(desk: Desk) -> None:
    said = desk("run", "shop:reader", "Where is it?", "--principal", "alice")
    assert "  model: I look." in said.err.splitlines()
    assert "taken back" not in said.err


def test_quiet_shows_no_words(desk: Desk) -> None:
    assert on_terminal(desk, "run", "shop:talker", "Hello", "--principal", "alice", "--quiet") == ""


def test_a_run_is_followed_from_another_process_until_it_has_ended(desk: Desk) -> None:
    run = desk.run("refunder").json
    command = [sys.executable, "-c", SCRIPT, "follow", run["run"]]
    process = subprocess.Popen(command, cwd=desk.here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    asked = ("--by", "bob", "--reason", "ok", "--agent", "shop:refunder", "--deps", "shop:make_shop")
    assert desk("approve", run["approvals"][0]["id"], *asked).code == 0
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert first.startswith(f"run {run['run']}")
    assert "approved by bob" in err
    assert out.splitlines()[0] == "It is refunded."


def test_what_was_seen_is_not_told_again_and_json_is_a_document_a_line(desk: Desk) -> None:
    run = desk.run("talker").json["run"]
    said = desk("follow", run, "--json")
    events = [json.loads(line) for line in said.out.splitlines()]
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["kind"] == "run.ended"
    later = desk("follow", run[:12], "--json", "--after", str(len(events) - 1))
    assert [json.loads(line) for line in later.out.splitlines()] == events[-1:]
    assert (said.code, later.code) == (0, 0)


def test_usage_that_was_not_reported_is_not_shown_as_none(desk: Desk) -> None:
    path = desk.here / "shop.py"
    script = 'ScriptedModel([ScriptedModel.turn("Hi.", usage=Usage())])'
    text = path.read_text().replace("from remit import ", "from remit import Usage, ", 1)
    path.write_text(f'{text}\nmute = Agent("mute", model={script})\n')
    said = desk("run", "shop:mute", "Hello", "--principal", "alice")
    assert "no tokens were reported, list price unknown" in said.out
    assert "tokens unknown" in said.err
    run = next(word for word in said.out.split() if word.startswith("run_"))
    assert "no tokens were reported" in desk("show", run).out
    shown = desk("show", run, "--json").json["standing"]["usage"]
    assert shown["reported"] is False
    assert desk.run("talker").json["usage"]["reported"] is True


def delta(text: str, *, index: int = 0, attempt: int = 1, kind: str = "text") -> Delta:
    return Delta(run=RunId("run_1"), after=1, turn=1, attempt=attempt, index=index, kind=kind, text=text)  # type: ignore[arg-type]


def test_thoughts_calls_and_control_characters_have_their_place(capsys: pytest.CaptureFixture[str]) -> None:
    words = Words(Screen())
    words.hear(delta("I should ", kind="reasoning"))
    words.hear(delta("look\x1b[2J.", index=1, kind="reasoning"))
    words.hear(delta("I lo", index=2))
    words.hear(delta("ok.", index=3))
    words.hear(delta("lookup", index=4, kind="call"))
    words.close()
    assert capsys.readouterr().err == "  thinks: I should look\\x1b[2J.\n  model: I look.\n"
    assert words.told == (1, 1)
