"""Doing the work of a command: an event loop, an exit code, and an error document where JSON was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import NoReturn

import typer

from remit.cli.exit import UNEXPECTED
from remit.cli.log import errors_only
from remit.cli.screen import Screen
from remit.errors import RemitError
from remit.trace import explain

__all__ = ["do", "do_here"]


def do(screen: Screen, job: Coroutine[object, object, int], *, quiet: bool = False) -> NoReturn:
    """Run `job` and end the command with the exit code that it returns.

    Where its result cannot be written, that is said; the code still is that of a run whose end it was.

    Args:
        quiet: of what is logged, errors alone are told.

    Raises:
        Exception: what `job` raised, after its document was written with `--json`.
    """
    if quiet:
        errors_only()
    do_here(screen, lambda: asyncio.run(job))


def do_here(screen: Screen, job: Callable[[], int]) -> NoReturn:
    """`do`, for a job that needs no event loop of ours."""
    with screen.alone():
        try:
            code = job()
        except Exception as error:
            # Agents and handlers run in here: anything may come out, and a machine waits for a document.
            if screen.as_json:
                code = error.code if isinstance(error, RemitError) else "unexpected"
                screen.document({"error": {"code": code, "message": explain(error)}})
            raise
    if screen.lost:
        screen.note(f"remit: standard output cannot be written: {screen.lost}", style="")
        code = code if screen.tells_end else code or UNEXPECTED
    raise typer.Exit(code)
