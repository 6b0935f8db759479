"""Forgetting and compacting, as a ledger does both: what is read, planned, written in parts, and scrubbed at the end.

Knows which steps there are, and not where the store is. Invariant: what is refused has written nothing, and a dry run writes
nothing at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from remit import ambient
from remit.errors import InputError
from remit.ledger import compact, forget, hide
from remit.ledger.append import Prepared, prepare
from remit.ledger.sql import Database, alone
from remit.ledger.transaction import Transaction, Work
from remit.types.event import Forgotten
from remit.types.ident import Digest, OwnerId, RunId
from remit.types.ledger import Append, Stamped
from remit.types.retention import Compacted, Erased
from remit.types.run import RunRow

__all__ = ["Retention"]

T = TypeVar("T")


class Retention(ABC):
    """The part of a ledger that makes it smaller. See `remit.types.ledger.Ledger` for what each method promises."""

    @abstractmethod
    async def _write(self, work: Work[T]) -> T: ...

    @abstractmethod
    async def _read(self, query: Callable[[Database], T]) -> T: ...

    @abstractmethod
    def _living(self, db: Database) -> Callable[[OwnerId], bool]: ...

    @abstractmethod
    def drop_deltas(self, run: RunId) -> None:
        """Forget the run's deltas: its reply is committed, or nothing more comes. Never raises."""

    @abstractmethod
    async def _scrub(self) -> bool:
        """Leave nothing in the store but what is in its tables; False where somebody was in the way."""

    @abstractmethod
    async def _size(self) -> int:
        """Bytes of the whole store."""

    async def matches(self, kept: str | None, digest: Digest) -> bool:
        """Whether a digest that a row has, forgotten or not, is this one."""
        return await self._read(lambda db: hide.matches(db, kept, digest))

    async def forget(self, run: RunId, *, by: str, reason: str, conversation: bool = False, dry_run: bool = False) -> Erased:
        """Delete all that was said in a run, and keep what proves and protects."""
        if not by.strip() or not reason.strip():
            raise InputError("forget needs who says so (by=) and why (reason=): both are recorded", code="forget.reason")
        found = await self._read(lambda db: forget.to_forget(db, run, conversation=conversation))
        if not dry_run:  # what a process that died while it heard a model has left of them
            for name in {run, *(row.id for row in found)}:
                self.drop_deltas(name)
        if dry_run or not found:  # what was forgotten already is scrubbed again: the first time may have been cut short
            report = await self._read(lambda db: forget.survey(db, found))
            return report if dry_run else replace(report, done=True, scrubbed=await self._scrub())
        secret = await self._read(hide.secret_of) or ambient.random_bytes(forget.SECRET_BYTES)
        kept = await self._read(lambda db: [hide.kept(db, row.id, secret) for row in found])
        planned = [
            (row, one, _said(row, Forgotten(by=by, reason=reason, kept=one))) for row, one in zip(found, kept, strict=True)
        ]

        def work(tx: Transaction) -> Erased:
            alone(tx.db)
            again = forget.to_forget(tx.db, run, conversation=conversation)
            return forget.forget(tx, planned, secret=secret, again=again)

        report = await self._write(work)
        ambient.reach("forget.written")
        return replace(report, done=True, scrubbed=await self._scrub())

    async def compact(self, *, older_than_s: float = 0.0, dry_run: bool = False) -> Compacted:
        """Compress the payloads of runs that ended so long ago, and give back what is empty."""
        file_before = await self._size()
        before_ms = ambient.now_ms() - round(older_than_s * 1000)
        runs, payloads, before, after = 0, 0, 0, 0
        for run in await self._read(lambda db: compact.old_runs(db, before_ms)):
            found = await self._read(lambda db, run=run: compact.loose(db, run))
            shorter = [one for one in found if one.data is not None]
            if shorter and not dry_run:
                await self._write(lambda tx, shorter=shorter: compact.pack(tx, shorter))
            runs += bool(shorter)
            payloads += len(shorter)
            before += sum(one.size for one in shorter)
            after += sum(len(one.data or b"") for one in shorter)
        if dry_run:
            owners = await self._read(lambda db: compact.drop_owners(db, self._living(db), dry=True))
            scrubbed = False
        else:
            owners = await self._write(lambda tx: compact.drop_owners(tx.db, tx.alive, dry=False))
            scrubbed = await self._scrub()
        return Compacted(
            runs=runs,
            payloads=payloads,
            before=before,
            after=after,
            owners=owners,
            file_before=file_before,
            file_after=max(0, file_before - before + after) if dry_run else await self._size(),
            done=not dry_run,
            scrubbed=scrubbed,
        )


def _said(row: RunRow, event: Forgotten) -> Prepared:
    """The append that says so: by whoever forgets, who owns the run for that moment only."""
    return prepare(
        Append(
            run=row.id,
            events=(Stamped(ambient.now_ms(), event),),
            epoch=row.epoch,
            sequence=row.sequence,
            claim=True,
            release=True,
        )
    )
