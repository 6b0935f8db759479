"""Writes `docs/reference` from the code: `make docs`. A test fails where a page is not what this would write."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import get_args, get_type_hints

import typer
from typer.testing import CliRunner

from remit.cli import EXIT_CODES
from remit.cli.app import app
from remit.gate.code import CODES, Code
from remit.gate.render import render
from remit.loop import diagram
from remit.loop.phase import CallStatus
from remit.types.event import CallConsidered
from remit.types.operation import HOLDING, MOVES, ClosedCode, Move, OperationState
from remit.types.outcome import Failed, NotRun, Outcome, Refused, Succeeded, Unknown

HERE = Path(__file__).resolve().parent
REFERENCE = HERE / "reference"
NOTE = "<!-- Written by docs/generate.py from the code. Change the code, then run: make docs -->\n"

STATES: dict[OperationState, str] = {
    "awaiting_approval": "a person must decide; nothing has started",
    "dispatched": "committed, and started or about to be",
    "unknown": "it is in doubt whether it happened",
    "succeeded": "it happened",
    "failed": "it is known that nothing changed",
    "closed": "it never started, and will not",
}

MOVES_SAID: dict[Move, str] = {
    "allowed": "the gate allowed the proposal",
    "requested": "the gate asked a person",
    "approved": "a person said yes, and the recheck agreed",
    "denied": "a person said no",
    "expired": "nobody decided in time",
    "cancelled": "its run was cancelled or ended",
    "withdrawn": "the requester took it back",
    "edited": "the approver wrote other arguments: a new operation takes its place",
    "recheck_refused": "approved, but policy, rights or budget of now refuse",
    "recheck_stricter": "approved, but policy of now asks for more: a new approval",
    "contract_changed": "the tool's contract changed while it waited: a new operation takes its place",
    "key_repeat": "approved, but the same was done meanwhile",
    "key_conflict": "approved, but another operation with other arguments took the key",
    "returned": "the handler returned",
    "no_effect": "it is known that nothing changed",
    "in_doubt": "timeout, an exception that proves nothing, or the process is gone",
    "reconciled_yes": "the system of record has it",
    "reconciled_no": "the system of record does not have it, and it can no longer land",
    "late_success": "an attempt that had been given up reports success",
    "late_no_effect": "an attempt that had been given up reports that nothing changed",
    "settled_yes": "a person says that it happened",
    "settled_no": "a person says that it did not",
    "resent": "the next attempt, under the same operation id",
}

STATUSES: dict[CallStatus, str] = {
    "proposed": "read from a reply, and not yet considered",
    "considering": "the gate is deciding",
    "settling": "answered by the gate; the record of it is on its way",
    "ready": "decided, and may start as soon as the order of the turn lets it",
    "starting": "started",
    "joined": "waits for the operation of an earlier call that it shares",
    "awaiting": "a person must decide",
    "decided": "a person decided; steps 1 to 4 are to run again",
    "deciding": "steps 1 to 4 are running again",
    "in_doubt": "dispatched by a process that is gone",
    "recovering": "its recovery is asked what became of it",
    "denying": "to be answered without being considered, because the reply is not one that tools may run on",
    "ended": "it has its outcome",
}

VERDICTS = {
    "ready": "decided, and may start",
    "waiting": "a person must decide first",
    "joined": "shares the pending operation of an earlier call with the same key and arguments",
    "settled": "answered without running anything: refused, a repeat, or not run",
}

OUTCOMES: dict[type[Outcome], tuple[str, str]] = {
    Succeeded: ("yes, or nothing had to", "the value, or that it had been done before"),
    Refused: ("no", "what is not allowed or not well formed, and which fields to correct"),
    Failed: ("no", "what failed, and that nothing changed"),
    Unknown: ("not known", "that it may have happened, and must not be tried under another name"),
    NotRun: ("no", "why it never started"),
}

MADE: dict[str, type[Refused] | type[Failed] | type[Unknown] | type[NotRun]] = {
    "refused": Refused,
    "failed": Failed,
    "unknown": Unknown,
    "not_run": NotRun,
}
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def effects() -> str:
    """States, moves, call statuses, outcomes and codes."""
    return "\n".join(
        [
            "# Effects\n",
            NOTE,
            "An operation is the durable identity of one effect. This is the closed table of what may happen to one; any other",
            "move is an error (`operation.illegal_move`). [Semantics](../semantics.md) says why.\n",
            "## States\n",
            table(
                ["state", "meaning", "holds its key"],
                [[f"`{state}`", said, "yes" if state in HOLDING else ""] for state, said in STATES.items()],
            ),
            "## Moves\n",
            table(["from", "on", "to", "because"], [_move_row(*row) for row in MOVES.items()]),
            "## States and moves, all of them\n",
            "An empty cell is an illegal move.\n",
            _matrix(),
            "## Statuses of a call\n",
            "What the gate made of a proposal, recorded before anything runs. Each call then ends with exactly one outcome.\n",
            table(["status", "meaning"], [[f"`{name}`", said] for name, said in VERDICTS.items()]),
            "While a run is driven, a call is in one of these at every moment; which one follows from the recorded events.\n",
            table(["in the loop", "meaning"], [[f"`{name}`", said] for name, said in STATUSES.items()]),
            "## Outcomes\n",
            table(
                ["outcome", "did anything change", "the model is told"],
                [[f"`{kind.__name__}`", *said] for kind, said in OUTCOMES.items()],
            ),
            "## Codes\n",
            "Every outcome but `Succeeded` carries a code. The model reads what stands here, with the tool's name in the place",
            "of `TOOL` and, where there are any, the fields to correct.\n",
            table(["code", "outcome", "the model reads"], [row for code in CODES.values() for row in _code_rows(code)]),
        ]
    )


def _code_rows(code: Code) -> list[list[str]]:
    rows: list[list[str]] = []
    for kind in code.kinds:
        outcome = MADE[kind](code=code.name, message=code.says, retry=code.retry)
        text = render(outcome, "TOOL").text.replace("\n", "<br>")
        rows.append([f"`{code.name}`", f"`{type(outcome).__name__}`", text])
    return rows


def _move_row(key: tuple[OperationState | None, Move], to: tuple[OperationState, ClosedCode | None]) -> list[str]:
    state, move = key
    return [f"`{state}`" if state else "(proposal)", f"`{move}`", _state(to), MOVES_SAID[move]]


def _state(to: tuple[OperationState, ClosedCode | None]) -> str:
    return f"`{to[0]}`" + (f" ({to[1]})" if to[1] else "")


def _matrix() -> str:
    states: list[OperationState | None] = [None, *STATES]
    rows = [
        [f"`{move}`", *(_state(MOVES[state, move]) if (state, move) in MOVES else "" for state in states)]
        for move in get_args(Move)
    ]
    return table(["", *(f"`{state}`" if state else "(proposal)" for state in states)], rows)


def loop() -> str:
    """The table of phases as a diagram."""
    return "\n".join(
        [
            "# The loop\n",
            NOTE,
            "A run is in one phase, and every edge is a row of the table that the transition function walks. A word on an edge",
            "is the kind of the recorded event that takes it; brackets hold what must be true as well; an edge with no word is",
            "taken at once. `AnyPhase` stands for what may happen nearly everywhere.\n",
            "```mermaid",
            diagram() + "```\n",
        ]
    )


def command() -> str:
    """The command's help texts and exit codes."""
    codes = table(["code", "meaning"], [[f"`{code}`", said] for code, said in EXIT_CODES.items()])
    texts = [f"## {name}\n\n```text\n{text}```\n" for name, text in help_texts().items()]
    return "\n".join(["# The command\n", NOTE, *texts, "## Exit codes\n", codes])


