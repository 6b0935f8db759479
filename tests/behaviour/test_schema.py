"""Schema, identity and limits."""

from __future__ import annotations

import pytest

from behaviour.shop import ALICE, Shop, lookup_order, play, refund_tool, send_mail, support
from remit import (
    CALL,
    READ,
    TRUSTED,
    Budget,
    Context,
    Failed,
    File,
    Finished,
    Image,
    MemoryLedger,
    NoEffect,
    Refused,
    Remit,
    ScriptedModel,
    Stopped,
    Succeeded,
    call,
    manual,
    never,
    tool,
    write,
)
from remit.errors import DefinitionError, InputError
from remit.model import OpenAIChat

SECRET = "sk-live-51Habcdefghijklmnop"


async def ended_calls(remit: Remit, run: str) -> list[object]:
    return [one.event for one in await remit.events(run) if one.event.kind == "call.ended"]


def one_call(made: object, *tools: object, **changes: object) -> tuple[object, ScriptedModel]:
    """Run one proposal to the end; returns the run's only ended call and the model."""
    model = ScriptedModel([made, "Done."])

    async def story() -> object:
        async with Remit(
            ledger=MemoryLedger(), agents=[support(model, *tools)], deps=changes.pop("deps", Shop()), **changes
        ) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            assert isinstance(run, Finished)
            (ended,) = await ended_calls(remit, run.id)
            return ended

    return play(story), model


def test_an_array_sent_as_text_is_unwrapped_and_recorded_and_text_stays_text() -> None:
    got: list[object] = []

    @tool(effect=READ, label=TRUSTED)
    async def take(items: list[int], note: str, number: str) -> str:
        """Take.

        Args:
            items: numbers
            note: text
            number: text
        """
        got.append((items, note, number))
        return "ok"

    model = ScriptedModel([call("take", items="[1, 2]", note='{"a": 1}', number="12345"), "Done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, take)]) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            considered = [one.event for one in await remit.events(run.id) if one.event.kind == "call.considered"]
            assert considered[-1].coercions == ("/items",)

    play(story)
    assert got == [([1, 2], '{"a": 1}', "12345")]


def test_a_parameter_bound_to_the_principal_cannot_be_sent_by_the_model() -> None:
    seen: list[str] = []

    @tool(effect=READ, bound={"user_id": lambda principal: principal.subject}, label=TRUSTED)
    async def my_orders(user_id: str) -> str:
        """List my orders."""
        seen.append(user_id)
        return "orders of " + user_id

    refused, _ = one_call(call("my_orders", user_id="someone-else"), my_orders)
    assert isinstance(refused.outcome, Refused)
    assert refused.outcome.code == "identity.bound"
    assert seen == []
    fine, model = one_call(call("my_orders"), my_orders)
    assert isinstance(fine.outcome, Succeeded)
    assert seen == ["alice"]
    assert b"user_id" not in model.requests[0]


def test_a_limit_of_six_calls_and_a_batch_of_eight_is_six_effects_and_eight_answers() -> None:
    shop = Shop()
    model = ScriptedModel([[call("send_mail", to=f"{n}@b", text="hi") for n in range(8)], "Done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, send_mail, budget=Budget(calls=6))], deps=shop) as remit:
            run = await remit.run("support", "mail", principal=ALICE)
            assert isinstance(run, Finished)
            calls = await ended_calls(remit, run.id)
            assert len(calls) == 8
            assert sorted(c.call for c in calls if isinstance(c.outcome, Refused) and c.outcome.code == "budget.calls") == [
                "1.6",
                "1.7",
            ]

    play(story)
    assert len(shop.mails) == 6


def test_a_turn_refused_wholly_for_its_budget_stops_the_run() -> None:
    shop = Shop()
    mails = [call("send_mail", to=f"{n}@b", text="hi") for n in range(3)]
    model = ScriptedModel([mails, mails, "never"])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, send_mail, budget=Budget(calls=3))], deps=shop) as remit:
            run = await remit.run("support", "mail", principal=ALICE)
            assert isinstance(run, Stopped)
            assert run.reason == "budget.calls"

    play(story)
    assert len(shop.mails) == 3


def test_in_one_turn_a_read_after_a_write_sees_it() -> None:
    files: dict[str, str] = {}

    @tool(effect=write(once_per=CALL, recovery=manual, atomic=True), approve=never, label=TRUSTED)
    async def put(name: str, text: str) -> str:
        """Write.

        Args:
            name: which
            text: what
        """
        files[name] = text
        return "ok"

    @tool(effect=READ, label=TRUSTED)
    async def get(name: str) -> str:
        """Read.

        Args:
            name: which
        """
        return files.get(name, "nothing")

    model = ScriptedModel([[call("put", name="f", text="new"), call("get", name="f")], "Done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, put, get)]) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            calls = {c.call: c for c in await ended_calls(remit, run.id)}
            assert calls["1.1"].outcome.value == "new"

    play(story)


def test_a_very_long_result_is_shortened_for_the_model_and_kept_whole() -> None:
    whole = "word " * 400_000

    @tool(effect=READ, max_result_chars=2_000, label=TRUSTED)
    async def dump() -> str:
        """Dump."""
        return whole

    model = ScriptedModel([call("dump"), "Done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, dump)]) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            (ended,) = await ended_calls(remit, run.id)
            assert len(model.requests[-1]) < 10_000
            assert ended.outcome.blob is not None
            assert whole.encode() in await remit.blob(ended.outcome.blob)

    play(story)


@pytest.mark.parametrize(
    "made",
    [
        b"\xff\xfe\x00",
        b"\x89PNG\r\n\x1a\n" + b"0" * 20,
        Image(b"\x89PNG\r\n\x1a\n" + b"0" * 20, "image/png"),
        File(b"%PDF-1.7", "application/pdf", "a.pdf"),
        "lone \ud800 surrogate",
        {"a": b"\xff", 1: {2, 3}},
        float("nan"),
        10**40,
    ],
    ids=["bytes", "png bytes", "image", "pdf", "surrogate", "odd dict", "nan", "big integer"],
)
@pytest.mark.parametrize("protocol", ["anthropic", "openai-chat", "openai-responses"])
def test_whatever_a_tool_returns_the_model_gets_a_typed_block_or_a_faithful_escape(made: object, protocol: str) -> None:
    @tool(effect=READ, label=TRUSTED)
    async def give() -> object:
        """Give."""
        return made

    model = ScriptedModel([call("give"), "Done."], protocol=protocol)

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, give)]) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            assert isinstance(run, Finished)
            (ended,) = await ended_calls(remit, run.id)
            assert isinstance(ended.outcome, Succeeded)

    play(story)


def test_a_connection_string_in_an_exception_never_reaches_the_model() -> None:
    dsn = "postgresql://admin:hunter2@db.internal:5432/prod"

    @tool(effect=READ, label=TRUSTED)
    async def query() -> str:
        """Query."""
        raise ConnectionError(f"cannot connect to {dsn}")

    ended, model = one_call(call("query"), query)
    assert isinstance(ended.outcome, Failed)
    assert "hunter2" not in ended.outcome.message
    assert b"hunter2" not in model.requests[-1]
    assert b"db.internal" not in model.requests[-1]
    assert dsn in (ended.detail or "")


def test_a_declared_secret_is_in_nothing_that_the_model_reads_nor_in_any_channel() -> None:
    from remit.trace import Redactor, describe

    @tool(effect=READ, label=TRUSTED)
    async def leak() -> dict[str, str]:
        """Leak."""
        return {"token": SECRET, SECRET: "key"}

    @tool(effect=write(once_per=CALL, recovery=manual), approve=never, label=TRUSTED)
    async def fail() -> str:
        """Fail."""
        raise NoEffect(f"refused by {SECRET}")

    model = ScriptedModel([call("leak"), call("fail"), f"The secret is {SECRET}"])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, leak, fail)], secrets=[SECRET]) as remit:
            run = await remit.run("support", "go", principal=ALICE)
            for body in model.requests:
                assert SECRET.encode() not in body
            for recorded in await remit.events(run.id):
                redactor = Redactor(secrets=[SECRET])
                assert SECRET not in repr(describe(recorded))
                assert SECRET not in repr(describe(recorded, content=True, redactor=redactor))

    play(story)


