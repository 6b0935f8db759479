"""Sandboxes for handlers: a process with limits, one without network and with named folders only, and small programs.

I/O behind the Protocol `remit.types.sandbox.Sandbox`. Knows no tool, run or ledger. Invariant: a sandbox that cannot do
all that it says is absent, and what was started in it has ended when its caller goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.sandbox.bubblewrap import Bubblewrap
    from remit.sandbox.monty import Monty, Program
    from remit.sandbox.subprocess import Subprocess

__all__ = ["Bubblewrap", "Monty", "Program", "Subprocess"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = {"Bubblewrap": "bubblewrap", "Subprocess": "subprocess"}.get(name, "monty")
    return getattr(import_module(f"remit.sandbox.{home}"), name)
