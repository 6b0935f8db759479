"""`remit convert`: a transcript in another protocol, and what could not be carried there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from remit.cli.command.check import FormOption, form_of, text_of
from remit.cli.exit import FOUND
from remit.cli.option import JsonOption
from remit.cli.screen import Screen
from remit.cli.work import do_here
from remit.errors import InputError
from remit.types.ident import Json

if TYPE_CHECKING:
    from remit.check import Converted, Document

__all__ = ["convert"]

To = Annotated[str, typer.Option("--to", metavar="FORMAT", help="anthropic, openai-chat or openai-responses.")]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="As for `remit check`; - reads standard input.")]


def convert(
    file: FileArgument,
    *,
    to: To,
    form: FormOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write transcripts in another provider's protocol.

    The transcript goes to standard output, one a line where the file has several. What could not be carried goes to
    standard error, each with its place and why, and then the exit code is 18. Thoughts, server tools and a provider's own
    files are never carried; the model's name and settings stay to be looked at. A call's arguments go over as they were
    written.

    \b
    Examples:
      remit convert history.json --to anthropic > other.json
      remit convert log.jsonl --to openai-responses --json
    """
    screen = Screen(as_json=as_json)

    def job() -> int:
        from remit.check import convert as run
        from remit.check import documents

        wanted = form_of(to, "--to")
        if wanted is None:
            raise InputError("--to names the protocol", code="check.format")
        found = documents(text_of(file), form=form_of(form))
        made = [(one, run(one, wanted, line=len(found) > 1)) for one in found]
        if as_json:
            screen.document({"file": file, "to": to, "transcripts": [_shown(one, done) for one, done in made]})
        else:
            _show(screen, made)
        return FOUND if any(done is None or done.losses for _, done in made) else 0

    do_here(screen, job)


def _show(screen: Screen, made: list[tuple[Document, Converted | None]]) -> None:
    for document, done in made:
        line = f"line {document.line} " if document.line else ""
        if done is None:
            screen.note(f"{line}no transcript is in here", style="")
            continue
        screen.verbatim(done.text)
        for loss in done.losses:
            screen.note(f"{line}{loss.place or 'the whole'}: {loss.what}: {loss.why}", style="")


def _shown(document: Document, done: Converted | None) -> Json:
    lost: list[Json] = [{"place": one.place, "what": one.what, "why": one.why} for one in (done.losses if done else ())]
    return {
        "line": document.line or None,
        "format": document.form,
        "kind": document.what,
        "text": None if done is None else done.text,
        "losses": lost,
    }
