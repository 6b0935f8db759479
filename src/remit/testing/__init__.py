"""For tests of applications: a scripted model, a fake provider, a ledger in memory, stubs, a held clock, an explorer, fixtures.

The fixtures `remit_test` and `remit_explore` come with the package, by pytest's plugin entry point. Nothing here imports
pytest, and nothing is loaded before it is asked for: pytest loads this part in every project.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.ambient import Seeded
    from remit.ledger import MemoryLedger
    from remit.model import ReplayModel, ScriptedModel, call
    from remit.owner import override
    from remit.testing.explorer import Exploration, Failure, Scenario, explore
    from remit.testing.provider import FakeProvider, fault
    from remit.testing.run import SeenApproval, SeenCall, SeenRun
    from remit.testing.stage import RemitTest

__all__ = [
    "Exploration",
    "Failure",
    "FakeProvider",
    "MemoryLedger",
    "RemitTest",
    "ReplayModel",
    "Scenario",
    "ScriptedModel",
    "SeenApproval",
    "SeenCall",
    "SeenRun",
    "Seeded",
    "call",
    "explore",
    "fault",
    "override",
]

_HOME = {
    "Exploration": "remit.testing.explorer",
    "Failure": "remit.testing.explorer",
    "FakeProvider": "remit.testing.provider",
    "MemoryLedger": "remit.ledger",
    "RemitTest": "remit.testing.stage",
    "ReplayModel": "remit.model",
    "Scenario": "remit.testing.explorer",
    "ScriptedModel": "remit.model",
    "SeenApproval": "remit.testing.run",
    "SeenCall": "remit.testing.run",
    "SeenRun": "remit.testing.run",
    "Seeded": "remit.ambient",
    "call": "remit.model",
    "explore": "remit.testing.explorer",
    "fault": "remit.testing.provider",
    "override": "remit.owner",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
