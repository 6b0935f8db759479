"""The chain: whatever a page says of itself is in its hash, and so is where it stands."""

from __future__ import annotations

from dataclasses import fields, replace

import apsw
import pytest

from ledger.support import RUN, Pen, Store, said
from remit.ledger.chain import Header, commitment_of, first_link, link
from remit.types.ident import RunId

HEADER = Header(number=7, run=RUN, last=3, kinds="cancel.requested run.ended", times="10 20", opened="op_1=aa")
OTHER: dict[str, object] = {
    "number": 8,
    "run": RunId("run_2"),
    "last": 4,
    "kinds": "cancel.requested cancel.requested",
    "times": "10 21",
    "opened": "op_1=ab",
}
BEFORE = first_link(RUN)
COMMITMENT = commitment_of(b"salt", "text")


@pytest.mark.parametrize("name", [one.name for one in fields(Header)])
def test_a_page_that_says_anything_else_has_another_hash(name: str) -> None:
    other = replace(HEADER, **{name: OTHER[name]})  # type: ignore[arg-type]
    assert link(BEFORE, other, COMMITMENT) != link(BEFORE, HEADER, COMMITMENT)


def test_a_page_behind_another_or_with_another_payload_has_another_hash() -> None:
    hashes = {link(before, HEADER, said_of) for before in (BEFORE, bytes(32)) for said_of in (COMMITMENT, bytes(32))}
    assert len(hashes) == 4


def test_no_two_runs_begin_alike() -> None:
    assert first_link(RUN) != first_link(RunId("run_2"))


def test_equal_payloads_under_two_salts_are_not_seen_to_be_equal() -> None:
    assert commitment_of(b"one", "text") != commitment_of(b"two", "text")


TAMPERED = {
    "a time put forward": "UPDATE remit_page SET times = times + 86400000 WHERE run = 'run_1' AND last = 2",
    "a page moved to another run": (
        "UPDATE remit_page SET run = 'run_2', last = 3 WHERE run = 'run_1' AND last = 2;"
        "UPDATE remit_run SET sequence = 1, head = (SELECT lower(hex(hash)) FROM remit_page WHERE run = 'run_1')"
        " WHERE id = 'run_1';"
        "UPDATE remit_run SET sequence = 3, head = (SELECT lower(hex(hash)) FROM remit_page WHERE run = 'run_2' AND last = 3)"
        " WHERE id = 'run_2'"
    ),
    "two whole runs exchanged": (
        "UPDATE remit_page SET run = iif(run = 'run_1', 'run_x', 'run_1');"
        "UPDATE remit_page SET run = 'run_2' WHERE run = 'run_x';"
        "UPDATE remit_run SET head = (SELECT lower(hex(hash)) FROM remit_page WHERE run = id ORDER BY last DESC LIMIT 1)"
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_page_at_another_time_or_in_another_run_is_named(file: Store, what: str) -> None:
    async def story() -> None:
        ledger = await file.open()
        for name in ("run_1", "run_2"):
            pen = Pen(ledger, RunId(name))
            await pen.start()
            await pen.write(said(name))
        assert await ledger.verify() == []
        db = apsw.Connection(str(file.path))
        db.execute(TAMPERED[what])
        assert db.total_changes() > 0
        db.close()
        assert any("does not follow from the event before it" in one for one in await ledger.verify())

    file.tell(story)