def help_texts() -> dict[str, str]:
    """What `--help` prints, for the command and everything under it."""
    found: dict[str, str] = {}
    waiting: list[tuple[str, object]] = [("remit", typer.main.get_command(app))]
    while waiting:
        name, one = waiting.pop(0)
        words = name.split()[1:]
        done = CliRunner().invoke(app, [*words, "--help"], prog_name="remit", env={"COLUMNS": "100", "TERM": "dumb"})
        found[name] = "\n".join(line.rstrip() for line in ANSI.sub("", done.output).strip().splitlines()) + "\n"
        inner: dict[str, object] = getattr(one, "commands", {})
        waiting += [(f"{name} {word}", command) for word, command in inner.items() if not getattr(command, "hidden", False)]
    return found


def _beside(name: str) -> ModuleType:
    """The module in the file of this name beside this one."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FIELDS = _beside("fields")


def check() -> None:
    """What is said here is what the code has, no more and no less."""
    FIELDS.check()
    assert set(STATES) == set(get_args(OperationState))
    assert set(MOVES_SAID) == set(get_args(Move))
    assert set(OUTCOMES) == set(get_args(Outcome))
    assert set(VERDICTS) == set(get_args(get_type_hints(CallConsidered)["verdict"]))
    assert set(STATUSES) == set(get_args(CallStatus))


PAGES: dict[str, Callable[[], str]] = {
    "effects.md": effects,
    "loop.md": loop,
    "command.md": command,
    "fields.md": FIELDS.fields,
}


def main() -> int:
    """Write every page that is not current, and say which."""
    check()
    for name, page in PAGES.items():
        path, text = REFERENCE / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
