"""Under which key a write goes out, and what several requests of one attempt prove together."""

from __future__ import annotations

import asyncio

import pytest

from remit.http import Declined, Doubtful
from remit.tool import Context, InDoubt, NoEffect
from remit.types.outcome import Failed, Succeeded, Unknown
from service.payments import Desk, Way, closed_port, told
from service.tools import RECOVERIES, acting, refund


@pytest.mark.parametrize("blocking", [False, True])
def test_every_attempt_sends_the_operation_s_id_as_its_key_and_the_same_request(blocking: bool) -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Succeeded)
        operation = await desk.operation()
        (one, first), (two, second) = [(headers["idempotency-key"], body) for _, _, headers, body in desk.service.asked]
        assert (one, first) == (two, second) == (operation.id, b'{"amount":5}')
        assert operation.attempt == 2
        assert desk.service.did("/refunds/a") == 1

    told(story, refund(RECOVERIES["idempotent"], blocking=blocking), ways=[Way(breaks="done")])


def test_a_service_may_read_the_key_from_a_header_of_its_own() -> None:
    async def story(desk: Desk) -> None:
        await desk.call("refund")
        [(_, _, headers, _)] = desk.service.asked
        assert headers["paypal-request-id"] == (await desk.operation()).id
        assert "idempotency-key" not in headers

    told(story, refund(key_header="PayPal-Request-Id"))


def test_the_key_is_not_the_handler_s_to_set() -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Failed)
        assert desk.service.connections == 0
        assert "Idempotency-Key is the client's own header" in await desk.evidence()

    told(story, refund(headers={"idempotency-key": "mine"}))


def test_a_second_write_of_an_attempt_has_a_name_that_is_part_of_its_key() -> None:
    async def both(ctx: Context[str]) -> str:
        await ctx.http.post(f"{ctx.deps}/refunds/a", json={})
        await ctx.http.post(f"{ctx.deps}/mails/a", json={}, part="mail")
        return "both"

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Succeeded)
        own = (await desk.operation()).id
        assert [headers["idempotency-key"] for _, _, headers, _ in desk.service.asked] == [own, f"{own}.mail"]

    told(story, acting(both))


@pytest.mark.parametrize("way", [Way(), Way(breaks="done"), Way(breaks="read")])
def test_a_handler_that_tries_again_by_itself_is_stopped_and_left_in_doubt(way: Way) -> None:
    async def twice(ctx: Context[str]) -> str:
        for _ in range(2):
            try:
                await ctx.http.post(f"{ctx.deps}/refunds/a", json={})
            except InDoubt:
                continue
        await ctx.http.post(f"{ctx.deps}/refunds/a", json={})
        return "done"

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Unknown)
        assert desk.service.connections == 1

    told(story, acting(twice, atomic=True), ways=[way])


def test_what_was_declined_may_be_asked_again_by_the_handler() -> None:
    async def patient(ctx: Context[str]) -> object:
        with pytest.raises(Declined) as no:
            await ctx.http.post(f"{ctx.deps}/refunds/a", json={})
        assert no.value.status == 429
        return (await ctx.http.post(f"{ctx.deps}/refunds/a", json={})).json()

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Succeeded)

    told(story, acting(patient), ways=[Way(status=429, does=False)])


# several requests, and what all of them prove


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("second", ["declined", "refused", "read failed", "saved", "own"])
def test_after_a_request_that_was_done_no_later_failure_says_that_nothing_was(second: str, atomic: bool) -> None:
    async def two(ctx: Context[str]) -> None:
        saved = None
        if second == "saved":
            try:
                await ctx.http.post(f"{ctx.deps}/declined", json={})
            except Declined as no:
                saved = no
        await ctx.http.post(f"{ctx.deps}/refunds/a", json={})
        match second:
            case "declined":
                await ctx.http.post(f"{ctx.deps}/mails/a", json={}, part="mail")
            case "refused":
                await ctx.http.post(f"http://127.0.0.1:{closed_port()}/", json={}, part="mail")
            case "read failed":
                await ctx.http.get(f"{ctx.deps}/nowhere")
            case "own":
                raise LookupError
            case _:
                assert saved is not None
                raise saved

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Unknown)
        assert desk.service.did("/refunds/a") == 1
        assert ("Doubtful" in await desk.evidence()) == (second in ("declined", "refused", "read failed"))

    declined = Way(status=422, does=False)
    told(story, acting(two, atomic=atomic), ways=[declined, Way()] if second == "saved" else [Way(), declined])


@pytest.mark.parametrize("atomic", [False, True])
def test_of_two_requests_at_once_a_refusal_of_one_says_nothing_of_the_other(atomic: bool) -> None:
    heard: list[asyncio.Event] = []

    async def at_once(ctx: Context[str]) -> None:
        async def second() -> None:
            await ctx.http.post(f"{ctx.deps}/refunds/a", json={}, part="a")

        other = asyncio.create_task(second())
        try:
            await heard[0].wait()
            await ctx.http.post("nonsense://", json={}, part="b")
        finally:
            other.cancel()

    async def story(desk: Desk) -> None:
        heard.append(desk.service.heard)
        assert isinstance(await desk.call("pay"), Unknown)

    told(story, acting(at_once, atomic=atomic), ways=[Way(breaks="hold")])


def test_while_a_request_is_under_way_not_even_the_handler_s_own_word_says_that_nothing_happened() -> None:
    heard: list[asyncio.Event] = []
    tasks: list[asyncio.Task[object]] = []

    async def leaves(ctx: Context[str]) -> None:
        tasks.append(asyncio.create_task(ctx.http.post(f"{ctx.deps}/refunds/a", json={})))
        await heard[0].wait()
        raise NoEffect("I think not")

    async def knows(ctx: Context[str]) -> None:
        with pytest.raises(Doubtful):
            await ctx.http.post(f"{ctx.deps}/refunds/a", json={})
        raise NoEffect("I looked")

    async def doubt(desk: Desk) -> None:
        heard.append(desk.service.heard)
        assert isinstance(await desk.call("pay"), Unknown)
        desk.service.hold.set()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def word(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Failed)

    told(doubt, acting(leaves), ways=[Way(breaks="hold")])
    told(word, acting(knows), ways=[Way(breaks="read")])


def test_once_an_attempt_is_settled_nothing_is_sent_for_it_any_more() -> None:
    tasks: list[asyncio.Task[object]] = []
    go = asyncio.Event()

    async def leaves(ctx: Context[str]) -> None:
        async def later() -> None:
            await go.wait()
            await ctx.http.post(f"{ctx.deps}/refunds/a", json={})

        tasks.append(asyncio.create_task(later()))
        raise Declined("no")

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Failed)
        go.set()
        [ended] = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(ended, Declined)
        assert desk.service.asked == []

    told(story, acting(leaves))


def test_a_group_of_errors_with_a_doubt_in_it_is_in_doubt_also_where_the_tool_is_atomic() -> None:
    async def group(ctx: Context[str]) -> None:
        raise ExceptionGroup("both", [ValueError(), ExceptionGroup("inner", [InDoubt("who knows")])])

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Unknown)

    told(story, acting(group, atomic=True))
