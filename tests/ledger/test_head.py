"""A head that was exported: whatever was cut off, computed anew or removed whole since then is seen."""

from __future__ import annotations

import json

import apsw
import pytest

from ledger.support import Pen, Store, row, said
from remit.errors import InputError, NotFound
from remit.ledger.chain import Header, commitment_of, first_link, link
from remit.types.change import Create
from remit.types.head import Heads
from remit.types.ident import RunId
from remit.types.ledger import Append


async def three(pen: Pen) -> Pen:
    await pen.start()
    await pen.write(said("two"))
    await pen.write(said("three"))
    return pen


def alter(store: Store, *statements: str) -> None:
    db = apsw.Connection(str(store.path))
    for sql in statements:
        db.execute(sql)
    db.close()


def compute_anew(store: Store, words: str) -> None:
    """The whole chain of run_1, by somebody who may write the file and knows how it is made."""
    db = apsw.Connection(str(store.path))
    before = first_link(RunId("run_1"))
    pages = list(db.execute("SELECT number, last, kinds, times, opened FROM remit_page WHERE run = 'run_1' ORDER BY last"))
    for number, last, kinds, times, opened in pages:
        ((salt, text),) = db.execute("SELECT salt, text FROM remit_payload WHERE page = ?", (number,))
        text = text.replace("two", words)
        commitment = commitment_of(salt, text)
        before = link(before, Header(number, RunId("run_1"), last, kinds, times, opened), commitment)
        db.execute("UPDATE remit_payload SET text = ? WHERE page = ?", (text, number))
        db.execute("UPDATE remit_page SET commitment = ?, hash = ? WHERE number = ?", (commitment, before, number))
    db.execute("UPDATE remit_run SET head = ? WHERE id = 'run_1'", (before.hex(),))
    db.close()


def test_a_run_that_went_on_stands_on_its_head(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await three(Pen(ledger))
        head = await ledger.heads()
        assert [(one.run, one.sequence) for one in head.heads] == [("run_1", 3)]
        await pen.write(said("four"))
        await Pen(ledger, RunId("run_2")).start()
        assert await ledger.verify(head=head) == []
        assert await ledger.verify(RunId("run_1"), head=head) == []
        [fault] = await ledger.verify(RunId("run_2"), head=head)
        assert "does not name it" in fault

    store.tell(story)


def test_a_tail_that_was_cut_off_is_seen_with_a_head_and_not_without(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        await three(Pen(ledger))
        head = await ledger.heads()
        alter(
            file,
            "DELETE FROM remit_payload WHERE page IN (SELECT number FROM remit_page WHERE last = 3)",
            "DELETE FROM remit_page WHERE last = 3",
            "UPDATE remit_run SET sequence = 2, head = (SELECT lower(hex(hash)) FROM remit_page WHERE last = 2)",
        )
        assert await ledger.verify() == []
        [fault] = await ledger.verify(head=head)
        assert "cut off" in fault
        assert "event 3" in fault

    file.tell(story)


def test_a_chain_that_was_computed_anew_is_seen_with_a_head_and_not_without(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        pen = await three(Pen(ledger))
        head = await ledger.heads()
        compute_anew(file, "too")
        assert await ledger.verify() == []
        [fault] = await ledger.verify(head=head)
        assert "computed anew" in fault
        pen.sequence = 3
        await pen.write(said("four"))  # also once it has gone on
        [fault] = await ledger.verify(head=head)
        assert "computed anew" in fault

    file.tell(story)


def test_a_run_that_was_removed_whole_is_seen_with_a_head_and_not_without(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        await three(Pen(ledger))
        await three(Pen(ledger, RunId("run_2")))
        head = await ledger.heads()
        alter(
            file,
            "DELETE FROM remit_payload WHERE page IN (SELECT number FROM remit_page WHERE run = 'run_1')",
            "DELETE FROM remit_page WHERE run = 'run_1'",
            "DELETE FROM remit_run WHERE id = 'run_1'",
        )
        assert await ledger.verify() == []
        [fault] = await ledger.verify(head=head)
        assert fault == "run run_1: is gone; when the head was taken it stood at event 3"

    file.tell(story)


def test_a_run_that_had_no_event_yet_must_still_be_there(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        await ledger.commit(Append(run=RunId("run_1"), create=Create(row(status="queued"), "{}")))
        head = await ledger.heads([RunId("run_1")])
        assert [(one.sequence, one.page, one.hash) for one in head.heads] == [(0, 0, "")]
        assert not head.whole
        assert await ledger.verify(head=head) == []
        with pytest.raises(NotFound):
            await ledger.heads([RunId("run_2")])

    store.tell(story)


def test_a_head_reads_back_equal_and_one_that_was_altered_is_not_read(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        await three(Pen(ledger))
        head = await ledger.heads()
        plain = head.plain()
        assert Heads.read(json.dumps(plain, indent=2)) == head
        altered = json.loads(json.dumps(plain))
        altered["heads"][0]["sequence"] = 2
        for text, code in (
            (json.dumps(altered), "head.altered"),
            ("{}", "head.invalid"),
            ("", "head.invalid"),
            ("[1]", "head.invalid"),
        ):
            with pytest.raises(InputError) as caught:
                Heads.read(text)
            assert caught.value.code == code

    store.tell(story)
