"""What each answer of a service makes of a write, and how an application says that it means something else."""

from __future__ import annotations

import pytest

from remit.http import Answer, Declined, Doubtful, Http
from remit.tool import Context, NoEffect, idempotent, manual, never, reconcile, tool, write
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, Succeeded, Unknown
from service.payments import Desk, Way, told
from service.tools import find, refund

DONE = [200, 201, 202, 207, 226]
DECLINED = {
    **dict.fromkeys([307, 308, 401, 402, 403, 405, 407, 411, 415, 417, 421, 426, 428, 431, 451], "no"),
    **dict.fromkeys([400, 404, 410, 413, 414, 422], "corrected"),
    **dict.fromkeys([423, 425, 429], "after"),
}
DOUBTFUL = [300, 301, 302, 303, 304, 406, 408, 409, 412, 418, 424, 444, 499, 500, 501, 502, 503, 504, 520, 599]


@pytest.mark.parametrize("status", DONE)
def test_a_success_is_done(status: int) -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Succeeded)

    told(story, refund(), ways=[Way(status=status, body=b'{"ok": 1}')])


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize(("status", "retry"), DECLINED.items())
def test_what_a_service_declines_has_failed_and_its_words_are_not_told(status: int, retry: str, atomic: bool) -> None:
    async def story(desk: Desk) -> None:
        outcome = await desk.call("refund")
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.retry) == ("no_effect", retry)
        assert outcome.message == f"The service declined this with status {status}."
        assert (await desk.operation()).state == "failed"
        assert "private" not in str(await desk.remit.events("run"))

    told(story, refund(atomic=atomic), ways=[Way(status=status, does=False, body=b"private")])


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("status", DOUBTFUL)
def test_what_proves_nothing_leaves_it_in_doubt_whatever_the_tool_says_of_exceptions(status: int, atomic: bool) -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)
        assert f"answered {status}" in await desk.evidence()

    body = b"" if status == 304 else b"private"
    told(story, refund(atomic=atomic), ways=[Way(status=status, body=body, headers={"retry-after": "1", "location": "/x"})])


def test_no_redirect_of_a_write_is_followed() -> None:
    for status in (301, 302, 303, 307, 308):

        async def story(desk: Desk) -> None:
            await desk.call("refund")
            assert [target for _, target, _, _ in desk.service.asked] == ["/refunds/a"]

        told(story, refund(), ways=[Way(status=status, headers={"location": "/elsewhere"})])


@pytest.mark.parametrize(
    ("said", "wait_s"), [("30", 30.0), ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0), ("soon", None), ("-1", None)]
)
def test_how_long_the_service_wants_to_be_left_alone_is_kept_to(said: str, wait_s: float | None) -> None:
    async def story(desk: Desk) -> None:
        outcome = await desk.call("refund")
        assert isinstance(outcome, Failed)
        assert outcome.retry == "after"
        assert outcome.retry_after_s == (None if wait_s is None else pytest.approx(wait_s, abs=1))
        again = await desk.call("refund", call="2")
        assert len(desk.service.asked) == (1 if wait_s else 2), again

    told(story, refund(), ways=[Way(status=429, does=False, headers={"retry-after": said})])


# sent again


@pytest.mark.parametrize(("method", "status"), [("POST", 400), ("POST", 409), ("POST", 422), ("DELETE", 404), ("DELETE", 410)])
def test_a_refusal_that_its_own_earlier_attempt_may_have_caused_proves_nothing(method: str, status: int) -> None:
    async def story(desk: Desk) -> None:
        await desk.call("refund")
        moves = [move.on for move in await desk.moves()]
        assert moves == ["allowed", "in_doubt", "resent", "in_doubt", "reconciled_no"], "the books are asked, not the refusal"

    recovery = reconcile(find, settle_s=0, attempts=2)
    declares = {status: "declined"}
    told(story, refund(recovery, method=method, declares=declares), ways=[Way(breaks="read"), Way(status=status, does=False)])


def test_a_plain_refusal_of_what_the_system_of_record_does_not_know_is_believed_on_a_resend() -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Failed)
        assert [move.on for move in await desk.moves()] == ["allowed", "in_doubt", "resent", "no_effect"]

    told(story, refund(reconcile(find, settle_s=0)), ways=[Way(breaks="read"), Way(status=402, does=False)])


