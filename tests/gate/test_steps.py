from __future__ import annotations

import ast
import asyncio
from pathlib import Path

from gate.stage import ALICE, Stage, on_stage
from remit.gate import step
from remit.policy import Allow, Ask, Deny
from remit.tool import READ, Context, Rate, Tool, manual, never, tool, write
from remit.types.budget import Budget
from remit.types.event import CallConsidered
from remit.types.label import TRUSTED, UNTRUSTED, Label
from remit.types.outcome import NotRun, Refused, Succeeded
from remit.types.principal import Principal
from remit.types.sandbox import End, Work

RAN: list[object] = []


@tool(effect=READ, label=TRUSTED)
async def look(name: str) -> str:
    """Look something up.

    Args:
        name: which
    """
    return f"seen {name}"


@tool(effect=READ, scopes={"use", "more"}, label=TRUSTED)
async def guarded(name: str) -> str:
    """Look up what is guarded.

    Args:
        name: which
    """
    return name


@tool(effect=write(once_per="id", recovery=manual), approve=never, label=TRUSTED)
async def book(id: str, amount: int = 1) -> str:
    """Book it.

    Args:
        id: which
        amount: how much
    """
    RAN.append((id, amount))
    return f"booked {id}"


@tool(effect=READ, bound={"user": lambda p: p.subject}, label=TRUSTED)
async def mine(user: str) -> str:
    """What is mine.

    Args:
        user: whose
    """
    return user


async def _owner(arguments: object, ctx: Context[object]) -> object:
    name = arguments["id"]  # type: ignore[index]
    if name == "boom":
        raise RuntimeError("secret host db.internal")
    return {"owner": "alice"} if name == "hers" else None


@tool(effect=write(once_per="id", recovery=manual), approve=never, owns=_owner, label=TRUSTED)
async def owned(id: str) -> str:
    """Change what is owned.

    Args:
        id: which
    """
    return id


@tool(effect=READ, rate=Rate(2, 10.0), label=TRUSTED)
async def limited() -> str:
    """Look, not too often."""
    return "ok"


class Absent:
    """A sandbox that no machine has."""

    def unfit(self, handler: object, effect: str) -> str | None:
        del handler, effect

    async def absent(self) -> str | None:
        return "no machine has it"

    async def run(self, work: Work) -> End:
        del work
        return End()


@tool(effect=READ, sandbox=Absent(), label=TRUSTED)
async def boxed() -> str:
    """Look from inside a box."""
    return "ok"


@tool(effect=READ, open_world=True, sends_to={"alice"}, label=TRUSTED)
async def post(text: str) -> str:
    """Send it.

    Args:
        text: what
    """
    return "sent"


@on_stage(look)
async def test_an_allowed_read_runs_and_is_recorded_once(s: Stage) -> None:
    outcome = await s.call("look", {"name": "x"})
    assert outcome == Succeeded(value="seen x")
    assert s.considered().verdict == "ready"
    assert s.ended().changed is False


@on_stage(look)
async def test_an_unknown_name_is_answered_with_near_ones_and_nothing_runs(s: Stage) -> None:
    outcome = await s.call("lok", {"name": "x"})
    assert isinstance(outcome, Refused)
    assert outcome.code == "tool.unknown"
    assert "look" in outcome.message
    assert outcome.retry == "corrected"


@on_stage(look, recorded=["look", "old"])
async def test_a_tool_that_the_run_was_given_and_is_no_more_is_gone(s: Stage) -> None:
    outcome = await s.call("old", {})
    assert isinstance(outcome, Refused)
    assert outcome.code == "tool.gone"


@on_stage(look, book, recorded=["look"])
async def test_a_tool_that_the_run_was_not_given_is_unknown_and_not_offered(s: Stage) -> None:
    outcome = await s.call("book", {"id": "1"})
    assert isinstance(outcome, Refused)
    assert outcome.code == "tool.unknown"
    assert "book" not in outcome.message.removeprefix("There is no tool of this name.")


@on_stage(look)
async def test_arguments_that_are_wrong_are_answered_with_their_paths(s: Stage) -> None:
    for number, (text, code) in enumerate(
        [
            ('{"name": 3}', "arguments.invalid"),
            ('{"name": "a", "approval_token": "yes"}', "arguments.invalid"),
            ("{}", "arguments.invalid"),
            ("[]", "arguments.invalid"),
            ('{"name": "a", "name": "b"}', "arguments.json"),
            ('{"name": NaN}', "arguments.json"),
            ('{"name":', "arguments.json"),
        ]
    ):
        outcome = await s.call("look", text, call=f"1.{number}")
        assert isinstance(outcome, Refused), text
        assert outcome.code == code, text
        assert outcome.fields
        assert outcome.retry == "corrected"


@on_stage(book)
async def test_a_call_that_was_cut_off_is_not_repaired(s: Stage) -> None:
    outcome = await s.call("book", {"id": "1"}, cut=True)
    assert isinstance(outcome, Refused)
    assert outcome.code == "arguments.truncated"
    assert await s.operations() == []


