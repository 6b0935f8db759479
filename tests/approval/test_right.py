from __future__ import annotations

import json
from dataclasses import replace

import pytest

from remit import ambient
from remit.approval import Subject, build, build_question, covers, default_preview, mask, may_decide
from remit.errors import Denied
from remit.types.approval import Approval
from remit.types.ident import CallId, Digest, RunId
from remit.types.label import UNTRUSTED
from remit.types.principal import Principal
from remit.types.secret import MASK

SUBJECT = Subject(
    tenant="acme",
    requester="alice",
    run=RunId("run_1"),
    call=CallId("1.0"),
    tool="pay",
    contract=Digest("c" * 64),
    text='{"amount":5,"card":"4111"}',
    digest=Digest("d" * 64),
    plain={"amount": 5, "card": "4111", "more": [{"card": "4222"}]},
    secret=frozenset({"card"}),
    label=UNTRUSTED,
    now_ms=ambient.now_ms(),
)


def row(**more: object) -> Approval:
    made = build(SUBJECT, scope="pay:approve", expires_s=60)
    return replace(made, **more)  # type: ignore[arg-type]


def test_only_the_scope_of_the_same_tenant_may_decide() -> None:
    may_decide(row(), Principal("bob", "acme", frozenset({"pay:approve"})))
    for principal, code in (
        (Principal("bob", "acme"), "approval.scope"),
        (Principal("bob", "other", frozenset({"pay:approve"})), "approval.tenant"),
    ):
        with pytest.raises(Denied) as denied:
            may_decide(row(), principal)
        assert denied.value.code == code


def test_several_scopes_are_all_needed() -> None:
    asked = row(scope="a b")
    may_decide(asked, Principal("bob", "acme", frozenset({"a", "b", "c"})))
    with pytest.raises(Denied):
        may_decide(asked, Principal("bob", "acme", frozenset({"a"})))


def test_with_two_people_neither_requester_nor_author_decides() -> None:
    for subject in ("alice", "carol"):
        with pytest.raises(Denied) as denied:
            may_decide(row(two_person=True, author="carol"), Principal(subject, "acme", frozenset({"pay:approve"})))
        assert denied.value.code == "approval.two_person"
    may_decide(row(two_person=True, author="carol"), Principal("bob", "acme", frozenset({"pay:approve"})))


def test_a_yes_covers_what_it_saw_and_nothing_stricter() -> None:
    yes = row(decided_by="bob", reasons=("large",))
    assert covers(yes, scope="pay:approve", two_person=True, reasons=("large",))
    assert not covers(yes, scope="other", two_person=False, reasons=())
    assert not covers(yes, scope="pay:approve", two_person=False, reasons=("large", "unknown"))
    assert not covers(replace(yes, decided_by="alice"), scope="pay:approve", two_person=True, reasons=())


def test_secrets_are_masked_at_every_depth_and_the_digest_covers_the_real_value() -> None:
    made = row()
    assert "4111" not in made.shown + made.preview
    assert "4222" not in made.shown + made.preview
    assert json.loads(made.shown)["card"] == MASK
    assert (made.arguments, made.arguments_digest) == (SUBJECT.text, SUBJECT.digest)
    assert mask({"card": 1}, ("card",)) == {"card": MASK}


def test_a_preview_that_fails_or_says_nothing_falls_back_to_the_tool_and_its_arguments() -> None:
    def broken(shown: object) -> str:
        raise KeyError("x")

    for preview in (broken, lambda shown: "", None):
        made = build(SUBJECT, scope="s", expires_s=60, preview=preview)
        assert made.preview.startswith("Run pay with amount = 5")
    assert build(SUBJECT, scope="s", expires_s=60, preview=lambda shown: f"Pay {shown['amount']}").preview == "Pay 5"
    assert default_preview("pay", {}) == "Run pay without arguments."
    assert len(default_preview("pay", {"x": "y" * 10_000})) < 300


def test_a_request_expires_by_the_wall_clock_and_shows_its_label() -> None:
    with ambient.use(ambient.Seeded()):
        made = row()
        assert made.expires_ms == made.created_ms + 60_000
    assert made.label == "untrusted"


def test_a_question_needs_no_scope_and_is_the_sentence_itself() -> None:
    asked = build_question(SUBJECT, question="Which card?", expires_s=None)
    assert (asked.kind, asked.scope, asked.preview, asked.expires_ms) == ("question", "", "Which card?", None)
    may_decide(asked, Principal("alice", "acme"))
