"""What was forgotten, and what was compacted: the reports of both."""

from __future__ import annotations

from dataclasses import dataclass

from remit.types.ident import RunId

__all__ = ["Compacted", "Erased"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What `forget` deletes, or has deleted.

    Args:
        runs: those whose words are gone: the run, those that answered its calls, and of a conversation all.
        payloads: of so many commits; `size`: their bytes, and those of the blobs.
        operations, approvals: rows whose arguments, results and sentences are gone.
        blobs: which nothing else refers to.
        done: False: this is what would be deleted.
        scrubbed: whether the file itself holds none of it any more. If not, somebody was reading; `compact` does it.
    """

    runs: tuple[RunId, ...]
    payloads: int
    operations: int
    approvals: int
    blobs: int
    size: int
    done: bool
    scrubbed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What `compact` makes smaller, or has made smaller. Sizes are in bytes.

    Args:
        runs: ended ones, whose payloads are compressed now; `payloads`: so many.
        before, after: of these payloads.
        owners: rows of processes that have ended long ago.
        file_before, file_after: of the whole store.
        done: False: this is what would be done, and `file_after` is a guess.
        scrubbed: whether the file was written anew. If not, somebody was in the way, and it is as large as it was.
    """

    runs: int
    payloads: int
    before: int
    after: int
    owners: int
    file_before: int
    file_after: int
    done: bool
    scrubbed: bool
