"""`remit forget` and `remit compact`: what is deleted at somebody's word, and what takes less place."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from remit.cli import find
from remit.cli.option import ByOption, JsonOption, LedgerOption, ReasonOption
from remit.cli.place import ledger_path, reading
from remit.cli.screen import Screen
from remit.cli.work import do
from remit.errors import InputError
from remit.types.retention import Compacted, Erased

__all__ = ["compact", "forget"]

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Change nothing, and say what would be done.")]

_UNITS = {"h": 3600, "d": 86_400, "w": 604_800}


def forget(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or the beginning of one.")],
    *,
    by: ByOption,
    reason: ReasonOption,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="With all runs of its conversation; one of them alone is not forgotten.")
    ] = False,
    dry_run: DryRunOption = False,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete all that was said in a run that has ended.

    Requests, messages, replies, arguments and results are gone from the file, also of the runs that answered its
    calls. Ids, states, times, counts and the chain stay, and who had it forgotten and why. A repeat is still a repeat.
    Refused (exit code 9) while an operation of it is open or somebody is asked.

    \b
    Examples:
      remit forget run_4711 --by dana --reason "erasure request 88" --dry-run
      remit forget run_4711 --by dana --reason "erasure request 88"
      remit forget run_4711 --conversation --by dana --reason "erasure request 88"
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        async with reading(ledger_path(ledger)) as opened:
            named = (await find.run(opened, run)).id
            report = await opened.forget(named, by=by, reason=reason, conversation=conversation, dry_run=dry_run)
        if as_json:
            screen.document(
                {
                    "runs": [*report.runs],
                    "payloads": report.payloads,
                    "operations": report.operations,
                    "approvals": report.approvals,
                    "blobs": report.blobs,
                    "bytes": report.size,
                    "done": report.done,
                    "scrubbed": report.scrubbed,
                }
            )
        else:
            _say_forgotten(screen, report)
        return 0

    do(screen, job())


def _say_forgotten(screen: Screen, report: Erased) -> None:
    if report.runs:
        word = "forgotten" if report.done else "would be forgotten"
        screen.line(f"{word}: {', '.join(report.runs)}", style="bold")
        parts = (f"{report.payloads} payloads", f"{report.operations} operations", f"{report.approvals} approvals")
        screen.line(f"{', '.join(parts)}, {report.blobs} blobs; {_size(report.size)}")
    else:
        screen.line("it was forgotten already")
    if report.done and not report.scrubbed:
        screen.line(
            "somebody was reading, so that old bytes may be left in the file: `remit compact` removes them", style="red"
        )


def compact(
    *,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Runs that ended so long ago: 12h, 90d, 8w; default: all.")
    ] = "0d",
    dry_run: DryRunOption = False,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let old runs take less place; nothing is lost.

    Their payloads are compressed, what ended processes left is removed, and the file is written anew. They read and
    verify as before. While the file is written anew, everybody else waits to write.

    \b
    Examples:
      remit compact --older-than 90d --dry-run
      remit compact --older-than 90d
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        older_than_s = _seconds(older_than)
        async with reading(ledger_path(ledger)) as opened:
            report = await opened.compact(older_than_s=older_than_s, dry_run=dry_run)
        if as_json:
            screen.document(
                {
                    "runs": report.runs,
                    "payloads": report.payloads,
                    "bytes_before": report.before,
                    "bytes_after": report.after,
                    "owners": report.owners,
                    "file_before": report.file_before,
                    "file_after": report.file_after,
                    "done": report.done,
                    "scrubbed": report.scrubbed,
                }
            )
        else:
            _say_compacted(screen, report)
        return 0

    do(screen, job())


def _say_compacted(screen: Screen, report: Compacted) -> None:
    would = "" if report.done else "would be "
    payloads = f"{report.payloads} payloads of {report.runs} runs {would}compressed"
    screen.line(f"{payloads}: {_size(report.before)} -> {_size(report.after)}")
    about = "" if report.done else " (about)"
    screen.line(f"the ledger: {_size(report.file_before)} -> {_size(report.file_after)}{about}", style="bold")
    if report.done and not report.scrubbed:
        screen.line("somebody was in the way, so that the file was not written anew; try again", style="red")


def _seconds(age: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([hdw])", age)
    if found is None:
        raise InputError("--older-than is a number of hours, days or weeks: 12h, 90d or 8w", code="input.age")
    return int(found[1]) * _UNITS[found[2]]


def _size(size: int) -> str:
    return f"{size} bytes" if size < 10_000 else f"{size / 1000:.0f} kB" if size < 10_000_000 else f"{size / 1e6:.1f} MB"
