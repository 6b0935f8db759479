"""What the model is shown: results without secrets and not too long, and words for every code."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.stage import Stage, on_stage, turn
from remit.errors import DefinitionError
from remit.gate import CODES, VERDICTS, Gate, receipt, render
from remit.gate.code import fail, not_run, refuse, unknown
from remit.gate.step.redact import Redaction
from remit.gate.thread import Worker
from remit.ledger import MemoryLedger
from remit.policy import Ask, Request, Verdict
from remit.tool import READ, Catalogue, Concurrency, Context, NoEffect, always, ask_user, manual, never, tool, write
from remit.types.event import CallEnded
from remit.types.ident import OperationId
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, FieldError, Outcome, Refused, Succeeded, Unknown
from remit.types.part import File, Image

SECRET = "sk-live-0123456789"


@tool(effect=READ, label=TRUSTED)
async def leak(how: str) -> object:
    """Leak.

    Args:
        how: how
    """
    match how:
        case "value":
            return {"note": f"the key is {SECRET}", SECRET: [SECRET, {"deep": SECRET}]}
        case "error":
            raise RuntimeError(f"could not log in with {SECRET}")
        case "no_effect":
            raise NoEffect(f"not with {SECRET}")
        case "file":
            return File(f"key={SECRET}".encode(), "text/plain", f"{SECRET}.txt")
        case _:
            return SECRET.encode()


@on_stage(leak, secrets=[SECRET])
async def test_a_declared_secret_is_in_nothing_that_is_recorded_or_shown(s: Stage) -> None:
    for number, how in enumerate(("value", "error", "no_effect", "file", "bytes")):
        outcome = await s.call("leak", {"how": how}, call=f"1.{number}")
        assert SECRET not in render(outcome, "leak").text
    recorded = await s.ledger.read(s.scene.run)
    assert SECRET not in repr(recorded)
    value = s.outcome("1.0")
    assert isinstance(value, Succeeded)
    assert value.value == {"note": "the key is [redacted]", "[redacted]": ["[redacted]", {"deep": "[redacted]"}]}
    kept = s.outcome("1.3")
    assert isinstance(kept, Succeeded)
    [attachment] = kept.attachments
    assert SECRET.encode() not in await s.ledger.blob(attachment.digest)  # type: ignore[arg-type]
    assert attachment.digest in json.dumps(kept.value)


@tool(effect=write(once_per="x", recovery=manual), approve=always(), preview=lambda a: f"Log in with {SECRET}", label=TRUSTED)
async def log_in(x: str) -> str:
    """Log in.

    Args:
        x: where
    """
    raise NoEffect("no", fields=(FieldError(f"/{SECRET}", f"not {SECRET}"),))


def wants_it(request: Request) -> Verdict:
    return Ask(reason=f"because of {SECRET}")


@on_stage(log_in, ask_user, secrets=[SECRET], policies=[wants_it])
async def test_a_declared_secret_is_in_no_field_no_sentence_a_person_reads_and_no_reason(s: Stage) -> None:
    await s.consider("log_in", {"x": "1"})
    [row] = await s.approvals()
    assert SECRET not in repr(row)
    assert row.preview == "Log in with [redacted]"
    assert row.reasons == ("because of [redacted]",)
    failed = await s.go(await s.decide("1.0"))  # the reasons are the ones that were shown: nobody is asked again
    assert isinstance(failed, Failed)
    assert failed.fields == (FieldError("/[redacted]", "not [redacted]"),)
    wrong = await s.call("log_in", {"x": "1", f"{SECRET}": 1}, call="2.0")
    assert isinstance(wrong, Refused)
    assert SECRET not in repr(wrong)
    assert s.gate.redact(f"I know {SECRET}") == "I know [redacted]"


@on_stage(ask_user, secrets=[SECRET])
async def test_a_declared_secret_is_in_no_question(s: Stage) -> None:
    await s.consider("ask_user", {"question": f"is {SECRET} yours?"})
    [row] = await s.approvals()
    assert row.preview == "is [redacted] yours?"


@given(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_redaction_leaves_no_secret_and_nothing_else_changed(value: object) -> None:
    redaction = Redaction(["alpha", "alphabet"])
    hidden = {"x": value, "alphabet": ["an alpha here", value]}
    shown = json.dumps(redaction.value(hidden))  # type: ignore[arg-type]
    assert "alpha" not in shown
    if "alpha" not in json.dumps(value):
        assert redaction.value(value) == value  # type: ignore[arg-type]


def test_keys_that_become_equal_both_stay_and_numbers_are_seen() -> None:
    redaction = Redaction(["alpha", "bravo", "123456"])
    shown = redaction.value({"alpha": 1, "bravo": 2, "n": 123456, "t": True})
    assert isinstance(shown, dict)
    assert sorted(map(str, shown.values())) == ["1", "2", "True", "[redacted]"]


def test_a_secret_that_would_shred_every_text_is_refused_when_the_gate_is_made() -> None:
    with pytest.raises(DefinitionError):
        Gate(tools=Catalogue([leak]), ledger=MemoryLedger(), secrets=["abc"])


@tool(effect=write(once_per="id", recovery=manual), approve=never, max_result_chars=100, label=TRUSTED)
async def long(id: str) -> object:
    """Return much.

    Args:
        id: which
    """
    return [id * 50] * 20


@on_stage(long)
async def test_a_long_result_is_shortened_and_the_whole_is_kept_and_named(s: Stage) -> None:
    outcome = await s.call("long", {"id": "é"})
    assert isinstance(outcome, Succeeded)
    whole = json.dumps(["é" * 50] * 20, ensure_ascii=False, separators=(",", ":"))
    shown = render(outcome, "long").text
    assert shown.startswith(whole[:100])
    assert str(len(whole)) in shown
    assert outcome.blob is not None
    assert outcome.blob in shown
    assert outcome.blob == hashlib.sha256(whole.encode()).hexdigest()
    assert await s.ledger.blob(outcome.blob) == whole.encode()  # type: ignore[arg-type]
    again = await s.call("long", {"id": "é"}, call="1.1")
    assert isinstance(again, Succeeded)
    assert again.blob == outcome.blob
    assert len((await s.operation()).outcome or "") < 1000


@tool(effect=READ, label=TRUSTED)
async def odd(how: str) -> object:
    """Return odd things.

    Args:
        how: how
    """
    return {"image": Image(b"\x89PNG\r\n\x1a\n", "image/png"), "bytes": b"\xff\xfe", "text": "a\udc80b"}[how]


@on_stage(odd)
async def test_bytes_images_and_broken_text_are_blocks_or_escapes_and_never_a_crash(s: Stage) -> None:
    for number, how in enumerate(("image", "bytes", "text")):
        outcome = await s.call("odd", {"how": how}, call=f"1.{number}")
        assert isinstance(outcome, Succeeded)
        render(outcome, "odd").text.encode()
        for attachment in outcome.attachments:
            assert await s.ledger.blob(attachment.digest)  # type: ignore[arg-type]


def test_every_code_says_one_sentence_and_what_may_be_tried() -> None:
    makers = {"refused": refuse, "failed": fail, "unknown": unknown, "not_run": not_run}
    for code in CODES.values():
        assert code.says.endswith(".")
        for kind in code.kinds:
            outcome: Outcome = makers[kind](code.name)
            told = render(outcome, "act")
            assert told.error
            assert code.name in told.text
            assert outcome.retry == code.retry
            assert ("Nothing changed." in told.text) == (kind != "unknown")
    assert not set(CODES) & (set(VERDICTS) - {"repeat"})


def test_the_words_for_a_model_name_the_fields_the_delay_and_whether_anything_changed() -> None:
    wrong = refuse("arguments.invalid", fields=(FieldError("/amount", "must be positive"),))
    assert "- /amount: must be positive" in render(wrong, "act").text
    assert "in 2.5 seconds" in render(refuse("rate.limited", retry_after_s=2.5), "act").text
    assert "It may have happened." in render(unknown("unknown"), "act").text
    assert render(Succeeded(value="plain"), "act").text == "plain"
    assert render(Succeeded(value={"a": 1}), "act").text == '{"a":1}'
    assert render(Succeeded(value=1, repeat=True), "act").text.startswith("Done before")
    assert "could not be kept" in render(Succeeded(available=False), "act").text
    assert render(Succeeded(value=[], incomplete=True), "act").text.startswith("Done in part")
    assert "op_7" in receipt("act", OperationId("op_7")).text


# threads and slots


def test_a_sync_handler_runs_in_a_thread_with_the_callers_context_and_the_loop_goes_on() -> None:
    import contextvars

    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
    seen: list[object] = []

    @tool(effect=READ, label=TRUSTED)
    def blocking(ctx: Context[object]) -> str:
        """Block."""
        seen.append((who.get(), threading.current_thread() is threading.main_thread(), threading.current_thread().daemon))
        return who.get()

    @on_stage(blocking)
    async def check(s: Stage) -> None:
        who.set("alice")
        assert await s.call("blocking") == Succeeded(value="alice")

    check()
    assert seen == [("alice", False, True)]


def test_a_thread_that_outlives_its_loop_still_reports() -> None:
    gate, late = threading.Event(), threading.Event()
    told: list[str] = []

    def slow() -> str:
        gate.wait(5)
        return "done"

    def tell(what: str) -> None:
        told.append(what)
        late.set()

    async def go() -> None:
        Worker(slow, tell, "slow")

    asyncio.run(go())
    gate.set()
    assert late.wait(5)
    assert told == ["done"]


def test_a_concurrency_class_and_the_read_limit_bound_what_runs_at_once() -> None:
    running, most = [0], {"class": 0, "read": 0}

    async def busy(what: str) -> None:
        running[0] += 1
        most[what] = max(most[what], running[0])
        await turn()
        running[0] -= 1

    @tool(effect=READ, label=TRUSTED)
    async def read(id: str) -> None:
        """Read.

        Args:
            id: which
        """
        await busy("read")

    @tool(effect=write(once_per="id", recovery=manual), approve=never, concurrency=Concurrency("one", 1), label=TRUSTED)
    async def single(id: str) -> None:
        """Write.

        Args:
            id: which
        """
        await busy("class")

    @on_stage(read, single)
    async def check(s: Stage) -> None:
        for name in ("read", "single"):
            plans = [await s.consider(name, {"id": str(n)}, call=f"{name}.{n}") for n in range(6)]
            await asyncio.gather(*(s.gate.execute(plan, s.scene) for plan in plans if plan))
        await s.scene.journal.flush()
        assert len(s.of(CallEnded)) == 12

    check()
    assert most == {"class": 1, "read": 2}


def test_a_write_that_waits_for_its_slot_is_not_yet_dispatched() -> None:
    release, started = threading.Event(), threading.Event()

    @tool(effect=write(once_per="id", recovery=manual), approve=never, concurrency=Concurrency("solo", 1), label=TRUSTED)
    def held(id: str) -> str:
        """Write.

        Args:
            id: which
        """
        started.set()
        release.wait(5)
        return id

    @on_stage(held)
    async def check(s: Stage) -> None:
        plans = [await s.consider("held", {"id": str(n)}, call=f"1.{n}") for n in range(2)]
        tasks = [asyncio.ensure_future(s.gate.execute(plan, s.scene)) for plan in plans if plan]
        await asyncio.to_thread(started.wait, 5)
        assert [row.state for row in await s.operations()] == ["dispatched"]
        release.set()
        await asyncio.gather(*tasks)
        await s.scene.journal.flush()
        assert [row.state for row in await s.operations()] == ["succeeded", "succeeded"]

    check()


@tool(effect=write(once_per="id", recovery=manual), approve=never, timeout_s=0.02, label=TRUSTED)
async def stubborn(id: str) -> str:
    """Refuse to stop.

    Args:
        id: which
    """
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "finished all the same"
    return "never"


@on_stage(stubborn)
async def test_an_async_handler_that_ends_after_its_timeout_is_a_late_success(s: Stage) -> None:
    assert isinstance(await s.call("stubborn", {"id": "1"}), Unknown)
    assert await s.ledger.wait_inbox(s.scene.run, after=0, timeout_s=5)
    await s.take()
    row = await s.operation()
    assert (row.state, row.settled_by) == ("succeeded", "late")


def test_refusals_are_outcomes_with_codes_of_the_table() -> None:
    assert isinstance(refuse("conflict"), Refused)
    assert isinstance(fail("no_effect"), Failed)
