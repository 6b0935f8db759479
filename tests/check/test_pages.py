from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from remit.check import MENDS, RULES, SOURCE, check, mend

PAGES = Path(__file__).parents[2] / "docs" / "check"
CODES = [*(one.code for one in RULES), *SOURCE]


def _blocks(code: str) -> tuple[str, str]:
    bad, good = re.findall(r"```json\n(.*?)\n```", (PAGES / f"{code}.md").read_text(encoding="utf-8"), re.DOTALL)
    return _long(bad) if code == "loop.long" else bad, good


def _long(text: str) -> str:
    """The page shows one of the rounds."""
    whole = json.loads(text)
    first, call, result = whole["messages"]
    rounds: list[object] = []
    for number in range(51):
        one = json.loads(json.dumps([call, result]).replace("call_0", f"call_{number}"))
        one[0]["tool_calls"][0]["function"]["arguments"] = json.dumps({"page": number})
        rounds += one
    return json.dumps({"messages": [first, *rounds]})


@pytest.mark.parametrize("code", CODES)
def test_the_bad_example_of_a_page_is_found(code: str) -> None:
    assert code in {one.code for one in check(_blocks(code)[0]).findings}


@pytest.mark.parametrize("code", CODES)
def test_the_good_example_of_a_page_is_clean(code: str) -> None:
    assert check(_blocks(code)[1]).findings == ()


@pytest.mark.parametrize("code", sorted(MENDS))
def test_the_bad_example_of_a_rule_that_can_be_mended_is_mended(code: str) -> None:
    mended = mend(_blocks(code)[0])
    assert code in mended.codes
    assert [one for one in check(mended.text).findings if one.severity == "error"] == []


@pytest.mark.parametrize("code", CODES)
def test_the_good_example_of_a_page_stays_byte_for_byte(code: str) -> None:
    good = _blocks(code)[1]
    assert mend(good).text == good


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == set(CODES)
    assert len(CODES) == len(set(CODES))


def test_the_index_says_of_each_rule_what_the_rule_says() -> None:
    rows = re.findall(r"^\| \[([a-z_.]+)\]\(\1\.md\) \| (\w+) \| (yes)? ?\| (.+) \|$", (PAGES / "README.md").read_text(), re.M)
    said = [(one.code, one.severity, "yes" if one.mended else "", one.title) for one in RULES]
    said += [(code, one[0], "", one[1]) for code, one in SOURCE.items()]
    assert rows == said
    assert {one.code for one in RULES if one.mended} == set(MENDS)
