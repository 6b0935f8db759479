"""What runs inside a write transaction, and how several share one commit without sharing errors.

Knows savepoints; not what is written. Invariant: a piece of work either leaves all of its writes in
the transaction and a value, or none and its own error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import apsw

from remit.errors import InputError, RemitError
from remit.ledger.schema import translate
from remit.ledger.sql import Database, execute
from remit.types.ident import OwnerId, RunId

__all__ = ["Answer", "Transaction", "Work", "run_hopefully", "run_together"]

T = TypeVar("T")


@dataclass(slots=True)
class Transaction:
    """An open write transaction, on behalf of one owner.

    Args:
        posted: collects the runs whose inbox grew.
        mark: run, place and hash of a page that was appended; as no two have one hash, where it is found, the
            transaction is in the store.
    """

    db: Database
    owner: OwnerId
    alive: Callable[[OwnerId], bool]
    posted: set[RunId] = field(default_factory=set[RunId])
    mark: tuple[RunId, int, bytes] | None = None


Work = Callable[[Transaction], T]


@dataclass(slots=True)
class Answer:
    """What one piece of work came to: a value, or its own error."""

    value: object = None
    error: Exception | None = None


def run_together(tx: Transaction, works: Sequence[Work[object]]) -> list[Answer]:
    """Do each, inside the transaction that is open; where every answer is an error, the caller rolls it back.

    Raises:
        apsw.Error: the transaction as a whole is gone.
    """
    if len(works) == 1:  # the transaction itself is its savepoint
        return [_answer(tx, works[0])]
    return [_isolated(tx, work) for work in works]


def run_hopefully(tx: Transaction, works: Sequence[Work[object]]) -> list[Answer] | None:
    """Do each without a savepoint; None as soon as one is refused: the caller rolls back, and does all of them anew, apart.

    Where each statement is a way to a server and back, savepoints are a quarter of them, and few are needed.
    """
    answers: list[Answer] = []
    for work in works:
        answer = _answer(tx, work)
        if answer.error is not None and len(works) > 1:
            return None
        answers.append(answer)
    return answers


def _isolated(tx: Transaction, work: Work[object]) -> Answer:
    mark = tx.mark
    execute(tx.db, "SAVEPOINT work")
    answer = _answer(tx, work)
    if answer.error is None:
        execute(tx.db, "RELEASE work")
    else:
        tx.mark = mark
        execute(tx.db, "ROLLBACK TO work; RELEASE work")
    return answer


def _answer(tx: Transaction, work: Work[object]) -> Answer:
    try:
        return Answer(work(tx))
    except (RemitError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        return Answer(error=_readable(error))
    except apsw.Error as error:
        if not tx.db.in_transaction:
            raise
        return Answer(error=translate(error))


def _readable(error: Exception) -> Exception:
    if isinstance(error, UnicodeEncodeError):  # its message holds the text
        return InputError("a text holds a lone surrogate, which no database keeps; escape it first", code="text.surrogate")
    return error
