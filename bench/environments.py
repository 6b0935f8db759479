"""Environments of the peers: one for each family, made when it is first needed, with what its requirements pin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACE = HERE / ".environments"


def python_of(family: str | None) -> Path:
    """The interpreter of a family; of this project where there is none."""
    return Path(sys.executable) if family is None else PLACE / family / "bin" / "python"


def make(family: str) -> str | None:
    """Make the family's environment unless it is there; what went wrong, None if nothing did."""
    requirements, place = HERE / "peer" / "requirements" / f"{family}.txt", PLACE / family
    made = place / ".made"
    if made.exists() and made.read_text() == requirements.read_text():
        return None
    print(f"making the environment of {family}", file=sys.stderr, flush=True)
    steps = [
        [sys.executable, "-m", "venv", "--clear", str(place)],
        [str(python_of(family)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{family}: {done.stderr.strip().splitlines()[-1:] or 'it failed'}"
    made.write_text(requirements.read_text())
    return None
