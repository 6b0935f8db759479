"""Models: senders of request bodies over HTTP, and scripted ones for tests and demonstrations.

Knows no run. Invariant: bytes in, bytes out; nothing is asked twice below the loop, and importing this part
loads no HTTP client.
"""

from __future__ import annotations

from remit.model.provider import Anthropic, OpenAIChat, OpenAIResponses, need_key, resolve
from remit.model.replay import ReplayModel, Served
from remit.model.scripted import Said, ScriptedCall, ScriptedModel, call, scripted_body
from remit.model.timeouts import Timeouts

__all__ = [
    "Anthropic",
    "OpenAIChat",
    "OpenAIResponses",
    "ReplayModel",
    "Said",
    "ScriptedCall",
    "ScriptedModel",
    "Served",
    "Timeouts",
    "call",
    "need_key",
    "resolve",
    "scripted_body",
]
