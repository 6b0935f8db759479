"""A console block of a page, played: its commands are run, and what it says they print is what they print.

In what is said, `...` is any text, and a line `...` any lines; how wide a column is does not count, nor which day, time or
duration it is. Ids differ from run to run: one that a page shows stands for the one that was printed in its place, in the
lines and the commands that follow.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

RUN = ("remit", "python", "pytest", "cat")
"""Commands that are run. What others print is not said on any page."""

_SETTING = re.compile(r"^(?:[A-Z_]+=\S+ )+")

_GAP = re.compile(r"(?<=\S) {2,}")
_ID = re.compile(r"\b(?:run|apr|op|conv)_[0-9a-z]+\b")
_PIECES = re.compile(
    r"(\.\.\.|\b(?:run|apr|op|conv)_[0-9a-z]+\b|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\b\d+(?:\.\d+)? ?m?s\b)",
)


@dataclass(frozen=True, slots=True)
class Line:
    """A command, and what the page says that it prints."""

    command: str
    printed: tuple[str, ...]

    @property
    def is_run(self) -> bool:
        return _SETTING.sub("", self.command).split()[0] in RUN


def lines(block: str) -> list[Line]:
    """The commands of a block."""
    found: list[Line] = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *printed = re.sub(r"\\\n\s*", "", part).rstrip("\n").split("\n")
        found.append(Line(command, tuple(_plain(line) for line in printed)))
    return found


def _plain(line: str) -> str:
    return _GAP.sub("  ", line.rstrip())


@dataclass(slots=True)
class Console:
    """A folder in which commands are run, and the ids seen in it."""

    folder: Path
    known: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, line: Line) -> None:
        """Run a command, and compare what it prints; where the page says nothing of that, it must succeed."""
        command = _ID.sub(lambda found: self.known.get(found[0], found[0]), line.command)
        bin_folder = str(Path(sys.executable).parent)
        env = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200", "NO_COLOR": "1"}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not line.printed:
            assert done.returncode == 0, f"$ {line.command}\n{done.stdout}"
            return
        printed = "\n".join(_plain(one) for one in done.stdout.rstrip().splitlines())
        names: list[str] = []
        found = re.fullmatch(self._pattern(line.printed, names), printed, flags=re.DOTALL)
        assert found is not None, f"$ {line.command}\nthe page says:\n{chr(10).join(line.printed)}\nit prints:\n{printed}"
        self.known.update(zip(names, found.groups(), strict=True))

    def _pattern(self, printed: tuple[str, ...], names: list[str]) -> str:
        """What matches; each new id is a group, noted in `names`."""
        pieces: list[str] = []
        for place, piece in enumerate(_PIECES.split("\n".join(printed))):
            if not place % 2:
                pieces.append(re.escape(piece))
            elif piece == "...":
                pieces.append(".*?")
            elif not _ID.fullmatch(piece):
                pieces.append(r"[\d.:-]+(?: ?m?s\b)?")
            elif piece in self.known:
                pieces.append(re.escape(self.known[piece]))
            elif piece in names:
                pieces.append(f"(?:\\{names.index(piece) + 1})")
            else:
                names.append(piece)
                pieces.append(r"((?:run|apr|op|conv)_[0-9a-z]+)")
        return "".join(pieces)
