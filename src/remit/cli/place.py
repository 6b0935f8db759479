"""Which ledger, and how it is opened: to be read, or by an owner that may drive runs.

It does not know the commands. Invariant: a command that only reads or records never makes a ledger, nor a file.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from remit.cli import load
from remit.errors import LedgerError
from remit.types.ledger import Ledger

if TYPE_CHECKING:
    from remit import Remit

__all__ = ["ledger_path", "owning", "reading", "rehearsing"]

_DEFAULT = "remit.db"


def ledger_path(named: str | None) -> str:
    """The file or address named on the command line, else by `REMIT_LEDGER`, else `remit.db` here."""
    return named or os.environ.get("REMIT_LEDGER") or _DEFAULT


@asynccontextmanager
async def reading(path: str) -> AsyncGenerator[Ledger]:
    """A ledger that exists.

    Raises:
        LedgerError: there is no such file (`ledger.missing`), or it holds no ledger (`ledger.none`) and stays so.
    """
    from remit.ledger import ledger_named

    need(path)
    ledger = ledger_named(path, create=False)
    await ledger.open()
    try:
        yield ledger
    finally:
        await ledger.aclose()


@asynccontextmanager
async def owning(
    path: str, references: Sequence[str] = (), *, deps: str | None = None, make: bool = False
) -> AsyncGenerator[Remit]:
    """An owner on a ledger, with the agents that `references` name.

    Args:
        make: whether the ledger may be made if it is not there.
    """
    from remit import Remit
    from remit.ledger import ledger_named

    if not make:
        need(path)
    _no_directory(path)
    agents, workflows = load.apart(load.agents(references))
    async with AsyncExitStack() as stack:
        found = await load.dependencies(deps, stack)
        remit = Remit(ledger=ledger_named(path, create=make), agents=agents, workflows=workflows, deps=found)
        yield await stack.enter_async_context(remit)


@asynccontextmanager
async def rehearsing(reference: str, *, deps: str | None = None) -> AsyncGenerator[Remit]:
    """An owner of this agent that changes nothing, on no ledger."""
    from remit import Remit

    agents, workflows = load.apart(load.agents([reference]))
    async with AsyncExitStack() as stack:
        found = await load.dependencies(deps, stack)
        yield await stack.enter_async_context(Remit(agents=agents, workflows=workflows, deps=found, dry_run=True))


def need(path: str) -> None:
    """Raise `LedgerError` unless there is a file; whether a database is there is seen when it is opened."""
    from remit.ledger import is_address

    _no_directory(path)
    if not is_address(path) and not Path(path).is_file():
        raise LedgerError(
            f"there is no ledger at {path}; name one with --ledger or REMIT_LEDGER, or make one with `remit run`",
            code="ledger.missing",
            retryable=False,
        )


def _no_directory(path: str) -> None:
    if Path(path).is_dir():
        message = f"{path} is a directory; --ledger and REMIT_LEDGER name the ledger's file"
        raise LedgerError(message, code="ledger.directory", retryable=False)
