"""`remit check`: transcripts that exist already, read for faults, mended where that is certain, cut where no round is open."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from remit.cli.exit import FOUND
from remit.cli.option import JsonOption
from remit.cli.rewrite import rewrite
from remit.cli.screen import Screen
from remit.cli.work import do_here
from remit.errors import InputError
from remit.types.ident import Json

if TYPE_CHECKING:
    from remit.check import Checked, Finding, Form, Rule

__all__ = ["FilesArgument", "FormOption", "check", "form_of", "text_of"]

FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="JSON, JSON lines or a stream; - reads standard input.")
]
FormOption = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="anthropic, openai-chat or openai-responses; default: recognized."),
]
Fix = Annotated[bool, typer.Option("--fix", help="Mend in the file what is certain.")]
Select = Annotated[
    list[str] | None, typer.Option("--select", metavar="CODE", help="Only these rules; `id` means all of `id.`.")
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", metavar="CODE", help="Without these rules.")]
Cut = Annotated[
    str | None,
    typer.Option("--cut", metavar="N|PLACE", help="Print the last N messages, or those before a place; closed rounds only."),
]
_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def check(
    files: FilesArgument,
    *,
    fix: Fix = False,
    select: Select = None,
    ignore: Ignore = None,
    form: FormOption = None,
    cut: Cut = None,
    as_json: JsonOption = False,
) -> None:
    """Find what is wrong in transcripts: requests, exchanges, lists of messages, streams.

    Reads Anthropic Messages, OpenAI Chat (its old `functions` too) and OpenAI Responses, and says which it took a file for.
    Each finding has a stable code, with a page in docs/check that says why it matters and how to mend it. With an error
    or a warning the exit code is 18; notes leave it at 0.

    --fix changes only what is certain and leaves everything else byte for byte. It never invents a result: a call that has
    none is answered as unknown. --cut prints a shorter transcript, in which no call has lost its result.

    \b
    Examples:
      remit check request.json
      remit check log.jsonl --ignore injection --json
      remit check history.json --fix
      remit check history.json --cut 20 > shorter.json
    """
    screen = Screen(as_json=as_json)

    def job() -> int:
        from remit.check import wanted

        rules = wanted(_known(select), _known(ignore))
        if fix:
            _refuse(files, cut)
        if cut is not None:
            return _cut(screen, files, form_of(form), cut)
        found: list[tuple[str, Checked, Sequence[str]]] = []
        # All are read before the first one is changed.
        for file, text in [(file, text_of(file)) for file in files]:
            found.append((file, *_look(file, text, form_of(form), rules, fix=fix)))
        if as_json:
            screen.document(_document(found))
        else:
            for file, checked, mended in found:
                _show(screen, file, checked, mended)
            _count(screen, [one for _, checked, _ in found for one in checked.findings])
        bad = any(one.severity != "note" for _, checked, _ in found for one in checked.findings)
        return FOUND if bad else 0

    do_here(screen, job)


def _refuse(files: Sequence[str], cut: str | None) -> None:
    """Refuse what cannot be done together with `--fix`."""
    if cut is not None:
        raise InputError("--cut prints a transcript, and --fix changes the file; take one of them", code="check.cut")
    if "-" in files:
        raise InputError("--fix changes a file, and standard input is none", code="check.file")


def form_of(form: str | None, option: str = "--format") -> Form | None:
    """The protocol that was named.

    Raises:
        InputError: there is none of that name.
    """
    if form not in (None, "anthropic", "openai-chat", "openai-responses"):
        raise InputError(f"{option}: {form} is none of anthropic, openai-chat, openai-responses", code="check.format")
    return form


def text_of(file: str) -> str:
    """The text of a file; bytes that are no UTF-8 are kept apart and can be written back.

    Raises:
        InputError: it cannot be read.
    """
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or type(error).__name__}", code="check.file") from None
    return data.decode("utf-8", "surrogateescape")


def _known(codes: Sequence[str] | None) -> Sequence[str]:
    from remit.check import RULES, SOURCE

    every = [*SOURCE, *(one.code for one in RULES)]
    for code in codes or ():
        if not any(one == code or one.startswith(code.rstrip(".") + ".") for one in every):
            raise InputError(f"no rule has the code {code}; docs/check lists them", code="check.code")
    return codes or ()


def _look(file: str, text: str, form: Form | None, rules: Sequence[Rule], *, fix: bool) -> tuple[Checked, Sequence[str]]:
    from remit.check import check as run
    from remit.check import mend

    mended: Sequence[str] = ()
    if fix:
        done = mend(text, form=form, codes={one.code for one in rules})
        if done.text != text:
            text, mended = done.text, done.codes
            try:
                rewrite(Path(file), text.encode("utf-8", "surrogateescape"))
            except OSError as error:
                raise InputError(f"{file} cannot be written: {error.strerror}", code="check.file") from None
    return run(text, form=form, rules=rules), mended


def _show(screen: Screen, file: str, checked: Checked, mended: Sequence[str]) -> None:
    kinds = Counter(one.name for one in checked.documents)
    taken = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in sorted(kinds.items()))
    screen.line(f"{file}: {taken}", style="bold")
    for code, count in Counter(mended).items():
        screen.line(f"  mended {code}{'' if count == 1 else f' ({count} times)'}", style="green")
    for one in checked.findings:
        where = f"line {one.line} {one.place}".rstrip() if one.line else one.place
        screen.line(f"  {where or 'the whole'}: {one.severity} {one.code}: {one.message}", style=_STYLES[one.severity])
        screen.line(f"      {one.mend}", style="dim")


def _count(screen: Screen, findings: Sequence[Finding]) -> None:
    counts = Counter(one.severity for one in findings)
    if not counts:
        screen.line("nothing found")
        return
    kinds = (("error", "errors"), ("warning", "warnings"), ("note", "notes"))
    screen.line(", ".join(f"{counts[one]} {one if counts[one] == 1 else many}" for one, many in kinds if counts[one]))


def _document(found: Sequence[tuple[str, Checked, Sequence[str]]]) -> Json:
    files: list[Json] = []
    for file, checked, mended in found:
        findings: list[Json] = [
            {
                "code": one.code,
                "severity": one.severity,
                "line": one.line or None,
                "place": one.place,
                "message": one.message,
                "mend": one.mend,
            }
            for one in checked.findings
        ]
        taken: list[Json] = [{"line": one.line or None, "format": one.form, "kind": one.what} for one in checked.documents]
        files.append({"file": file, "transcripts": taken, "mended": [*mended], "findings": findings})
    return {"files": files}


def _cut(screen: Screen, files: Sequence[str], form: Form | None, where: str) -> int:
    from remit.check import cut, documents

    if len(files) != 1:
        raise InputError("--cut takes one file", code="check.cut")
    found = documents(text_of(files[0]), form=form)
    if len(found) != 1:
        raise InputError(f"--cut takes a file with one transcript, and {files[0]} has {len(found)}", code="check.cut")
    if where.isdecimal():
        kept = cut(found[0], last=int(where))
    elif where.startswith("/"):
        kept = cut(found[0], before=where)
    else:
        raise InputError("--cut takes a number of messages or a place such as /messages/12", code="check.cut")
    screen.verbatim(kept.text)
    screen.note(f"kept {kept.kept}, left out {kept.dropped}")
    return 0