def test_once_per_a_parameter_that_may_be_null_is_refused_when_it_is_defined() -> None:
    with pytest.raises(DefinitionError, match="charge_id"):

        @tool(effect=write(once_per="charge_id", recovery=manual), label=TRUSTED)
        async def refund(charge_id: str | None) -> str:
            """Refund.

            Args:
                charge_id: which
            """
            return "ok"


def test_a_usd_budget_with_a_model_of_unknown_price_is_refused_before_the_first_request() -> None:
    model = OpenAIChat("a-model-nobody-prices", base_url="http://127.0.0.1:9")

    async def story() -> None:
        async with Remit(
            ledger=MemoryLedger(), agents=[support(model, lookup_order, budget=Budget(usd="1"))], deps=Shop()
        ) as remit:
            with pytest.raises(InputError, match="price"):
                await remit.run("support", "go", principal=ALICE)
            assert await remit.runs() == []

    play(story)


def test_what_is_not_declared_is_refused() -> None:
    shop = Shop()
    no_rule = refund_tool(approve=None)
    ended_or_paused = ScriptedModel([call("issue_refund", charge_id="ch_1", amount_cents=1), "Done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(ended_or_paused, no_rule)], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert run.reason == "waiting" or run.approvals  # type: ignore[union-attr]

    play(story)
    assert shop.refunds == []


def test_a_scope_that_the_principal_lacks_is_a_refusal() -> None:
    @tool(effect=READ, scopes={"secrets:read"}, label=TRUSTED)
    async def secrets(ctx: Context[Shop]) -> str:
        """Read secrets."""
        return "s"

    ended, _ = one_call(call("secrets"), secrets)
    assert ended.outcome.code == "scope.missing"
