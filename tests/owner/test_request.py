"""Requests: what may be asked, and that it comes back from its JSON as it was."""

from __future__ import annotations

import asyncio

import pytest

from remit import File, Image, InputError, MemoryLedger, Text, untrusted
from remit.owner.request import Request, parts_of
from remit.types.change import Create
from remit.types.ident import ConversationId, RunId
from remit.types.label import Label
from remit.types.ledger import Append
from remit.types.part import Part
from remit.types.run import RunRow

PICTURE = Image(b"\x89PNG", "image/png", Label(trusted=False, readers=frozenset({"alice"}), sources=frozenset({"mail"})))


def test_text_and_parts_may_be_mixed() -> None:
    assert parts_of("hi") == (Text("hi"),)
    assert parts_of(["hi", PICTURE]) == (Text("hi"), PICTURE)


@pytest.mark.parametrize("asked", ["", " \n", [], [""], Image(b"", "image/png"), [b"bytes"], [None]])
def test_what_is_empty_or_no_part_is_refused_with_its_place(asked: object) -> None:
    with pytest.raises(InputError, match="request"):
        parts_of(asked)  # type: ignore[arg-type]


def test_a_request_comes_back_from_the_ledger_as_it_was() -> None:
    parts: tuple[Part, ...] = (Text("look"), PICTURE, File(b"%PDF", "application/pdf", "a.pdf"), untrusted("x"))
    request = Request(
        parts=parts,
        scopes=frozenset({"a", "b"}),
        conversation=ConversationId("t1"),
        imported=({"role": "user", "content": "hi"},),
    )

    async def story() -> Request:
        ledger = MemoryLedger()
        await ledger.open()
        row = RunRow(
            id=RunId("run_1"),
            root=RunId("run_1"),
            agent="support",
            tenant="acme",
            subject="alice",
            conversation=None,
            request_id=None,
            request_digest=None,
            status="queued",
        )
        await ledger.commit(Append(run=row.id, create=Create(row, request.to_json()), changes=request.blobs()))
        again = await Request.from_json(request.to_json(), ledger)
        await ledger.aclose()
        return again

    assert asyncio.run(story()) == request


def test_its_digest_follows_every_word_byte_and_label_and_not_the_scopes() -> None:
    plain = Request(parts=(Text("a"),))
    others = [
        Request(parts=(Text("b"),)),
        Request(parts=(Text("a"), Text("a"))),
        Request(parts=(untrusted("a"),)),
        Request(parts=(Text("a"), Image(b"1", "image/png"))),
        Request(parts=(Text("a"), Image(b"2", "image/png"))),
        Request(parts=(Text("a"),), conversation=ConversationId("t")),
        Request(parts=(Text("a"),), imported=({"role": "user", "content": "x"},)),
    ]
    assert len({one.digest() for one in [plain, *others]}) == len(others) + 1
    assert Request(parts=(Text("a"),), scopes=frozenset({"s"})).digest() == plain.digest()


def test_the_label_of_a_request_joins_its_parts_and_the_history() -> None:
    assert Request(parts=(Text("a"),)).label.trusted
    assert not Request(parts=(Text("a"), untrusted("b"))).label.trusted
    assert not Request(parts=(Text("a"),), imported=({"role": "user", "content": "x"},)).label.trusted
