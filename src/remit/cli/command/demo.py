"""`remit demo`: the same refund asked for four ways, with a plain loop and with Remit."""

from __future__ import annotations

import typer

from remit.cli.option import JsonOption
from remit.cli.screen import Screen

__all__ = ["demo"]


def demo(*, as_json: JsonOption = False) -> None:
    """One refund asked for four ways: the usual loop, and Remit.

    A small billing service with books of its own runs as a process of its own; nothing leaves this machine.
    It writes outputs/tool-loop-transcript.json, one run with all its events, into the current directory.

    Ends with exit code 0 if Remit refunded once in every way.

    \b
    Examples:
      remit demo
      remit demo --json
    """
    from remit.demo import main

    raise typer.Exit(main(json=as_json, console=Screen(as_json=as_json).out))
