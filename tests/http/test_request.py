"""What a request is: its time, its size, its connection; what may look, and in what form."""

from __future__ import annotations

import asyncio
import json

import pytest

from model.server import listening
from remit import Agent, Finished, InputError, MemoryLedger, Principal, Remit, ScriptedModel, call
from remit.http import Clients, Declared, Declined, Doubtful, Http, ReadFailed
from remit.tool import DID_NOT, READ, Arguments, Context, Happened, idempotent, manual, never, reconcile, tool, write
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, Succeeded, Unknown
from service.payments import Desk, Way, closed_port, serving, told
from service.tools import acting, reading, refund

# time and size


@pytest.mark.parametrize("blocking", [False, True])
def test_a_service_that_does_not_answer_leaves_it_in_doubt_before_the_attempt_is_given_up(blocking: bool) -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)
        assert " in time\n" in f"{await desk.evidence()}\n"
        assert desk.service.did("/refunds/a") == 1

    told(story, refund(blocking=blocking, timeout_s=2), ways=[Way(breaks="hold")])


def test_a_request_has_no_more_time_than_its_attempt() -> None:
    async def slow(ctx: Context[str]) -> object:
        return (await ctx.http.post(f"{ctx.deps}/refunds/a", json={}, timeout_s=1000)).json()

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Unknown)
        evidence = await desk.evidence()
        assert " in time\n" in f"{evidence}\n"
        assert "the handler did not end in time" not in evidence

    told(story, acting(slow, timeout_s=1.0), ways=[Way(breaks="hold")])


@pytest.mark.parametrize("blocking", [False, True])
def test_an_answer_that_is_too_large_is_in_doubt(blocking: bool) -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)
        assert "the answer is too large" in await desk.evidence()

    told(story, refund(blocking=blocking), ways=[Way(body=b"x" * 5000)], http=Http(most_bytes=1000))


@pytest.mark.parametrize("atomic", [False, True])
def test_an_answer_that_is_done_and_cannot_be_read_is_in_doubt(atomic: bool) -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)

    told(story, refund(atomic=atomic), ways=[Way(body=b"no json")])
    told(story, refund(atomic=atomic), ways=[Way(body=b"no gzip", headers={"content-encoding": "gzip"})])


def test_a_refusal_whose_words_cannot_be_read_is_a_refusal() -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Failed)

    told(story, refund(), ways=[Way(status=422, does=False, body=b"no gzip", headers={"content-encoding": "gzip"})])
    told(story, refund(), ways=[Way(status=422, does=False, body=b"x" * 5000)], http=Http(most_bytes=1000))


def test_each_write_has_a_connection_of_its_own_and_no_cookie_of_another() -> None:
    async def story(desk: Desk) -> None:
        for number in range(3):
            assert isinstance(await desk.call("refund", call=str(number), id=str(number)), Succeeded)
        assert desk.service.connections == 3
        assert all("cookie" not in headers for _, _, headers, _ in desk.service.asked)

    told(story, refund(), ways=[Way(headers={"set-cookie": "a=b"})])


# reads


@pytest.mark.parametrize(("declares", "state"), [({}, "unknown"), ({200: "done"}, "failed")])
def test_books_that_break_off_prove_no_did_not_unless_their_end_is_declared(declares: Declared, state: str) -> None:
    async def books(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nb c d")  # and then it would have said a
        await writer.drain()
        writer.close()

    async def find(arguments: Arguments, ctx: Context[str]) -> object:
        listed = await ctx.http.get(url[0], declares=declares)
        return Happened() if arguments["id"] in listed.text.split() else DID_NOT

    async def story(desk: Desk) -> None:
        async with listening(books) as (host, port):
            url.append(f"http://{host}:{port}/refunds")
            await desk.call("refund")
        assert (await desk.operation()).state == state

    url: list[str] = []
    told(story, refund(reconcile(find, settle_s=0, attempts=1)), ways=[Way(breaks="done")])


def test_a_read_sends_no_key_and_fails_plainly() -> None:
    async def get(ctx: Context[str]) -> object:
        return (await ctx.http.get(f"{ctx.deps}/refunds/a", params={"q": "x"})).json()

    async def story(desk: Desk) -> None:
        outcome = await desk.call("look")
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.retry) == ("tool.failed", "same_key")
        [(method, target, headers, _)] = desk.service.asked
        assert (method, target) == ("GET", "/refunds/a?q=x")
        assert "idempotency-key" not in headers
        assert "answered with status 404" in str((await desk.ended()).detail)

    told(story, reading(get))


def test_a_read_may_take_another_answer_for_a_good_one_and_ask_with_a_body() -> None:
    async def search(ctx: Context[str]) -> object:
        gone = await ctx.http.get(f"{ctx.deps}/refunds/a", declares={404: "done"})
        return [gone.status, (await ctx.http.post(f"{ctx.deps}/search", json={"q": 1}, reads=True)).status]

    async def story(desk: Desk) -> None:
        outcome = await desk.call("look")
        assert isinstance(outcome, Succeeded)
        assert outcome.value == [404, 200]
        assert all("idempotency-key" not in headers for _, _, headers, _ in desk.service.asked)

    told(story, reading(search), ways=[Way(does=False)])


