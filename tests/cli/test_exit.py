"""Every way to end has an exit code, and every exit code is documented."""

from __future__ import annotations

from typing import get_args

import pytest

from remit import errors
from remit.cli import EXIT_CODES
from remit.cli.exit import INTERRUPTED, NOT_VERIFIED, PIPE, UNASKED, UNEXPECTED, USAGE, of_error, of_standing
from remit.errors import RemitError
from remit.types.ident import RunId
from remit.types.run import Escalated, Standing, Submitted


@pytest.mark.parametrize("kind", [*get_args(Standing), Submitted])
def test_every_standing_has_a_documented_code_of_its_own(kind: type) -> None:
    assert of_standing(kind(id=RunId("run_1"))) in EXIT_CODES


def test_standings_that_are_ends_are_told_apart() -> None:
    codes = [of_standing(kind(id=RunId("run_1"))) for kind in get_args(Standing)]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_has_a_documented_code(name: str) -> None:
    kind: type[RemitError] = getattr(errors, name)
    assert of_error(kind("no")) in EXIT_CODES
    assert of_error(kind("no")) != 0


def test_a_foreign_error_is_unexpected_and_the_rest_is_documented() -> None:
    assert of_error(ValueError()) == UNEXPECTED
    assert {0, USAGE, NOT_VERIFIED, INTERRUPTED, PIPE} <= set(EXIT_CODES)


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        *[(f"model.{word}", UNASKED) for word in ("unavailable", "timeout", "rate_limited", "overloaded", "unauthorized")],
        ("model.refused_request", UNASKED),
        *[(f"model.{word}", 5) for word in ("length", "no_calls", "stop_unknown")],
        ("answer.invalid", 5),
    ],
)
def test_an_escalation_because_the_model_could_not_be_asked_has_that_code(reason: str, code: int) -> None:
    assert of_standing(Escalated(id=RunId("run_1"), reason=reason)) == code
