from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remit.label import may_send, missing, needs_approval, result_label
from remit.types.label import EVERYONE, TRUSTED, UNTRUSTED, Label

readers = st.none() | st.frozensets(st.sampled_from(["alice", "bob", "carol"]))
labels = st.builds(Label, st.booleans(), readers, st.frozensets(st.sampled_from(["mail", "web"])))


def test_every_write_in_an_untrusted_context_needs_approval():
    assert needs_approval(UNTRUSTED, True, arguments=["to", "text"], free={"text"})
    assert needs_approval(UNTRUSTED, True, arguments=["text"], free={"text"})
    assert needs_approval(UNTRUSTED, True)


def test_reads_and_trusted_contexts_do_not():
    assert needs_approval(TRUSTED, True, arguments=["to"]) == ()
    assert needs_approval(UNTRUSTED, False, arguments=["to"]) == ()


def test_the_reasons_name_the_sources_and_the_arguments_in_doubt():
    label = Label(trusted=False, sources=frozenset({"web", "mail"}))
    assert needs_approval(label, True, arguments=["to", "text"], free={"text"}) == (
        "the context is untrusted (mail, web)",
        "untrusted text may have chosen: to",
    )


def test_private_data_does_not_flow_through_an_open_tool_that_does_not_say_where_to():
    private = Label(trusted=True, readers=frozenset({"alice"}))
    assert not may_send(private, None, open_world=True)
    assert may_send(private, None, open_world=False)
    assert may_send(TRUSTED, None, open_world=True)


def test_data_flows_only_to_those_who_may_read_it():
    private = Label(trusted=True, readers=frozenset({"alice", "bob"}))
    assert may_send(private, {"alice"}, open_world=True)
    assert not may_send(private, {"alice", "carol"}, open_world=True)
    assert not may_send(private, "everyone", open_world=False)
    assert may_send(TRUSTED, "everyone", open_world=True)
    assert may_send(private, set(), open_world=True)


@given(labels, labels)
def test_a_result_is_never_more_trusted_or_wider_read_than_its_tool_and_its_context(tool, context):
    got = result_label("look", tool, context, subject="alice")
    assert got.trusted <= (tool.trusted and context.trusted)
    for one in (tool, context):
        assert got.readers is not EVERYONE or one.readers is EVERYONE
        assert one.may_flow_to(got.readers)
        assert one.sources <= got.sources


@given(labels)
def test_a_missing_label_is_untrusted_and_for_the_principal_only(context):
    assert missing("alice") == Label(trusted=False, readers=frozenset({"alice"}), sources=frozenset({"unlabelled"}))
    assert missing("").readers == frozenset()
    got = result_label("look", None, context, subject="alice")
    assert not got.trusted
    assert got.may_flow_to(frozenset({"alice"})) is context.may_flow_to(frozenset({"alice"}))
    assert not got.may_flow_to(EVERYONE)


def test_the_reason_names_the_tools_whose_results_are_not_declared_trusted():
    label = missing("alice", "look").join(missing("alice", "find"))
    assert needs_approval(label, True) == ("the context holds what find, look returned, which is not declared trusted",)
    assert needs_approval(label.join(Label(trusted=False, sources=frozenset({"mail"}))), True)[1:] == (
        "the context is untrusted (mail)",
    )


def test_what_is_for_the_principal_only_flows_to_the_principal_and_through_no_open_tool_that_does_not_say_where_to():
    private = missing("alice", "look")
    assert may_send(private, {"alice"}, open_world=True)
    assert may_send(private, set(), open_world=True)
    assert may_send(private, None, open_world=False)
    assert not may_send(private, None, open_world=True)
    assert not may_send(private, {"alice", "bob"}, open_world=True)
    assert not may_send(private, "everyone", open_world=False)