def test_the_first_attempt_may_have_happened_whatever_the_service_declines_afterwards() -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)
        assert desk.service.did("/refunds/a") == 1

    tool = refund(idempotent(window_s=3600, attempts=2))
    told(story, tool, ways=[Way(breaks="done"), Way(status=403, does=False)])


# said otherwise


def test_an_application_says_what_a_status_of_its_service_means() -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund", id="a"), Failed)
        assert isinstance(await desk.call("refund", call="2", id="b"), Succeeded)
        assert isinstance(await desk.call("refund", call="3", id="c"), Unknown)

    declares = {503: "declined", 409: "done", 402: "doubt"}
    ways = [Way(status=503, does=False), Way(status=409, does=False), Way(status=402)]
    told(story, refund(declares=declares), ways=ways)


def test_an_answer_whose_end_nothing_marks_is_done_only_where_that_is_said() -> None:
    async def doubt(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)
        assert "nothing marks the answer's end" in await desk.evidence()

    async def done(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Succeeded)

    way = Way(breaks="yes first, without an end")
    told(doubt, refund(), ways=[way])
    told(done, refund(declares={200: "done"}), ways=[way])


def test_an_application_may_look_at_the_answer_to_say_what_it_means() -> None:
    def look(answer: Answer) -> object:
        if answer.status == 409:
            return "declined" if answer.json() == {"error": "closed"} else None
        return None

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund", id="a"), Failed)
        assert isinstance(await desk.call("refund", call="2", id="b"), Unknown)
        assert isinstance(await desk.call("refund", call="3", id="c"), Succeeded)

    closed = Way(status=409, does=False, body=b'{"error": "closed"}')
    told(story, refund(declares=look), ways=[closed, Way(status=409, body=b"{}")])


def test_a_look_at_an_answer_that_broke_off_says_nothing() -> None:
    def look(answer: Answer) -> object:
        return "doubt" if "already" in answer.text else "declined"

    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)
        assert "the answer is too large" in await desk.evidence()

    told(story, refund(declares=look), ways=[Way(status=422, body=b"already done" * 100)], http=Http(most_bytes=1000))


@pytest.mark.parametrize("look", [{200: "fine"}, lambda answer: answer.json()["x"], lambda answer: "yes", lambda answer: 1 / 0])
def test_a_look_that_fails_or_says_nothing_known_leaves_it_in_doubt(look: object) -> None:
    async def story(desk: Desk) -> None:
        assert isinstance(await desk.call("refund"), Unknown)

    told(story, refund(declares=look), ways=[Way(status=200)])


def test_a_handler_may_ask_what_the_service_said_and_tell_it() -> None:
    seen: list[int | None] = []

    @tool(effect=write(once_per="id", recovery=manual), approve=never, label=TRUSTED)
    async def pay(id: str, ctx: Context[str]) -> str:
        """Pay.

        Args:
            id: what
        """
        try:
            await ctx.http.post(f"{ctx.deps}/refunds/{id}", json={})
        except Declined as no:
            said = None if no.answer is None else no.answer.json()
            raise NoEffect(f"the card was declined ({no.status}): {said}") from no
        except Doubtful as doubt:
            seen.append(doubt.status)
            raise
        return "paid"

    async def story(desk: Desk) -> None:
        outcome = await desk.call("pay")
        assert isinstance(outcome, Failed)
        assert outcome.message == "the card was declined (402): {'code': 'expired'}"
        assert isinstance(await desk.call("pay", call="2"), Unknown)
        assert seen == [500]

    told(story, pay, ways=[Way(status=402, does=False, body=b'{"code": "expired"}'), Way(status=500)])


def test_the_words_of_errors_and_answers_hold_no_body() -> None:
    answer = Answer(status=402, headers={"x": "private"}, content=b"private")
    assert "private" not in f"{answer!r} {Declined('no', answer=answer)!r} {Doubtful('doubt', answer=answer)!r}"
    assert answer.text == "private"
    with pytest.raises(ValueError, match="line 1 column 1"):
        answer.json()
