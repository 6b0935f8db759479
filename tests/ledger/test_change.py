"""Conversations, amounts, bytes and notices; and that a commit is all or nothing."""

from __future__ import annotations

import hashlib

import pytest

from ledger.support import KEY, OPERATION, RUN, Pen, Store, conversation, operation, said
from remit.errors import BudgetExceeded, Conflict, InputError, KeyTaken, NotFound
from remit.types.budget import Spent
from remit.types.change import FreeConversation, HoldConversation, KeepBlob, Notify, OpenOperation, Spend, TakeNotice
from remit.types.ident import CallId, Digest, RunId
from remit.types.label import TRUSTED, UNTRUSTED, Label
from remit.types.outcome import Succeeded

TICKET = conversation()


def hold(**other: str) -> HoldConversation:
    return HoldConversation(**{"conversation": TICKET, "tenant": "acme", "subject": "alice", "agent": "support", **other})  # type: ignore[arg-type]


def test_a_conversation_is_held_by_one_run_and_freed_with_its_label(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        first, second = Pen(ledger), Pen(ledger, RunId("run_2"))
        await first.start()
        await second.start()
        assert await ledger.conversation(TICKET, tenant="acme") is None
        await first.write(said(), changes=(hold(),))
        await first.write(said(), changes=(hold(),))
        with pytest.raises(Conflict) as held:
            await second.write(said(), changes=(hold(),))
        assert (held.value.code, held.value.details["run"]) == ("conversation.held", RUN)
        await second.write(said(), changes=(FreeConversation(TICKET, TRUSTED),))
        label = Label(False, frozenset({"bob", "alice"}), frozenset({"mail"}))
        await first.write(said(), changes=(FreeConversation(TICKET, label),))
        found = await ledger.conversation(TICKET, tenant="acme")
        assert found is not None
        assert (found.holder, found.last, found.label) == (None, RUN, label)
        await second.write(said(), changes=(hold(),))

    store.tell(story)


@pytest.mark.parametrize("other", ["subject", "agent"])
def test_a_conversation_of_others_is_foreign_even_when_it_is_free(store: Store, other: str) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await pen.write(changes=(hold(), FreeConversation(TICKET, UNTRUSTED)))
        with pytest.raises(Conflict) as foreign:
            await pen.write(changes=(hold(**{other: "mallory"}),))
        assert foreign.value.code == "conversation.foreign"

    store.tell(story)


def test_a_conversation_that_moved_on_since_it_was_read_is_not_held(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        with pytest.raises(Conflict) as early:
            await pen.write(changes=(hold(after="run_0"),))
        assert early.value.code == "conversation.moved"
        assert await pen.ledger.conversation(TICKET, tenant="acme") is None
        await pen.write(changes=(hold(after=""), FreeConversation(TICKET, TRUSTED)))
        with pytest.raises(Conflict):
            await pen.write(changes=(hold(after=""),))
        await pen.write(changes=(hold(after=RUN),))

    store.tell(story)


def test_amounts_add_up_and_stop_at_their_limit(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        scope, limits = f"run:{RUN}", (("tokens", 100), ("turns", 9))
        assert await pen.ledger.spent(scope) == Spent()
        await pen.write(changes=(Spend(scope, Spent(tokens=100, turns=1), limits),))
        with pytest.raises(BudgetExceeded) as over:
            await pen.write(changes=(Spend(scope, Spent(tokens=1), limits),))
        assert (over.value.code, over.value.details["budget"]) == ("budget.tokens", "tokens")
        await pen.write(changes=(Spend(scope, Spent(turns=1, active_ms=7, usd_micros=3), limits),))
        await pen.write(changes=(Spend(scope, Spent(tokens=-40)),))
        await pen.write(changes=(Spend(scope, Spent(tokens=40, approvals=1, calls=2), limits),))
        expected = Spent(turns=2, calls=2, tokens=100, usd_micros=3, approvals=1, active_ms=7)
        assert await pen.ledger.spent(scope) == expected
        with pytest.raises(InputError):
            await pen.write(changes=(Spend(scope, Spent(tokens=1), (("token", 1),)),))

    store.tell(story)


def test_what_is_over_its_limit_already_may_still_be_given_back(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await pen.write(changes=(Spend("run:x", Spent(tokens=50)),))
        await pen.write(changes=(Spend("run:x", Spent(tokens=-10, turns=1), (("tokens", 20), ("turns", 5))),))
        assert (await pen.ledger.spent("run:x")).tokens == 40

    store.tell(story)


def test_bytes_are_kept_once_under_their_digest(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        digest = Digest(hashlib.sha256(b"\x00picture").hexdigest())
        await pen.write(changes=(KeepBlob(digest, b"\x00picture"), KeepBlob(digest, b"\x00picture")))
        assert await pen.ledger.blob(digest) == b"\x00picture"
        nothing = Digest(hashlib.sha256(b"").hexdigest())
        await pen.write(changes=(KeepBlob(nothing, b""),))
        assert await pen.ledger.blob(nothing) == b""
        with pytest.raises(InputError):
            await pen.write(changes=(KeepBlob(digest, b"another"),))
        with pytest.raises(NotFound):
            await pen.ledger.blob(Digest("0" * 64))

    store.tell(story)


def test_a_notice_waits_until_one_message_carries_it(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        notify = Notify(
            conversation=TICKET,
            run=RUN,
            call=CallId("1.0"),
            tool="issue_refund",
            operation=OPERATION,
            outcome=Succeeded(value={"refund": "re_1"}),
        )
        await pen.write(changes=(notify,))
        (notice,) = await pen.ledger.notices(TICKET, tenant="acme")
        assert notice.notify == notify
        assert await pen.ledger.notices(conversation("other"), tenant="acme") == []
        await pen.write(changes=(TakeNotice(notice.id),))
        assert await pen.ledger.notices(TICKET, tenant="acme") == []
        with pytest.raises(Conflict) as taken:
            await pen.write(changes=(TakeNotice(notice.id),))
        assert taken.value.code == "notice.taken"

    store.tell(story)


def test_a_commit_that_is_refused_at_its_last_change_leaves_nothing(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        await pen.write(changes=(OpenOperation(operation()),))
        before = await pen.ledger.run(RUN)
        with pytest.raises(KeyTaken):
            await pen.write(
                said(),
                changes=(hold(), Spend("run:x", Spent(turns=1)), OpenOperation(operation(id="op_2"))),
                status="paused",
                release=True,
            )
        assert await pen.ledger.run(RUN) == before
        assert await pen.ledger.conversation(TICKET, tenant="acme") is None
        assert await pen.ledger.spent("run:x") == Spent()
        holder = await pen.ledger.held(KEY)
        assert holder is not None
        assert holder.id == OPERATION

    store.tell(story)


def test_text_that_no_database_keeps_is_refused_without_showing_it(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        with pytest.raises(InputError) as refused:
            await pen.write(changes=(OpenOperation(operation(tool="secret\ud800")),))
        assert refused.value.code == "text.surrogate"
        assert "secret" not in str(refused.value)
        await pen.write(said("events keep it \ud800"))
        assert (await pen.ledger.read(RUN))[-1].event == said("events keep it \ud800")

    store.tell(story)
