"""The command `remit`. It uses what the library makes public and knows nothing more.

Invariant: no command prints a traceback, and none runs a handler that the command line did not name.
"""

from __future__ import annotations

from remit.cli.app import app
from remit.cli.exit import EXIT_CODES
from remit.cli.main import main

__all__ = ["EXIT_CODES", "app", "main"]