@on_stage(mine)
async def test_who_asks_comes_from_the_application_and_a_model_that_names_it_is_refused(s: Stage) -> None:
    assert await s.call("mine", "") == Succeeded(value="alice")
    outcome = await s.call("mine", {"user": "mallory"}, call="1.1")
    assert isinstance(outcome, Refused)
    assert outcome.code == "identity.bound"
    assert outcome.fields[0].path == "/user"


@on_stage(guarded)
async def test_a_missing_scope_is_a_refusal_that_does_not_list_the_rules(s: Stage) -> None:
    outcome = await s.call("guarded", {"name": "x"})
    assert isinstance(outcome, Refused)
    assert outcome.code == "scope.missing"
    assert "more" not in outcome.message
    assert "more" in (s.ended().detail or "")


@on_stage(owned)
async def test_ownership_is_a_fact_and_anything_but_an_answer_denies(s: Stage) -> None:
    assert isinstance(await s.call("owned", {"id": "hers"}), Succeeded)
    for call, name in (("1.1", "his"), ("1.2", "boom")):
        outcome = await s.call("owned", {"id": name}, call=call)
        assert isinstance(outcome, Refused)
        assert outcome.code == "owner.denied"
        assert "internal" not in outcome.message


def _deny(request: object) -> object:
    return Deny("because of rule 7")


def _broken(request: object) -> object:
    raise KeyError("x")


async def _async_policy(request: object) -> object:
    return Allow()


def _word(request: object) -> object:
    return "allow"


def test_the_steps_are_eight_files_and_each_says_its_place() -> None:
    folder = Path(step.__file__).parent
    assert sorted(one.stem for one in folder.glob("[a-z]*.py")) == sorted(step.STEPS)
    for place, name in enumerate(step.STEPS, start=1):
        said = ast.get_docstring(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8")))
        assert said is not None
        assert said.startswith(f"Step {place}, "), name


def test_the_strictest_policy_decides_and_every_mistake_denies() -> None:
    cases: list[tuple[list[object], str]] = [
        ([lambda r: Allow(), _deny], "policy.denied"),
        ([lambda r: Allow(), _broken], "policy.error"),
        ([_async_policy], "policy.error"),
        ([_word], "policy.error"),
    ]
    for policies, code in cases:

        @on_stage(book, policies=policies)
        async def check(s: Stage, code: str = code) -> None:
            outcome = await s.call("book", {"id": "1"})
            assert isinstance(outcome, Refused)
            assert outcome.code == code
            assert "rule" not in outcome.message

        check()


def test_a_policy_sees_the_canonical_arguments_the_facts_and_the_principal() -> None:
    seen: list[object] = []

    def policy(request: object) -> object:
        seen.append((request.arguments["id"], request.facts, request.principal.subject))  # type: ignore[attr-defined]
        return Allow()

    @on_stage(owned, policies=[policy])
    async def check(s: Stage) -> None:
        await s.call("owned", {"id": "hers"})

    check()
    assert seen == [("hers", {"owner": "alice"}, "alice")]


@tool(effect=write(once_per="id", recovery=manual), label=TRUSTED)
async def unruled(id: str) -> str:
    """Change something.

    Args:
        id: which
    """
    return id


@on_stage(unruled)
async def test_a_write_without_a_rule_that_allows_it_waits_for_a_person(s: Stage) -> None:
    assert await s.consider("unruled", {"id": "1"}) is None
    assert s.considered().verdict == "waiting"
    [row] = await s.approvals()
    assert row.scope == "remit:approve"
    assert (await s.operation()).state == "awaiting_approval"


@on_stage(unruled, policies=[lambda r: Allow()])
async def test_a_policy_that_allows_is_a_rule(s: Stage) -> None:
    assert isinstance(await s.call("unruled", {"id": "1"}), Succeeded)


@on_stage(book, policies=[lambda r: Ask(scope="boss", two_person=True, reason="large")])
async def test_a_policy_that_asks_is_stricter_than_the_tools_own_rule(s: Stage) -> None:
    assert await s.consider("book", {"id": "1"}) is None
    [row] = await s.approvals()
    assert (row.scope, row.two_person, row.reasons) == ("boss", True, ("large",))


@on_stage(book)
async def test_in_an_untrusted_context_every_write_waits_and_says_why(s: Stage) -> None:
    label = Label(trusted=False, sources=frozenset({"read_issue"}))
    assert await s.consider("book", {"id": "1"}, label=label) is None
    [row] = await s.approvals()
    assert any("read_issue" in reason for reason in row.reasons)
    assert "untrusted" in row.label


@on_stage(look)
async def test_reads_go_on_in_an_untrusted_context(s: Stage) -> None:
    assert isinstance(await s.call("look", {"name": "x"}, label=UNTRUSTED), Succeeded)
    assert s.ended().label.trusted is False


@on_stage(post)
async def test_what_only_others_may_read_is_not_sent_out(s: Stage) -> None:
    private = Label(trusted=True, readers=frozenset({"carol"}))
    outcome = await s.call("post", {"text": "x"}, label=private)
    assert isinstance(outcome, Refused)
    assert outcome.code == "label.readers"
    fine = Label(trusted=True, readers=frozenset({"alice", "carol"}))
    assert isinstance(await s.call("post", {"text": "x"}, call="1.1", label=fine), Succeeded)


@on_stage(limited)
async def test_a_rate_is_a_refusal_that_says_when_to_come_back(s: Stage) -> None:
    for number in range(2):
        assert isinstance(await s.call("limited", call=f"1.{number}"), Succeeded)
    outcome = await s.call("limited", call="1.2")
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.retry) == ("rate.limited", "after")
    assert outcome.retry_after_s is not None
    assert 0 < outcome.retry_after_s <= 5


