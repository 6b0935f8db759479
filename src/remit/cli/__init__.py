"""The command `remit`. It uses what the library makes public and knows nothing more.

Invariant: no command prints a traceback, and none runs a handler that the command line did not name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.cli.main import main

if TYPE_CHECKING:
    from remit.cli.exit import EXIT_CODES

__all__ = ["EXIT_CODES", "main"]


def __getattr__(name: str) -> object:
    """What `main` does not need to begin is loaded when it is asked for."""
    if name != "EXIT_CODES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from remit.cli.exit import EXIT_CODES

    return EXIT_CODES
