"""The payment with an e-mail: taken back where the e-mail does not go out, and what is not known is named."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from examples.example import EXAMPLES, load
from remit import Escalated, Finished


def test_the_example_runs_as_a_script() -> None:
    command = [sys.executable, "-W", "error", EXAMPLES / "payment_email.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "R-1 is paid, and the receipt is sent." in done.stdout


def test_a_payment_without_its_receipt_is_taken_back_and_a_receipt_that_may_be_out_is_named() -> None:
    example = load("payment_email")
    outside = example.Outside()
    paid, refused, unsure = asyncio.run(example.main(outside))
    assert isinstance(paid, Finished)
    assert paid.verified
    assert isinstance(refused, Escalated)
    assert refused.open_operations == ()
    assert "not taken back" not in str(refused.explanation)
    assert isinstance(unsure, Escalated)
    assert len(unsure.open_operations) == 1
    assert f"'send_receipt#1' ({unsure.open_operations[0]}): may have happened" in str(unsure.explanation)
    assert outside.books == ["paid R-1", "mailed R-1", "paid R-2", "reversed R-2", "paid R-3", "mailed R-3", "reversed R-3"]
