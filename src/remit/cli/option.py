"""The options that several commands share, each declared once."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from remit.errors import InputError
from remit.types.ident import Json

__all__ = [
    "AgentOption",
    "AgentsOption",
    "ByOption",
    "DepsOption",
    "JsonOption",
    "LedgerOption",
    "MaskOption",
    "QuietOption",
    "ReasonOption",
    "json_of",
]

LedgerOption = Annotated[
    str | None,
    typer.Option("--ledger", metavar="LEDGER", help="A file, or postgresql://...; default: REMIT_LEDGER, else remit.db here."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, and nothing else there.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings on standard error.")]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="MODULE:AGENT", help="Go on at once with this agent, from the current folder."),
]
AgentsOption = Annotated[
    list[str], typer.Option("--agent", metavar="MODULE:AGENT", help="An agent from the current directory; may be repeated.")
]
MaskOption = Annotated[
    list[str] | None,
    typer.Option("--agent", metavar="MODULE:AGENT", help="Mask what this agent declares secret, too; may be repeated."),
]
DepsOption = Annotated[
    str | None,
    typer.Option(
        "--deps", metavar="MODULE:NAME", help="What handlers find in ctx.deps: an object, or a function or class that makes it."
    ),
]
ByOption = Annotated[str, typer.Option("--by", metavar="SUBJECT", help="Who says this; recorded.")]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; recorded.")]


def json_of(option: str, text: str) -> Json:
    """The value that was given to `option` as JSON.

    Raises:
        InputError: it is not JSON; the message names the option.
    """
    from remit.canonical import parse

    try:
        return cast(Json, parse(text))
    except InputError as error:
        raise InputError(f"{option} is not JSON: {error.message}", code=error.code) from None
