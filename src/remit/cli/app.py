"""The command tree: which commands there are, and what `remit --help` says of them all."""

from __future__ import annotations

from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from remit.cli.command import (
    audit,
    check,
    convert,
    decide,
    demo,
    effect,
    explore,
    follow,
    look,
    migrate,
    replay,
    retention,
    run,
)
from remit.cli.exit import EXIT_CODES

__all__ = ["app"]

_EPILOG = "\b\n" + "\n".join(["Exit codes:", *(f"  {code:<4}{meaning}" for code, meaning in EXIT_CODES.items())])

app = typer.Typer(
    name="remit",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"remit {installed_version('remit')}")
        raise typer.Exit


@app.callback(epilog=_EPILOG)
def root(
    *,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Decide whether a tool call that a language model proposes happens, how, and at most how often; and prove it.

    Runs are kept in a ledger, a file or a PostgreSQL database: --ledger, else REMIT_LEDGER, else remit.db here. What runs
    handlers takes an agent by name, MODULE:AGENT, from the current directory; everything else reads or records.
    Results go to standard output, progress and errors to standard error.

    \b
    Examples:
      remit demo
      remit run shop:support "Refund the duplicate charge on A-12345" --principal alice
      remit approvals
      remit approve apr_7f3 --by bob --reason "checked the bank statement"
      remit show run_4711
      remit replay run_4711 shop:support
      remit operations --unknown
      remit settle op_19 --happened --by bob --reason "seen in the books"
      remit explore shop:support
      remit check history.json
      remit convert history.json --to anthropic
    """


for command in (
    demo.demo,
    run.run,
    look.runs,
    look.show,
    follow.follow,
    run.resume,
    run.cancel,
    decide.approvals,
    decide.approve,
    decide.deny,
    decide.answer,
    effect.operations,
    effect.settle,
    effect.withdraw,
    run.recover,
    replay.replay,
    retention.forget,
    retention.compact,
    migrate.migrate,
    explore.explore,
    check.check,
    convert.convert,
):
    app.command()(command)

_audit = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Prove that the record is what was written.")
_audit.command()(audit.verify)
_audit.command()(audit.head)
app.add_typer(_audit, name="audit")
