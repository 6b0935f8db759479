"""Rows as our nouns, and our nouns as rows.

Knows the columns; not when they change. Invariant: what is written comes back equal.
"""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from operator import attrgetter

from remit.ledger.sql import Database, Row, insert_numbered
from remit.types.approval import Approval
from remit.types.change import Notice, Notify
from remit.types.codec import decode_delivery, decode_label, decode_outcome
from remit.types.delivery import Delivered
from remit.types.ident import RunId
from remit.types.ledger import Conversation
from remit.types.operation import Operation
from remit.types.run import RunRow

__all__ = [
    "APPROVAL",
    "CONVERSATION",
    "INBOX",
    "NOTICE",
    "OPERATION",
    "RUN",
    "RUN_COLUMNS",
    "approval_of",
    "conversation_of",
    "delivered_of",
    "insert",
    "notice_of",
    "operation_of",
    "run_of",
    "texts",
    "texts_of",
]


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


RUN_COLUMNS, _OPERATION, _APPROVAL = _names(RunRow), _names(Operation), _names(Approval)
RUN = f"SELECT {', '.join(RUN_COLUMNS)} FROM remit_run"
OPERATION = f"SELECT {', '.join(_OPERATION)} FROM remit_operation"
APPROVAL = f"SELECT {', '.join(_APPROVAL)} FROM remit_approval"
CONVERSATION = "SELECT id, tenant, subject, agent, holder, last, label FROM remit_conversation"
INBOX = "SELECT id, run, text FROM remit_inbox"
NOTICE = "SELECT id, conversation, run, call, tool, operation, outcome FROM remit_notice"


def insert(db: Database, table: str, noun: Operation | Approval | RunRow, **other: object) -> int:
    """A new row with all fields of the noun, and `other` in place of some; its number."""
    sql, names, values_of = _insertion(table, type(noun))
    values: list[object] = [texts(one) if type(one) is tuple else one for one in values_of(noun)]  # pyright: ignore[reportUnknownArgumentType]
    for name, value in other.items():
        values[names.index(name)] = value
    return insert_numbered(db, sql, tuple(values), "number")


@cache
def _insertion(table: str, kind: type) -> tuple[str, tuple[str, ...], attrgetter[tuple[object, ...]]]:
    names = _names(kind)
    sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    return sql, names, attrgetter(*names)


def run_of(row: Row) -> RunRow:
    """The run in a row of `RUN`."""
    values = dict(zip(RUN_COLUMNS, row, strict=True))
    values["host"] = bool(values["host"])
    return RunRow(**values)


def operation_of(row: Row) -> Operation:
    """The operation in a row of `OPERATION`."""
    values = dict(zip(_OPERATION, row, strict=True))
    values["atomic"] = bool(values["atomic"])
    values["evidence"] = texts_of(values["evidence"])
    return Operation(**values)


def approval_of(row: Row) -> Approval:
    """The approval in a row of `APPROVAL`."""
    values = dict(zip(_APPROVAL, row, strict=True))
    values["two_person"] = bool(values["two_person"])
    values["reasons"] = texts_of(values["reasons"])
    return Approval(**values)


def conversation_of(row: Row) -> Conversation:
    """The conversation in a row of `CONVERSATION`."""
    name, tenant, subject, agent, holder, last, label = row
    return Conversation(
        id=name, tenant=tenant, subject=subject, agent=agent, holder=holder, last=last, label=decode_label(label)
    )


def delivered_of(row: Row) -> Delivered:
    """The delivery in a row of `INBOX`."""
    number, run, text = row
    return Delivered(number, RunId(run), decode_delivery(text))


def notice_of(row: Row) -> Notice:
    """The notice in a row of `NOTICE`."""
    number, conversation, run, call, tool, operation, outcome = row
    return Notice(
        number,
        Notify(conversation=conversation, run=run, call=call, tool=tool, operation=operation, outcome=decode_outcome(outcome)),
    )


def texts(values: tuple[str, ...]) -> str:
    """A list of texts as one."""
    return json.dumps(values) if values else "[]"


def texts_of(text: str) -> tuple[str, ...]:
    """The list of texts again."""
    return () if text == "[]" else tuple(json.loads(text))
