"""On a real terminal, colour is ours alone, and nobody's text is obeyed."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from cli.conftest import Desk

SCRIPT = "import sys; from remit.cli import main; sys.exit(main())"


def _on_terminal(desk: Desk, *argv: str, **environment: str) -> str:
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *argv],
        cwd=desk.here,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**kept, "TERM": "xterm-256color", **environment},
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
    assert process.wait() in {0, 3, 14}
    return shown.decode()


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_only_styles_of_ours_reach_a_terminal(desk: Desk, environment: dict[str, str]) -> None:
    run = desk.run("reader").json["run"]
    shown = _on_terminal(desk, "show", run, **environment)
    assert "\\x1b[2J" in shown
    codes = set(re.findall(r"\x1b\[[0-9;]*([A-Za-z])", shown))
    assert codes == {"m"}


def test_without_colour_none_is_used(desk: Desk) -> None:
    run = desk.run("mailer").json["run"]
    colours = re.compile(r"\x1b\[(?:[0-9]+;)*3[0-7]m")
    assert colours.search(_on_terminal(desk, "resume", run, "--agent", "shop:mailer"))
    assert not colours.search(_on_terminal(desk, "resume", run, "--agent", "shop:mailer", NO_COLOR="1"))
