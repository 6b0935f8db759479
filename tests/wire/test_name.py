"""Names on the wire: what fits stays, what does not is mapped and comes back, whatever the order."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import InputError
from remit.types.model import Declaration, HeadSpec
from remit.wire import wire_for, wire_name
from remit.wire.name import wire_names, wire_names_of

FIT = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MCP = st.text(st.sampled_from("abcXYZ019_.-"), min_size=1, max_size=128)


@given(st.lists(MCP | st.text(min_size=1, max_size=80), unique=True, max_size=12), st.randoms())
def test_names_are_reversible_fit_and_do_not_depend_on_the_order(tools: list[str], random: object) -> None:
    names = wire_names(tools)
    assert sorted(names.values()) == sorted(tools)
    assert len(names) == len(tools)
    assert all(FIT.fullmatch(name) for name in names)
    shuffled = list(tools)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert dict(wire_names(shuffled)) == dict(names)


@given(MCP)
def test_a_name_that_fits_is_itself(tool: str) -> None:
    assert (wire_name(tool) == tool) == bool(FIT.fullmatch(tool))


def test_a_tool_that_takes_anothers_mapped_name_takes_nothing_from_it() -> None:
    thief = wire_name("files.read")
    names = wire_names(["files.read", thief, "files_read"])
    assert names[thief] == thief
    assert sorted(names.values()) == sorted(["files.read", thief, "files_read"])


def test_a_name_with_a_line_end_does_not_pass_for_one_that_fits() -> None:
    assert wire_name("search\n") != "search\n"
    assert FIT.fullmatch(wire_name("search\n"))


@pytest.mark.parametrize("tools", [["a", "a"], ["a", ""]])
def test_equal_and_empty_names_are_refused(tools: list[str]) -> None:
    with pytest.raises(InputError):
        wire_for("anthropic").names(tools)


def test_a_tool_with_the_name_of_a_provider_run_tool_is_refused() -> None:
    spec = HeadSpec(
        model="m",
        instructions="",
        tools=(Declaration(name="web_search", description="", schema={}),),
        max_tokens=1,
        server_tools=({"type": "web_search_20260318", "name": "web_search"},),
    )
    with pytest.raises(InputError, match="web_search"):
        wire_names_of(spec)
