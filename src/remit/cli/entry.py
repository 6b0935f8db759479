"""One command: whatever happens inside, what comes out is an exit code and at most a line of error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import cast

import typer
from typer.main import get_command

from remit.cli.app import app
from remit.cli.exit import INTERRUPTED, PIPE, UNEXPECTED, USAGE, of_error
from remit.cli.log import one_line_logging
from remit.cli.screen import quiet_pipe
from remit.cli.text import clean
from remit.trace import explain

__all__ = ["command"]


def command(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, as `main` does."""
    try:
        with one_line_logging():
            return _command(list(sys.argv[1:] if argv is None else argv))
    except (KeyboardInterrupt, typer.Abort):
        _say("interrupted")
        return INTERRUPTED
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            return PIPE
        return end.code if isinstance(end.code, int) else UNEXPECTED
    except typer.TyperException as error:
        _say_usage(error)
        return USAGE
    except BaseException as error:
        error = _only(error)
        _say(explain(error))
        return of_error(error)


def _command(arguments: list[str]) -> int:
    streams: tuple[object, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    with quiet_pipe(sys.stdout):
        code: object = get_command(app).main(args=arguments, prog_name="remit", standalone_mode=False)
        if getattr(sys, "stdout", None) is not None:
            sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _say_usage(error: typer.TyperException) -> None:
    """What is wrong with the command line, and where its help is; or the help itself, where nothing was asked."""
    message = error.format_message()
    if message.startswith("Usage: "):
        _write(message)
    else:
        path = getattr(getattr(error, "ctx", None), "command_path", "remit")
        _say(f"{message.rstrip('.')}; see `{path} --help`")


def _only(error: BaseException) -> BaseException:
    """The error itself, where a group holds one alone."""
    while isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        if len(inner) != 1:
            break
        error = inner[0]
    return cast(BaseException, error)


def _say(text: str) -> None:
    _write(f"remit: {text}")


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it may be full, closed, or none at all
        sys.stderr.write(f"{clean(text)}\n")
        sys.stderr.flush()
