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


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_called_one_and_asks_for_the_base_url(status: int) -> None:
    error = refused(status, {"location": "https://elsewhere.example"}, b"")
    assert (error.code, error.retryable) == ("model.refused_request", False)
    assert "redirect" in error.message
    assert "base URL" in error.message
    assert "elsewhere" not in f"{error.message}{error.details}"


@pytest.mark.parametrize("status", [201, 202, 204, 206, 300, 304])
def test_another_success_is_no_reply(status: int) -> None:
    error = refused(status, {}, b"")
    assert (error.code, error.retryable) == ("model.refused_request", False)
    assert "not a reply" in error.message
    assert "redirect" not in error.message
