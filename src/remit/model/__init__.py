"""Models: senders of request bodies over HTTP, and scripted ones for tests and demonstrations.

Knows no run. Invariant: bytes in, bytes out; nothing is asked twice below the loop, and importing this part
loads no HTTP client.
"""

from __future__ import annotations

from remit.model.provider import Anthropic, OpenAIChat, OpenAIResponses, resolve
from remit.model.scripted import ScriptedCall, ScriptedModel, Turn, call
from remit.model.sender import Timeouts

__all__ = [
    "Anthropic",
    "OpenAIChat",
    "OpenAIResponses",
    "ScriptedCall",
    "ScriptedModel",
    "Timeouts",
    "Turn",
    "call",
    "resolve",
]
