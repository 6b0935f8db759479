"""What the how-to pages say that Remit says, it says: word for word where it is a sentence, and by its code where it is one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docs.page import PAGES, ROOT
from remit import (
    READ,
    Agent,
    Conversation,
    DefinitionError,
    InputError,
    Principal,
    RemitError,
    always,
    idempotent,
    manual,
    tool,
    write,
)
from remit.model import need_key, resolve
from remit.testing import RemitTest

HOW_TO = [path for path in PAGES if path.parent.name == "how-to"]
_HEAD = "| Remit says | because |"
_CODE = re.compile(r"[a-z][a-z_]*(?:\.[a-z_]+)*")


def sayings(page: Path) -> Iterator[str]:
    """What stands in backticks in the first column of the tables of what Remit says."""
    text = page.read_text(encoding="utf-8")
    for part in text.split(_HEAD)[1:]:
        for row in part.strip().splitlines()[1:]:
            if not row.startswith("|"):
                break
            yield from re.findall(r"`([^`]+)`", row.split("|")[1])


def codes() -> set[str]:
    """Every text in the source: a code that a page names is one of them."""
    found: set[str] = set()
    for path in (ROOT / "src" / "remit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def order_status(order_id: str) -> str:
    """Read how one order stands."""
    return order_id


def undocumented(order_id: str) -> str:
    return order_id


undocumented.__name__ = "order_status"


def issue_refund(charge_id: str) -> str:
    """Refund one charge."""
    return charge_id


def issue_refund_or_not(charge_id: str | None) -> str:
    """Refund one charge."""
    return str(charge_id)


issue_refund_or_not.__name__ = "issue_refund"


MISTAKES: list[Callable[[], object]] = [
    lambda: tool()(order_status),
    lambda: tool(effect=READ)(undocumented),
    lambda: tool(effect=write(once_per="charge", recovery=manual))(issue_refund),
    lambda: tool(effect=write(once_per="charge_id", recovery=manual))(issue_refund_or_not),
    lambda: tool(effect=write(once_per="charge_id", recovery=manual), approve=always)(issue_refund),  # type: ignore[arg-type]
    lambda: write(recovery=manual),  # type: ignore[call-arg]
    lambda: idempotent(),  # type: ignore[call-arg]
    lambda: Agent("shop", model="claude"),
    lambda: Principal("alice", scopes="billing:refund"),
    lambda: need_key(resolve("anthropic:claude-sonnet-5-5")),
    lambda: Conversation.load([]),
    lambda: RemitTest().run_sync(Agent("support", model="anthropic:x"), "hi", model=["hi"], stubs={"refund": issue_refund}),
]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What Remit says to every mistake."""
    for variable in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    found: set[str] = set()
    for mistake in MISTAKES:
        with pytest.raises((DefinitionError, InputError)) as error:
            mistake()
        assert isinstance(error.value, RemitError)
        found.add(error.value.message)
    return found


@pytest.mark.parametrize("page", [pytest.param(path, id=path.name) for path in HOW_TO])
def test_what_a_page_says_that_remit_says_it_says(page: Path, said: set[str]) -> None:
    every = list(sayings(page))
    assert every, "a how-to page says what can go wrong"
    known = codes()
    wrong = [one for one in every if one not in said and not (_CODE.fullmatch(one) and one in known)]
    assert wrong == []
