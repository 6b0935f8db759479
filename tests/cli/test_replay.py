"""`remit replay`: today's agent, and whether it decides a recorded run as it was decided then."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

from cli.conftest import Desk, Said
from remit import Finished, Outcome, Principal, Recorded, Remit, Succeeded, ambient
from remit.cli import load
from remit.cli.replay import Compared, compare
from remit.types.budget import Usage
from remit.types.event import CallConsidered, CallEnded, Event, Replied, RequestFailed, Resumed, Waiting
from remit.types.ident import CallId, OperationId, OwnerId, RunId, Wording
from remit.types.label import TRUSTED
from remit.types.model import Call

WAYS = ("talker", "reader", "refunder", "mailer", "asker", "looper")


def replayed(desk: Desk, run: str, agent: str, *more: str) -> Said:
    return desk("replay", run, f"shop:{agent}", "--json", *more)


def changed(desk: Desk, was: str, now: str) -> None:
    """The shop's module, rewritten and to be loaded anew."""
    path = desk.here / "shop.py"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now))
    sys.modules.pop("shop", None)


def approved(desk: Desk, *more: str) -> str:
    """A run whose refund was approved, and that has ended."""
    paused = desk.run("refunder").json
    done = desk(
        "approve", paused["approvals"][0]["id"], "--by", "bob", "--reason", "checked", "--agent", "shop:refunder",
        "--deps", "shop:make_shop", "--json", *more,
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    return str(paused["run"])


def test_what_was_decided_is_decided_the_same_way_and_nothing_happens_again(desk: Desk) -> None:
    for agent in WAYS:
        run = desk.run(agent).json["run"]
        before = desk.books
        said = replayed(desk, run, agent)
        assert (agent, said.code, said.json["missed"]) == (agent, 0, None), said.out
        assert said.json["equal"]
        assert all(call["equal"] for call in said.json["calls"])
        assert desk.books == before


def test_an_approval_is_given_as_it_was_given(desk: Desk) -> None:
    run = approved(desk)
    assert desk.books == ["ch_1 9900"]
    said = replayed(desk, run, "refunder")
    assert (said.code, said.json["end"]) == (0, {"then": "finished", "now": "finished"})
    [call] = said.json["calls"]
    assert call["now"]["decided"] == [
        {"step": "approve", "code": "approval.needed"},
        {"step": "approve", "code": "approval.granted"},
    ]
    assert call["now"]["outcome"] == "succeeded"
    assert desk.books == ["ch_1 9900"]


def test_arguments_that_an_approver_wrote_are_those_again(desk: Desk) -> None:
    run = approved(desk, "--arguments", '{"charge_id": "ch_1", "amount_cents": 100}')
    assert desk.books == ["ch_1 100"]
    said = replayed(desk, run, "refunder")
    assert (said.code, said.json["equal"]) == (0, True), said.out


def test_a_denial_is_a_denial_again(desk: Desk) -> None:
    paused = desk.run("refunder").json
    desk("deny", paused["approvals"][0]["id"], "--by", "bob", "--reason", "no", "--agent", "shop:refunder")
    said = replayed(desk, paused["run"], "refunder")
    assert (said.code, said.json["calls"][0]["now"]["code"]) == (0, "denied")


def test_an_answer_is_given_again(desk: Desk) -> None:
    paused = desk.run("asker").json
    told = desk("answer", paused["questions"][0]["id"], "blue", "--by", "alice", "--agent", "shop:asker")
    assert told.code == 0, told.err
    said = replayed(desk, paused["run"], "asker")
    assert (said.code, said.json["calls"][0]["now"]["outcome"]) == (0, "succeeded")


def test_a_stricter_rule_of_today_is_a_difference_and_names_the_call(desk: Desk) -> None:
    run = approved(desk)
    changed(desk, 'scopes={"billing:refund"},', 'scopes={"billing:refund", "billing:big"},')
    said = replayed(desk, run, "refunder")
    assert said.code == 15
    [call] = said.json["calls"]
    assert not call["equal"]
    assert call["then"]["outcome"] == "succeeded"
    assert (call["now"]["decided"], call["now"]["outcome"]) == ([{"step": "authorize", "code": "scope.missing"}], "refused")
    assert "turn 2 differs in message 3" in said.json["missed"]
    assert desk.books == ["ch_1 9900"]


def test_a_looser_rule_of_today_is_a_difference_too(desk: Desk) -> None:
    run = approved(desk)
    changed(desk, "a.amount_cents > 5_000", "a.amount_cents > 50_000")
    said = replayed(desk, run, "refunder")
    assert said.code == 15
    assert said.json["calls"][0]["now"]["decided"] == [{"step": "authorize", "code": "allowed"}]
    assert said.json["missed"] is None


def test_other_instructions_change_no_decision_and_are_named(desk: Desk) -> None:
    run = desk.run("reader").json["run"]
    changed(desk, 'instructions="Help."', 'instructions="Help quickly."')
    said = replayed(desk, run, "reader")
    assert (said.code, said.json["head_differs"]) == (0, ["system"])


def test_an_effect_that_had_happened_before_this_run_has_happened_before_it_again(desk: Desk) -> None:
    approved(desk)
    sys.modules.pop("shop")  # its scripts begin anew
    run = desk.run("refunder").json
    assert run["status"] == "finished"
    said = replayed(desk, run["run"], "refunder")
    assert (said.code, said.json["calls"][0]["now"]["code"]) == (0, "repeat"), said.out


def test_a_run_of_a_conversation_starts_from_what_was_said_before_it(desk: Desk) -> None:
    desk.run("reader", "--conversation", "ticket")
    run = desk.run("talker", "--conversation", "ticket")
    assert run.code != 0  # another agent's conversation
    second = desk.run("reader", "--conversation", "ticket", request="And the other one?").json["run"]
    said = replayed(desk, second, "reader")
    assert (said.code, said.json["equal"]) == (0, True), said.out


def test_a_run_that_was_cancelled_is_cancelled_again(desk: Desk) -> None:
    paused = desk.run("refunder").json
    desk("cancel", paused["run"], "--by", "bob")
    said = replayed(desk, paused["run"], "refunder")
    assert (said.code, said.json["end"]["now"]) == (0, said.json["end"]["then"]), said.out


def test_people_read_the_same_report_in_lines(desk: Desk) -> None:
    run = approved(desk)
    said = desk("replay", run, "shop:refunder")
    assert said.code == 0
    assert "= 1.0 issue_refund: approve: approval.needed, approve: approval.granted -> succeeded" in said.out
    assert f"{run}: decided as it was, 1 calls" in said.out
    changed(desk, 'scopes={"billing:refund"},', 'scopes={"billing:refund", "billing:big"},')
    said = desk("replay", run, "shop:refunder")
    assert "then  approve: approval.needed, approve: approval.granted -> succeeded" in said.out
    assert "now   authorize: scope.missing -> refused (scope.missing)" in said.out
    assert "decided otherwise" in said.out


def test_a_receipt_names_other_ids_and_is_the_same_receipt(desk: Desk) -> None:
    paused = desk.run("submitter").json
    asked = ("--by", "bob", "--reason", "ok", "--agent", "shop:submitter", "--deps", "shop:make_shop", "--json")
    desk("approve", paused["approvals"][0]["id"], *asked)
    assert desk.books == ["ch_7 9900"]
    said = replayed(desk, paused["run"], "submitter")
    assert (said.code, said.json["calls"][0]["now"]["outcome"]) == (0, "succeeded"), said.out
    assert desk.books == ["ch_7 9900"]


def test_the_outside_world_is_asked_nothing_unless_dependencies_are_given(desk: Desk) -> None:
    run = desk.run("noter").json
    assert run["status"] == "finished"
    before = desk.books
    said = replayed(desk, run["run"], "noter")
    assert (said.code, said.json["calls"][1]["now"]["code"]) == (0, "owner.denied"), said.out
    assert desk.books == before
    said = replayed(desk, run["run"], "noter", "--deps", "shop:make_shop")
    assert (said.code, said.json["equal"]) == (0, True)
    assert desk.books == [*before, "asked whose n_1 is", "asked whose n_2 is"]


def test_what_expired_expires_again(desk: Desk) -> None:
    async def story() -> str:
        with ambient.use(ambient.Seeded()) as clock:
            agent = load.agent("shop:refunder")
            alice = Principal("alice", scopes=frozenset({"billing:refund"}))
            async with Remit(ledger="remit.db", agents=[agent]) as remit:
                paused = await remit.run(agent, "Help me", principal=alice)
            assert isinstance(clock, ambient.Seeded)
            clock.advance(3 * 86_400)
            async with Remit(ledger="remit.db", agents=[agent]) as remit:
                assert isinstance(await remit.run_to_end(paused.id), Finished)
            return paused.id

    said = replayed(desk, asyncio.run(story()), "refunder")
    assert (said.code, said.json["calls"][0]["now"]["code"]) == (0, "expired"), said.out


def test_what_was_withdrawn_is_withdrawn_again(desk: Desk) -> None:
    paused = desk.run("refunder").json
    operation = paused["approvals"][0]["operation"]
    assert desk("withdraw", operation, "--by", "alice").code == 0
    assert desk("resume", paused["run"], "--agent", "shop:refunder").code == 0
    said = replayed(desk, paused["run"], "refunder")
    assert (said.code, said.json["calls"][0]["now"]["code"]) == (0, "withdrawn"), said.out


def test_a_run_that_was_left_and_taken_up_is_compared_as_one(desk: Desk) -> None:
    async def story() -> str:
        agent = load.agent("shop:mailer")
        alice = Principal("alice", scopes=())
        async with Remit(ledger="remit.db", agents=[agent]) as remit:
            run = (await remit.submit(agent, "Mail her", principal=alice)).id
            async for recorded in remit.follow(run):
                if isinstance(recorded.event, Replied):
                    break
            await remit.abandon()
        async with Remit(ledger="remit.db", agents=[agent]) as remit:
            await remit.run_to_end(run)
        return run

    said = replayed(desk, asyncio.run(story()), "mailer")
    assert (said.code, said.json["equal"]) == (0, True), said.out


def over_a_crash(*after: Event) -> list[Recorded]:
    """A run whose process died after it had considered call 1.0."""
    proposed = tuple(
        Call(position=place, wire_id=f"c{place}", name=name, arguments="{}") for place, name in enumerate(("pay", "look"))
    )
    replied = Replied(turn=1, attempt=1, wording=Wording(""), text="", calls=proposed, stop="calls", raw_stop="", usage=Usage())
    events = [replied, considered("authorize", "allowed"), *after]
    return [Recorded(RunId("run_1"), number, 0, event) for number, event in enumerate(events, start=1)]


def considered(step: str, code: str, call: str = "1.0") -> CallConsidered:
    verdict = "settled" if code in ("repeat", "denied") else "ready"
    return CallConsidered(
        call=CallId(call),
        tool="pay",
        effect="write",
        contract=None,
        arguments=None,
        digest=None,
        verdict=verdict,
        step=step,
        code=code,
        label=TRUSTED,
    )


def ended(outcome: Outcome, call: str = "1.0") -> CallEnded:
    return CallEnded(call=CallId(call), tool="pay", outcome=outcome, label=TRUSTED, latency_ms=0, changed=False)


RESUMED = Resumed(owner=OwnerId("o"), scopes=(), scopes_from="recorded")
OPERATION = OperationId("op_1")
DONE, REPEATED = Succeeded(value="1", operation=OPERATION), Succeeded(value="1", operation=OPERATION, repeat=True)
MISS = RequestFailed(turn=2, attempt=1, code="replay.miss", message="turn 2 differs", retryable=False)


def compared(then: list[Recorded], now: list[Recorded]) -> Compared:
    again = SimpleNamespace(events=tuple(now), head_differs=(), refused=())
    return compare(SimpleNamespace(events=tuple(then)), again)  # type: ignore[arg-type]


def test_a_call_that_was_considered_again_after_a_crash_is_decided_as_it_was() -> None:
    then = over_a_crash(RESUMED, considered("lookup", "repeat"), ended(REPEATED))
    for now in (over_a_crash(ended(DONE)), over_a_crash(ended(REPEATED))):
        assert compared(then, now).equal
    denied = [one for one in over_a_crash(considered("authorize", "denied"), ended(DONE)) if one.sequence != 2]
    assert not compared(then, denied).equal


def test_what_a_crash_left_in_doubt_cannot_be_compared_and_is_no_other_decision() -> None:
    then = over_a_crash(RESUMED, considered("lookup", "repeat"), ended(REPEATED))
    parted = compared(then, over_a_crash(ended(DONE), MISS))
    assert (parted.equal, parted.is_comparable) == (False, False)
    other = compared(then, over_a_crash(considered("authorize", "denied", "1.1"), ended(DONE), MISS))
    assert (other.equal, other.is_comparable) == (False, True)


def test_without_a_crash_what_the_record_does_not_answer_is_another_decision() -> None:
    waited = over_a_crash(Waiting(approvals=(), text=""), RESUMED, considered("approve", "approved"), ended(DONE))
    for then in (over_a_crash(ended(DONE)), waited):
        parted = compared(then, over_a_crash(ended(DONE), MISS))
        assert (parted.equal, parted.is_comparable) == (False, True)


def test_the_ledger_is_left_as_it_was(desk: Desk) -> None:
    run = approved(desk)
    before = desk("show", run, "--json").json
    replayed(desk, run, "refunder")
    assert desk("show", run, "--json").json == before


def test_a_run_of_another_agent_is_refused(desk: Desk) -> None:
    run = desk.run("talker").json["run"]
    said = replayed(desk, run, "reader")
    assert (said.code, said.json["error"]["code"]) == (2, "agent.other")
