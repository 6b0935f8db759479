"""What leaves the vault with an event: what is listed, and no word that nobody asked for."""

from __future__ import annotations

import dataclasses
import json
from typing import get_args

import pytest
from hypothesis import given

from cli.events import recorded
from remit.trace import Redactor, describe, spoken
from remit.trace.field import ALWAYS, CONTENT
from remit.types.budget import Usage
from remit.types.event import CallConsidered, CallEnded, Event, MessageAppended, Recorded, Replied, RunEnded
from remit.types.ident import CallId, Digest, RunId, Wording
from remit.types.label import TRUSTED, Label
from remit.types.model import Call
from remit.types.outcome import Failed, FieldError, Refused, Succeeded
from remit.types.secret import MASK

MARKER = "MARKER: the words of somebody"


@given(recorded(MARKER))
def test_no_free_text_leaves_unless_it_is_asked_for(event: Recorded) -> None:
    assert MARKER not in json.dumps(describe(event))


@given(recorded(MARKER))
def test_a_declared_secret_leaves_in_no_field_even_with_content(event: Recorded) -> None:
    assert MARKER not in json.dumps(describe(event, content=True, redactor=Redactor([MARKER])))


@given(recorded(MARKER))
def test_what_leaves_is_json_and_says_which_event_it_is(event: Recorded) -> None:
    for content in (False, True):
        shown = json.loads(json.dumps(describe(event, content=content), allow_nan=False))
        assert {
            "run": "run_1",
            "sequence": event.sequence,
            "at_ms": event.at_ms,
            "kind": event.event.kind,
        }.items() <= shown.items()


def test_every_kind_of_event_has_its_lists_and_every_listed_field_exists() -> None:
    assert set(ALWAYS) == set(CONTENT) == set(get_args(Event))
    for table in (ALWAYS, CONTENT):
        for kind, listed in table.items():
            assert set(listed) <= {field.name for field in dataclasses.fields(kind)}


def test_what_never_leaves_is_known_field_by_field() -> None:
    kept = {
        (kind.__name__, field.name)
        for kind in get_args(Event)
        for field in dataclasses.fields(kind)
        if field.name != "kind" and field.name not in ALWAYS[kind] and field.name not in CONTENT[kind]
    }
    assert kept == {
        ("RunStarted", "head"),
        ("RunStarted", "answer_schema"),
        ("Forgotten", "kept"),
        ("Replied", "wording"),
        ("ResultsAppended", "wording"),
    }


def _place(event: Event) -> Recorded:
    return Recorded(RunId("run_1"), 3, 1_000, event)


def test_a_reply_tells_its_usage_and_with_content_its_words_and_arguments() -> None:
    call = Call(position=0, wire_id="x", name="refund", arguments='{"charge_id": "ch_1", "password": "hunter2"}')
    reply = Replied(
        turn=1,
        attempt=1,
        wording=Wording("{}"),
        text="I refund it",
        calls=(call,),
        stop="calls",
        raw_stop="tool_use",
        usage=Usage(input_tokens=7),
    )
    bare = describe(_place(reply))
    assert bare["calls"] == [{"position": 0, "cut": False}]
    assert "text" not in bare
    assert isinstance(bare["usage"], dict)
    assert bare["usage"]["input_tokens"] == 7
    told = describe(_place(reply), content=True)
    assert told["text"] == "I refund it"
    arguments = {"charge_id": "ch_1", "password": MASK}
    assert told["calls"] == [{"position": 0, "cut": False, "name": "refund", "arguments": arguments}]


def _ended(outcome: Succeeded | Refused | Failed) -> CallEnded:
    return CallEnded(call=CallId("1.0"), tool="refund", outcome=outcome, label=TRUSTED, changed=None)


def test_a_result_leaves_only_with_content() -> None:
    ended = _ended(Succeeded(value={"iban": "DE02"}, repeat=True))
    bare = describe(_place(ended))["outcome"]
    assert isinstance(bare, dict)
    assert bare["repeat"] is True
    assert "value" not in bare
    told = describe(_place(ended), content=True)["outcome"]
    assert isinstance(told, dict)
    assert told["value"] == {"iban": "DE02"}


def test_a_refusal_tells_its_code_and_with_content_what_to_correct() -> None:
    ended = _ended(Failed(code="tool.declined", message="no funds", fields=(FieldError("/amount", "too much"),)))
    bare = describe(_place(ended))["outcome"]
    assert isinstance(bare, dict)
    assert bare["code"] == "tool.declined"
    assert "message" not in bare
    told = describe(_place(ended), content=True)["outcome"]
    assert isinstance(told, dict)
    assert told["fields"] == [{"path": "/amount", "message": "too much"}]


def _considered(tool: str, contract: Digest | None) -> CallConsidered:
    return CallConsidered(
        call=CallId("1.0"),
        tool=tool,
        effect=None,
        contract=contract,
        arguments=None,
        digest=None,
        verdict="settled",
        step="resolve",
        code="tool.unknown",
        label=Label(trusted=False, sources=frozenset({"a web page"})),
    )


def test_a_tool_name_that_a_model_made_up_is_its_words() -> None:
    assert describe(_place(_considered("refund", Digest("ab"))))["tool"] == "refund"
    assert describe(_place(_considered("send_it_to_mallory", None)))["tool"] is None
    assert describe(_place(_considered("send_it_to_mallory", None)), content=True)["tool"] == "send_it_to_mallory"


def test_a_label_tells_trust_and_only_with_content_the_sources() -> None:
    considered = _considered("refund", Digest("ab"))
    assert describe(_place(considered))["label"] == {"trusted": False, "source_count": 1}
    told = describe(_place(considered), content=True)["label"]
    assert told == {"trusted": False, "source_count": 1, "sources": ["a web page"]}


def test_a_reason_that_is_no_code_is_not_told() -> None:
    ended = RunEnded(how="stopped", reason="because Bob said so")
    assert describe(_place(ended))["reason"] is None
    assert describe(_place(RunEnded(how="stopped", reason="budget.turns")))["reason"] == "budget.turns"


@pytest.mark.parametrize(
    "wording",
    [
        '{"role": "user", "content": "refund it"}',
        '{"role": "user", "content": [{"type": "text", "text": "refund it"}]}',
        '{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "refund it"}]}',
        '{"role": "user", "content": [{"type": "image", "source": {"data": "AAAA"}}, {"type": "text", "text": "refund it"}]}',
    ],
)
def test_what_a_message_says_is_found_in_every_protocols_form(wording: str) -> None:
    assert spoken(wording) == "refund it"
    message = MessageAppended(wording=Wording(wording), source="user", label=TRUSTED)
    assert describe(_place(message))["wording"] == {"chars": len(wording)}
    assert describe(_place(message), content=True)["wording"] == {"chars": len(wording), "text": "refund it"}


def test_a_message_that_is_not_json_says_nothing() -> None:
    assert spoken("not json") == ""
    assert spoken("[" * 100_000) == ""
