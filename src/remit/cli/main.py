"""The entry of the command.

It loads nothing but itself. Invariant: what is interrupted while the rest is loaded ends without a traceback, too.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, for example `main(["runs", "--json"])`, and return its exit code (`EXIT_CODES`).

    Never raises and never prints a traceback.

    Args:
        argv: the arguments; None takes those of the process.
    """
    try:
        from remit.cli.entry import command

        return command(argv)
    except KeyboardInterrupt:
        with contextlib.suppress(OSError, ValueError, AttributeError, KeyboardInterrupt):
            sys.stderr.write("remit: interrupted\n")
        return _INTERRUPTED
