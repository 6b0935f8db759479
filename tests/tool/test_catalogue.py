from __future__ import annotations

import pytest

from remit.errors import DefinitionError
from remit.tool import CALL, READ, Arguments, Catalogue, Tool, ask_user, manual, withdraw, write


def make(name, effect=READ, description="X."):
    return Tool.from_schema(name=name, description=description, schema={}, handler=lambda a, ctx: a, effect=effect)


SEARCH = make("search")


def test_a_tool_is_found_by_exactly_its_name():
    catalogue = Catalogue([SEARCH, make("fetch")])
    assert catalogue.get("search") is SEARCH
    assert catalogue.get("Search") is None
    assert catalogue.get("search ") is None
    assert [one.name for one in catalogue] == ["search", "fetch"]
    assert len(catalogue) == 2


def test_a_misspelt_name_has_near_matches():
    catalogue = Catalogue([SEARCH, make("send_email"), make("Refund")])
    assert catalogue.near("serch") == ("search",)
    assert catalogue.near("refund") == ("Refund",)
    assert catalogue.near("zzz") == ()
    assert catalogue.near("x" * 1_000_000) == ()


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(DefinitionError, match="'search'"):
        Catalogue([SEARCH, make("search")])


def test_a_function_that_is_no_tool_is_refused_by_name():
    def helper() -> None: ...

    with pytest.raises(DefinitionError, match="'helper' is not a tool"):
        Catalogue([helper])


def test_once_per_call_needs_a_host_with_stable_calls():
    note = make("note", write(once_per=CALL, recovery=manual))
    Catalogue([note])
    with pytest.raises(DefinitionError, match="'note'"):
        Catalogue([note], stable_calls=False)
    Catalogue([SEARCH, ask_user], stable_calls=False)


def test_the_digest_changes_with_what_is_offered():
    digests = {Catalogue(tools).digest for tools in ([], [SEARCH], [make("search", description="Y.")], [SEARCH, make("b")])}
    assert len(digests) == 4
    assert Catalogue([make("search")]).digest == Catalogue([SEARCH]).digest


def test_the_built_in_tools_are_neither_reads_nor_writes():
    assert ask_user.effect_kind == withdraw.effect_kind == "ask"
    assert isinstance(ask_user.check('{"question":"Which one?","choices":["a","b"]}'), Arguments)
    assert isinstance(ask_user.check('{"question":"Which one?"}'), Arguments)
    assert isinstance(ask_user.check('{"question":""}'), list)
    assert isinstance(withdraw.check('{"operation":"op_1"}'), Arguments)
