"""The plain loop refunds as often as it is asked, and the books, not the demo, say so."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from remit.demo import plain
from remit.demo.model import FINAL, REQUEST, SCRIPT, served
from remit.demo.shop import Shop
from remit.demo.way import WAYS, Way, billing, refunds


@pytest.mark.parametrize("way", [pytest.param(way, id=way.name) for way in WAYS])
def test_a_plain_loop_refunds_twice(way: Way, tmp_path: Path) -> None:
    assert refunds(way, "plain", tmp_path) == 2


def test_a_plain_loop_that_nothing_disturbs_refunds_once_and_answers(tmp_path: Path) -> None:
    with billing(tmp_path / "books.db") as service, served(SCRIPT["once"]) as model:
        assert plain.loop(model, service, REQUEST) == FINAL
        assert [one["amount_cents"] for one in Shop(service).refunds("ch_2")] == [4200]


def test_a_refund_is_in_the_books_before_its_reply_is_lost(tmp_path: Path) -> None:
    with billing(tmp_path / "books.db", "cut") as service:
        shop = Shop(service)
        with pytest.raises(OSError, match="closed connection"):
            shop.issue_refund("ch_2", 4200, "op_1")
        assert [one["reference"] for one in shop.refunds("ch_2")] == ["op_1"]
        shop.issue_refund("ch_2", 4200, "op_1")
        assert len(shop.refunds("ch_2")) == 2


def test_the_plain_loop_is_about_forty_lines() -> None:
    tree = ast.parse(inspect.getsource(plain))
    code = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.Assign) and "__all__" not in ast.unparse(node)]
    lines = sum((node.end_lineno or 0) - node.lineno + 1 for node in code)
    assert 25 <= lines <= 45
