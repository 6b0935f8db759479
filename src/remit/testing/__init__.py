"""For tests of applications: a scripted model, a fake provider, a ledger in memory, stubs, a held clock, a pytest fixture.

The fixture `remit_test` comes with the package, by pytest's plugin entry point. Nothing here imports
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
    from remit.testing.provider import FakeProvider, fault
    from remit.testing.run import SeenApproval, SeenCall, SeenRun
    from remit.testing.stage import RemitTest

__all__ = [
    "FakeProvider",
    "MemoryLedger",
    "RemitTest",
    "ReplayModel",
    "ScriptedModel",
    "SeenApproval",
    "SeenCall",
    "SeenRun",
    "Seeded",
    "call",
    "fault",
    "override",
]

_HOME = {
    "FakeProvider": "remit.testing.provider",
    "MemoryLedger": "remit.ledger",
    "RemitTest": "remit.testing.stage",
    "ReplayModel": "remit.model",
    "ScriptedModel": "remit.model",
    "SeenApproval": "remit.testing.run",
    "SeenCall": "remit.testing.run",
    "SeenRun": "remit.testing.run",
    "Seeded": "remit.ambient",
    "call": "remit.model",
    "fault": "remit.testing.provider",
    "override": "remit.owner",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
