"""A commit whose answer is lost: what each is told is what the store holds, and holds for good."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import apsw
import pytest

from ledger.support import RUN, row, said, stamped
from remit.errors import Conflict, LedgerError
from remit.ledger.append import apply, prepare
from remit.ledger.schema import connect, migrate
from remit.ledger.sql import execute
from remit.ledger.transaction import Transaction
from remit.ledger.writer import Writer
from remit.types.change import Create
from remit.types.ident import OwnerId
from remit.types.ledger import Append, Committed

ME = OwnerId("owner_me")
TAKES_WHAT_IS_GONE = Append(run=RUN, create=Create(row(), "{}"), events=stamped(said("start")), taken=(99,))


class Losing(apsw.Connection):
    """A connection whose next COMMIT is done and says that it failed; its disk may be gone for good."""

    losing: list[str]
    reached: list[str]

    def execute(self, statements: str, *rest: object, **named: object) -> apsw.Cursor:  # type: ignore[override]
        done = super().execute(statements, *rest, **named)  # type: ignore[arg-type]
        if statements == "COMMIT" and self.losing[:1] == ["commit"]:
            self.losing.pop(0)
            raise apsw.IOError("disk I/O error")
        return done

    def wal_checkpoint(self, *rest: object, **named: object) -> tuple[int, int]:  # type: ignore[override]
        if self.losing[:1] == ["disk"]:
            self.losing.pop(0)
            raise apsw.IOError("disk I/O error")
        self.reached.append("disk")
        return super().wal_checkpoint(*rest, **named)  # type: ignore[arg-type]


def writer_on(path: Path, losing: list[str], reached: list[str]) -> Writer:
    """A writer for a new store; `losing` says what fails, in its order."""
    db = connect(path, create=True)
    migrate(db, 0)
    execute(db, "INSERT INTO remit_owner (id, opened_ms) VALUES (?, 0)", (ME,))
    db.close()

    def opened() -> apsw.Connection:
        connection = Losing(str(path))
        connection.losing, connection.reached = losing, reached
        return connection

    return Writer(opened, owner=ME, alive=lambda _: False, told=lambda _: None)


def keep(name: str, tx: Transaction) -> str:
    execute(tx.db, "INSERT INTO remit_spent (scope) VALUES (?)", (name,))
    return name


def refused(tx: Transaction) -> Committed:
    """Writes a page, and is refused after it."""
    return apply(tx, prepare(TAKES_WHAT_IS_GONE))


def stored(path: Path) -> list[str]:
    return [scope for (scope,) in connect(path).execute("SELECT scope FROM remit_spent ORDER BY scope")]


def test_what_was_written_beside_a_refused_page_is_known_to_be_written(tmp_path: Path) -> None:
    path, reached = tmp_path / "ledger.db", list[str]()
    writer = writer_on(path, ["commit"], reached)

    async def story() -> None:
        no, kept = await asyncio.gather(writer.write(refused), writer.write(partial(keep, "a")), return_exceptions=True)
        assert isinstance(no, Conflict)
        assert no.code == "inbox.taken"
        assert (kept, stored(path)) == ("a", ["a"])
        assert reached == ["disk"]

    asyncio.run(story())
    writer.close()
    assert connect(path).execute("SELECT count(*) FROM remit_page").fetchone() == (0,)


@pytest.mark.parametrize("safe", [True, False])
def test_what_was_written_is_told_as_done_only_once_it_is_safely_on_the_disk(tmp_path: Path, safe: bool) -> None:
    path, reached = tmp_path / "ledger.db", list[str]()
    writer = writer_on(path, ["commit"] if safe else ["commit", "disk"], reached)

    async def story() -> None:
        if safe:
            assert await writer.write(partial(keep, "a")) == "a"
            assert reached == ["disk"]
        else:
            with pytest.raises(LedgerError):
                await writer.write(partial(keep, "a"))
            assert reached == []

    asyncio.run(story())
    writer.close()
