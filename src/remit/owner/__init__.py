"""The owner of runs in a process: `Remit`."""

from __future__ import annotations

from remit.agent import Agent, install
from remit.owner.override import override
from remit.owner.owner import Remit
from remit.owner.request import Asked
from remit.owner.script import run_sync
from remit.owner.sse import sse

__all__ = ["Agent", "Asked", "Remit", "override", "run_sync", "sse"]

install(run_sync)
