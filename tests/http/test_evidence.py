"""What the operator can read of an effect's requests, and nobody else; and what is never kept."""

from __future__ import annotations

import asyncio
import threading

from remit.http import Declined
from remit.tool import CANNOT_TELL, READ, Arguments, Context, Happened, manual, never, reconcile, tool, write
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, Succeeded, Unknown
from service.payments import Desk, Way, told
from service.tools import RECOVERIES, refund

SECRET = "hunter2-hunter2"
LONG = "correct-horse-battery-staple"


def test_what_was_sent_and_answered_and_when_is_kept_with_the_operation_and_its_move() -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Succeeded)
        operation = await desk.operation()
        sent, answered = (await desk.evidence()).splitlines()
        place = desk.service.url.removeprefix("http://")
        assert sent.startswith("2026-01-01T00:00:0")
        assert sent.endswith(f"Z POST {place}/refunds/a sent under {operation.id}")
        assert answered.startswith(
            f"POST {place}/refunds/a answered 201; date: Thu, 01 Jan 2026 00:00:00 GMT; request-id: req_1; "
        )
        assert (await desk.moves())[-1].evidence == operation.evidence[-1]

    headers = {"Date": "Thu, 01 Jan 2026 00:00:00 GMT", "Request-Id": "req_1", "Set-Cookie": "private=1", "X-Other": "private"}
    told(story, refund(), ways=[Way(status=201, headers=headers)])


def test_no_query_body_password_token_or_declared_secret_is_kept_anywhere() -> None:
    asked = {
        "params": {"q": "private"},
        "headers": {"authorization": "Bearer private", "x-api-key": "private"},
        "auth": ("private", "private"),
        "content": b"private",
        "json": None,
    }

    async def story(desk: Desk) -> None:
        await desk.call("refund")
        await desk.call("refund", call="2", id="xoxb-000000000000-token")
        await desk.call("refund", call="3", id=SECRET)
        await desk.call("refund", call="4", id=LONG)
        found = f"{await desk.remit.events('run')} {[row.evidence for row in await desk.remit.operations()]}"
        assert "private" not in found
        assert "/refunds/xoxb-000..." in found
        assert "/refunds/[redacted]" in found
        assert f"/refunds/{SECRET}" not in found
        assert f"/refunds/{LONG[:4]}" not in found

    ways = [Way(status=500, body=b"private", headers={"request-id": "private&x"}), Way(breaks="done"), Way(breaks="done")]
    told(story, refund(**asked), ways=ways, secrets=[SECRET, LONG])


def test_every_attempt_and_every_question_leaves_its_lines() -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Succeeded)
        first, second = (await desk.operation()).evidence
        assert "POST" in first
        assert "503" in first
        assert "GET" in second
        assert "answered 200" in second

    told(story, refund(RECOVERIES["reconcile"]), ways=[Way(status=503)])


def test_a_question_that_cannot_tell_is_kept_for_the_operator() -> None:
    async def cannot(arguments: Arguments, ctx: Context[str]) -> object:
        await ctx.http.get(f"{ctx.deps}/refunds/other", declares={404: "done"})
        return CANNOT_TELL

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)
        detail = str((await desk.ended()).detail)
        assert "answered 503" in detail
        assert "GET" in detail
        assert "answered 404" in detail

    told(story, refund(reconcile(cannot, settle_s=0)), ways=[Way(status=503)])


def test_a_read_s_requests_are_kept_with_its_call() -> None:
    @tool(effect=READ, label=TRUSTED)
    async def look(id: str, ctx: Context[str]) -> int:
        """Look.

        Args:
            id: what
        """
        return (await ctx.http.get(f"{ctx.deps}/refunds/{id}", declares={404: "done"})).status

    async def story(desk: Desk) -> None:
        outcome = await desk.call("look")
        assert isinstance(outcome, Succeeded)
        assert "answered 404" in str((await desk.ended()).detail)
        assert "answered" not in str(outcome)

    told(story, look)


def test_a_handler_s_own_lines_are_kept_bounded_without_secrets_and_told_to_no_model() -> None:
    @tool(effect=write(once_per="id", recovery=manual), approve=never, label=TRUSTED)
    def act(id: str, ctx: Context[str]) -> str:
        """Act.

        Args:
            id: what
        """
        for number in range(50):
            ctx.evidence(f"receipt {number}\nof {SECRET} " + "x" * 260 + LONG)
        return "done"

    async def story(desk: Desk) -> None:
        outcome = await desk.call("act")
        lines = (await desk.evidence()).splitlines()
        assert len(lines) == 41
        assert lines[0].startswith("receipt 0 of [redacted] xxx")
        assert max(map(len, lines)) <= 300
        assert LONG[:2] not in lines[0]
        assert lines[-1] == "(10 more)"
        assert "receipt" not in str(outcome)

    told(story, act, secrets=[SECRET, LONG])


def test_the_lines_of_a_handler_that_was_given_up_come_with_its_late_result() -> None:
    go, threads = threading.Event(), []

    @tool(effect=write(once_per="id", recovery=manual), approve=never, label=TRUSTED, timeout_s=0.1)
    def slow(id: str, ctx: Context[str]) -> str:
        """Act.

        Args:
            id: what
        """
        threads.append(threading.current_thread())
        ctx.evidence("begun")
        go.wait(20)
        ctx.evidence("receipt 7")
        return "done"

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("slow"), Unknown)
        assert "begun" in await desk.evidence()
        go.set()
        await asyncio.to_thread(threads[0].join)
        async with asyncio.timeout(20):
            while (await desk.operation()).state != "succeeded":
                again = await desk.call("slow")
                assert isinstance(again, Unknown | Succeeded)
        assert "receipt 7" in await desk.evidence()

    told(story, slow)


def test_what_a_late_refusal_proves_is_heard_and_nothing_is_sent_after_an_attempt_was_given_up() -> None:
    go, ended = threading.Event(), threading.Event()

    @tool(effect=write(once_per="id", recovery=manual), approve=never, label=TRUSTED, timeout_s=0.1)
    def slow(id: str, ctx: Context[str]) -> object:
        """Act.

        Args:
            id: what
        """
        go.wait(20)
        try:
            return ctx.http_sync.post(f"{ctx.deps}/refunds/{id}", json={}).json()
        except Declined:
            ended.set()
            raise

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("slow"), Unknown)
        go.set()
        assert await asyncio.to_thread(ended.wait, 20)
        async with asyncio.timeout(20):
            while (await desk.operation()).state != "failed":
                await desk.call("slow")
        assert desk.service.asked == []

    told(story, slow)


def test_a_refused_write_says_what_was_sent_beside_what_it_came_to() -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Failed)
        assert "answered 402; retry-after: 5" in await desk.evidence()

    told(story, refund(), ways=[Way(status=402, does=False, headers={"retry-after": "5"})])


def test_a_result_of_the_system_of_record_is_the_operation_s() -> None:
    def known(arguments: Arguments, ctx: Context[str]) -> object:
        ctx.evidence("found under number 7")
        return Happened({"number": 7})

    async def story(desk: Desk) -> None:
        outcome = await desk.call("refund")
        assert isinstance(outcome, Succeeded)
        assert outcome.value == {"number": 7}
        assert (await desk.operation()).evidence[-1] == "found under number 7"

    told(story, refund(reconcile(known, settle_s=0)), ways=[Way(breaks="done")])
