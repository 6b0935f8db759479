"""What a handler says of itself: that it may have happened, which counts before all that the tool declares."""

from __future__ import annotations

import pytest

from gate.stage import Stage, on_stage
from remit import InDoubt
from remit.tool import READ, NoEffect, Tool, idempotent, manual, never, tool, write
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, Succeeded, Unknown

SECRET = "hunter2-hunter2"


def raising(*errors: BaseException, recovery: object = manual, atomic: bool = True, blocking: bool = False) -> Tool:
    """A write that raises these, one in each attempt, and then works."""
    left = list(errors)

    def act(id: str) -> str:
        """Act.

        Args:
            id: which
        """
        if left:
            raise left.pop(0)
        return "done"

    async def act_async(id: str) -> str:
        """Act.

        Args:
            id: which
        """
        return act(id)

    effect = write(once_per="id", recovery=recovery, atomic=atomic)  # type: ignore[arg-type]
    return tool(effect=effect, approve=never, label=TRUSTED, name="act")(act if blocking else act_async)


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("atomic", [False, True])
def test_in_doubt_counts_before_atomic_and_its_words_are_the_operator_s(atomic: bool, blocking: bool) -> None:
    @on_stage(raising(InDoubt(f"sent with {SECRET}"), atomic=atomic, blocking=blocking), secrets=[SECRET])
    async def check(s: Stage) -> None:
        outcome = await s.call("act", {"id": "a"})
        assert isinstance(outcome, Unknown)
        operation = await s.operation()
        assert (operation.state, operation.evidence) == ("unknown", ("remit.tool.effect.InDoubt: sent with [redacted]",))
        assert "sent with" not in outcome.message
        assert "sent with [redacted]" in str(s.ended().detail)

    check()


@pytest.mark.parametrize("blocking", [False, True])
def test_any_other_exception_of_an_atomic_write_says_that_nothing_happened(blocking: bool) -> None:
    @on_stage(raising(LookupError("no"), blocking=blocking))
    async def check(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "a"}), Failed)

    check()


@pytest.mark.parametrize("blocking", [False, True])
def test_a_doubt_among_several_errors_decides(blocking: bool) -> None:
    several = BaseExceptionGroup("several", [NoEffect("no"), ExceptionGroup("inner", [InDoubt()])])

    @on_stage(raising(several, blocking=blocking))
    async def check(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "a"}), Unknown)

    check()


def test_what_is_in_doubt_is_recovered_as_the_tool_says() -> None:
    @on_stage(raising(InDoubt(), recovery=idempotent(window_s=60)))
    async def check(s: Stage) -> None:
        assert isinstance(await s.call("act", {"id": "a"}), Succeeded)
        assert s.moves() == ["allowed", "in_doubt", "resent", "returned"]

    check()


def test_a_read_cannot_be_in_doubt_it_has_failed() -> None:
    @tool(effect=READ, label=TRUSTED)
    async def look() -> str:
        """Look."""
        raise InDoubt("who knows")

    @on_stage(look)
    async def check(s: Stage) -> None:
        outcome = await s.call("look")
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.retry) == ("tool.failed", "same_key")

    check()
