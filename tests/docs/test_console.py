"""What compares a console block with what is printed tells a true page from one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.console import Console, lines

PROGRAM = """
import sys
print("run_a1b2 by alice  at 12:34:56, 2 ms")
print("wrong id" if len(sys.argv) > 1 and sys.argv[1] != "run_a1b2" else "third")
"""


def play(folder: Path, block: str) -> None:
    (folder / "say.py").write_text(PROGRAM, encoding="utf-8")
    console = Console(folder)
    for line in lines(block):
        console.run(line)


@pytest.mark.parametrize(
    "block",
    [
        "$ python say.py\nrun_a1b2 by alice  at 12:34:56, 2 ms\nthird\n",
        "$ python say.py\nrun_1 by alice      at 00:00:00, 17 ms\n...\n",
        "$ python say.py\nrun_1 by ...\nthird\n$ python say.py run_1\nrun_1 by alice  at 1...\nthird\n",
        "$ python say.py\n$ LANG=C python \\\n    say.py\n...\nthird\n",
    ],
)
def test_what_is_printed_is_what_is_said(block: str, tmp_path: Path) -> None:
    play(tmp_path, block)


@pytest.mark.parametrize(
    "block",
    [
        "$ python say.py\nrun_1 by bob  at 12:34:56, 2 ms\nthird\n",
        "$ python say.py\nrun_1 by alice  at 12:34:56, 2 ms\n",
        "$ python say.py\nrun_1 by ...\nthird\nfourth\n",
        "$ python say.py\nop_1 run_1 by ...\nthird\n",
        "$ python say.py\nalice by ...\nthird\n",
        "$ python missing.py\n",
    ],
)
def test_what_is_not_printed_fails(block: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        play(tmp_path, block)
