"""No text of a stranger can move a terminal's cursor, hide a line or colour one."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.cli.text import clean, compact, dollars, short, span
from remit.types.ident import Json

ANY = st.text(st.characters(exclude_categories=[]) | st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp"]))
INNER = st.none() | st.booleans() | st.integers() | ANY
JSON = st.recursive(INNER, lambda inner: st.lists(inner) | st.dictionaries(ANY, inner))


@given(ANY)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    left = {letter for letter in clean(text) if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert left <= {"\n", "\t", "\u200c", "\u200d"}


@given(JSON)
def test_a_value_is_one_line(value: Json) -> None:
    assert len(compact(value).splitlines()) == 1


@given(ANY, st.integers(1, 40))
def test_a_short_text_is_one_line_of_that_length_at_most(text: str, length: int) -> None:
    assert len(short(text, length)) <= length
    assert len(short(text, length).splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b[2Jx", "\\x1b[2Jx"),
        ("a\rb", "a\\rb"),
        ("refund \u202e00.1", "refund \\u202e00.1"),
        ("\x9b31m", "\\x9b31m"),
        ("\ud800", "\\ud800"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("grüße\n\t你好 👩\u200d🚀", "grüße\n\t你好 👩\u200d🚀"),
    ],
)
def test_controls_become_escapes_and_words_stay(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_durations_and_prices_are_said_as_people_say_them() -> None:
    assert (span(12), span(2_400)) == ("12 ms", "2.4 s")
    assert (dollars(None), dollars(12_345)) == ("unknown", "$0.0123")
