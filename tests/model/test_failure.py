"""What a provider's refusal is told as."""

from __future__ import annotations

import pytest

from remit.model.failure import refused


@pytest.mark.parametrize("status", [404, 405])
def test_an_address_where_nothing_answers_is_hinted_at(status: int) -> None:
    error = refused(status, {}, b"<html>no such path</html>")
    assert error.code == "model.refused_request"
    assert "base URL" in error.message
    assert "/v1" in error.message


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b'{"error": {"type": "not_found_error", "message": "model: x"}}', "not_found_error"),
        (b'{"error": {"type": "invalid_request_error", "code": "model_not_found", "message": "x"}}', "model_not_found"),
    ],
)
def test_a_model_that_the_provider_does_not_know_is_no_wrong_address(body: bytes, word: str) -> None:
    error = refused(404, {}, body)
    assert (error.code, error.retryable) == ("model.not_found", False)
    assert "base URL" not in error.message
    assert error.details["reason"] == word