@on_stage(boxed)
async def test_a_sandbox_that_is_declared_and_absent_is_a_refusal(s: Stage) -> None:
    outcome = await s.call("boxed")
    assert isinstance(outcome, Refused)
    assert outcome.code == "sandbox.absent"


@on_stage(look, budget=Budget(calls=6))
async def test_a_batch_of_eight_against_six_runs_six_and_answers_eight(s: Stage) -> None:
    outcomes = [await s.call("look", {"name": str(n)}, call=f"1.{n}") for n in range(8)]
    assert [type(one) for one in outcomes] == [Succeeded] * 6 + [Refused] * 2
    assert {one.code for one in outcomes if isinstance(one, Refused)} == {"budget.calls"}


@on_stage(look, budget=Budget(calls=1))
async def test_a_call_that_is_considered_again_is_not_counted_twice(s: Stage) -> None:
    assert await s.consider("look", {"name": "x"}) is not None
    plan = await s.consider("look", {"name": "x"}, again=True)
    assert isinstance(await s.go(plan), Succeeded)


@on_stage(unruled, budget=Budget(approvals=1))
async def test_nobody_is_asked_for_what_the_budget_would_not_allow(s: Stage) -> None:
    await s.consider("unruled", {"id": "1"})
    outcome = await s.call("unruled", {"id": "2"}, call="1.1")
    assert isinstance(outcome, Refused)
    assert outcome.code == "budget.approvals"


@on_stage(look, book)
async def test_nothing_starts_in_a_run_that_is_being_cancelled(s: Stage) -> None:
    plan = await s.consider("book", {"id": "late"})
    s.scene.cancelled.set()
    before = len(RAN)
    assert isinstance(await s.go(plan), NotRun)
    outcome = await s.call("look", {"name": "x"}, call="1.1")
    assert isinstance(outcome, NotRun)
    assert outcome.code == "cancelled"
    assert len(RAN) == before


def test_a_raw_schema_tool_without_an_effect_is_a_write_that_a_person_approves() -> None:
    raw = Tool.from_schema(
        name="raw", description="x", schema={"type": "object", "additionalProperties": True}, handler=lambda a, c: a
    )

    @on_stage(raw)
    async def check(s: Stage) -> None:
        assert await s.consider("raw", {"a": 1}) is None
        assert (await s.operation()).recovery == "manual"
        outcome = await s.call("raw", {"approval_granted": True}, call="1.1")
        assert isinstance(outcome, Refused)

    check()


@on_stage(book, stable_calls=False)
async def test_a_business_key_needs_no_stable_calls(s: Stage) -> None:
    assert isinstance(await s.call("book", {"id": "1"}), Succeeded)


@on_stage(book)
async def test_an_empty_key_is_refused(s: Stage) -> None:
    outcome = await s.call("book", {"id": "  "})
    assert isinstance(outcome, Refused)
    assert outcome.code == "key.empty"


@on_stage(book)
async def test_a_write_takes_its_decision_key_and_dispatch_in_one_commit(s: Stage) -> None:
    plan = await s.consider("book", {"id": "one"})
    assert s.scene.journal.pending
    durable = len(await s.ledger.read(s.scene.run))
    await s.go(plan)
    kinds = [one.event.kind for one in (await s.ledger.read(s.scene.run))[durable:]]
    assert kinds == ["call.considered", "operation.moved", "operation.moved", "call.ended"]
    first = s.of(CallConsidered)[0]
    assert isinstance(first, CallConsidered)
    assert first.key is not None
    assert first.resources is None


def test_another_tenants_key_is_another_key() -> None:
    async def go() -> None:
        from gate.stage import opened, stage

        async with opened() as ledger:
            one = await stage(ledger, [book])
            other = await stage(ledger, [book], run="run_2", principal=Principal("alice", "other", ALICE.scopes))
            assert isinstance(await one.call("book", {"id": "t"}), Succeeded)
            outcome = await other.call("book", {"id": "t", "amount": 2})
            assert isinstance(outcome, Succeeded)
            assert not outcome.repeat

    asyncio.run(go())
