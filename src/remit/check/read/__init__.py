"""From a document's value to a transcript: one reader for each protocol.

Invariant: whatever the value is, reading it raises nothing; what is not understood is kept as `Opaque`.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.check.read.anthropic import read_anthropic
from remit.check.read.chat import read_chat
from remit.check.read.responses import read_responses
from remit.check.read.whole import Reader
from remit.check.transcript import Form

__all__ = ["READERS"]

READERS: Mapping[Form, Reader] = {
    "anthropic": read_anthropic,
    "openai-chat": read_chat,
    "openai-responses": read_responses,
}
"""The reader of each protocol."""
