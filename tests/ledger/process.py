"""Other processes on a ledger's file, and what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ledger.support import Store

WORKER = Path(__file__).with_name("worker.py")


def spawn(store: Store, role: str, name: str, count: int = 1) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(WORKER.parent.parent), *sys.path])
    return subprocess.Popen(
        [sys.executable, str(WORKER), store.address, role, name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def finish(process: subprocess.Popen[str]) -> str:
    """Close its input, wait for its end; what it said last."""
    said, _ = process.communicate(timeout=60)
    return said.strip()