def test_nothing_but_the_handler_of_a_write_may_change_something() -> None:
    async def post(ctx: Context[str]) -> object:
        return (await ctx.http.post(f"{ctx.deps}/refunds/a", json={})).json()

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("look"), Failed)
        assert desk.service.connections == 0
        assert "say reads=True" in str((await desk.ended()).detail)

    told(story, reading(post))

    async def writes(arguments: object, ctx: Context[str]) -> object:
        return await ctx.http.post(f"{ctx.deps}/refunds/a", json={})

    async def in_doubt(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)
        assert desk.service.connections == 1
        assert "say reads=True" in str((await desk.ended()).detail)

    told(in_doubt, refund(reconcile(writes, settle_s=0)), ways=[Way(breaks="read")])  # type: ignore[arg-type]


def test_a_check_of_the_owner_may_look() -> None:
    async def owns(arguments: object, ctx: Context[str]) -> object:
        return (await ctx.http.get(f"{ctx.deps}/refunds/a", declares={404: "done"})).status == 404

    async def get(ctx: Context[str]) -> str:
        return "seen"

    async def look(id: str, ctx: Context[str]) -> str:
        """Look.

        Args:
            id: what
        """
        return await get(ctx)

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("look"), Succeeded)
        assert [method for method, *_ in desk.service.asked] == ["GET"]

    told(story, tool(effect=READ, label=TRUSTED, owns=owns)(look))


def test_what_has_to_be_true_at_the_end_may_be_looked_up() -> None:
    async def done(ctx: Context[str]) -> object:
        return (await ctx.http.get(f"{ctx.deps}/refunds/a?x=1", params={"y": 2}, declares={404: "done"})).status == 200

    async def story() -> None:
        async with serving() as service:
            model = ScriptedModel([call("refund", id="a"), "Done."])
            agent = Agent("payer", model=model, tools=[refund()], done=done)
            async with Remit(MemoryLedger(), [agent], deps=service.url) as remit:
                run = await remit.run("payer", "x", principal=Principal("alice"))
            assert isinstance(run, Finished)
            assert run.verified
            assert service.asked[-1][1] == "/refunds/a?x=1&y=2"

    asyncio.run(story())


def test_a_look_that_fails_before_a_write_has_changed_nothing() -> None:
    async def first(ctx: Context[str]) -> object:
        await ctx.http.get(f"{ctx.deps}/refunds/a")
        return await ctx.http.post(f"{ctx.deps}/refunds/a", json={})

    async def story(desk: Desk) -> None:
        outcome = await desk.call("pay")
        assert isinstance(outcome, Failed)
        assert outcome.message == "What had to be looked up first could not be (status 404); nothing was changed."
        assert outcome.retry == "corrected"

    told(story, acting(first))


# the form of handlers


def test_each_form_of_handler_has_its_client_and_the_other_is_refused_before_anything_is_sent() -> None:
    async def wrong(ctx: Context[str]) -> object:
        return ctx.http_sync.post(f"{ctx.deps}/refunds/a", json={})

    def wrong_blocking(id: str, ctx: Context[str]) -> object:
        """Pay.

        Args:
            id: what
        """
        return ctx.http.post(f"{ctx.deps}/refunds/a", json={})

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("pay"), Failed)
        assert desk.service.connections == 0

    told(story, acting(wrong))
    told(story, tool(effect=write(once_per="id", recovery=manual), approve=never, label=TRUSTED, name="pay")(wrong_blocking))


def test_a_context_of_a_test_has_a_client_if_it_is_given_one() -> None:
    async def story() -> None:
        bare = Context(principal=Principal("alice"), deps=None)
        with pytest.raises(Declined, match="without an HTTP client"):
            bare.http  # noqa: B018
        given = Context(principal=Principal("alice"), deps=None, web=Clients())
        with pytest.raises(ReadFailed, match="no connection could be made"):
            await given.http.get(f"http://127.0.0.1:{closed_port()}")

    asyncio.run(story())


@pytest.mark.parametrize(
    "wrong", [{"connect_s": 0}, {"timeout_s": -1}, {"timeout_s": float("nan")}, {"most_bytes": 0}, {"connect_s": True}]
)
def test_numbers_that_cannot_be_used_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match="of Http"):
        Http(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"http= of Remit"):
        Remit(http="x")  # type: ignore[arg-type]


def test_json_of_a_request_is_what_was_given() -> None:
    async def story(desk: Desk) -> None:
        await desk.call("refund")
        [(_, _, headers, body)] = desk.service.asked
        assert json.loads(body) == {"amount": 5}
        assert headers["content-type"] == "application/json"
        assert headers["authorization"] == "Basic YTpi"
        assert (headers["x-shop"], headers["user-agent"]) == ("mine", "remit")

    told(story, refund(auth=("a", "b")), http=Http(headers={"X-Shop": "mine"}))


def test_a_doubt_that_a_handler_passes_on_is_one_of_a_resend_too() -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)
        assert (await desk.operation()).attempt == 3
        assert desk.service.did("/refunds/a") == 1

    told(story, refund(idempotent(window_s=3600)), ways=[Way(breaks="done"), Way(status=503), Way(breaks="in the answer")])


def test_the_error_of_a_doubt_says_where_and_not_what() -> None:
    async def story(desk: Desk) -> None:
        await desk.call("refund")
        said = str((await desk.ended()).detail)
        assert said.startswith(f"{Doubtful.__module__}.Doubtful: POST 127.0.0.1:")
        assert "/refunds/a answered 500" in said

    told(story, refund(), ways=[Way(status=500, body=b"private")])
