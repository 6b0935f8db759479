"""Histories brought in from elsewhere."""

from __future__ import annotations

import pytest

from remit import TRUSTED, Conversation, InputError


def test_a_loaded_history_is_untrusted_unless_stated() -> None:
    loaded = Conversation.load([{"role": "user", "content": "hi"}])
    assert not loaded.label.trusted
    assert loaded.id.startswith("conv_")
    assert Conversation.load([{"role": "user", "content": "hi"}], id="t-1", label=TRUSTED).label.trusted


@pytest.mark.parametrize("messages", [[], "hi", ["hi"]])
def test_what_is_no_history_is_refused(messages: object) -> None:
    with pytest.raises(InputError):
        Conversation.load(messages)  # type: ignore[arg-type]
