"""The refund whose path is known: it is made once, and taken back where the books do not say so."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from examples.example import EXAMPLES, load
from remit import Escalated, Finished


def test_the_example_runs_as_a_script() -> None:
    command = [sys.executable, "-W", "error", EXAMPLES / "refund_flow.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "bob is asked: Refund 2500 cents of order A-12345?" in done.stdout


def test_what_a_person_approved_is_refunded_and_the_books_say_so() -> None:
    example = load("refund_flow")
    service = example.PaymentService()
    ended = asyncio.run(example.main(service))
    assert isinstance(ended, Finished)
    assert ended.verified
    assert service.refunds == {"A-12345": 2_500}


def test_where_the_books_do_not_show_the_refund_it_is_taken_back_and_a_person_told() -> None:
    example = load("refund_flow")
    service = example.PaymentService(loses_refunds=True)
    ended = asyncio.run(example.main(service))
    assert isinstance(ended, Escalated)
    assert ended.reason == "check.not"
    assert "taken back: issue_refund#1" in str(ended.explanation)
    assert service.refunds == {}
