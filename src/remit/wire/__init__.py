"""Wires: the three providers' protocols as pure text.

Knows no socket, clock or randomness. Invariant: what a provider wrote goes back as it wrote it, but for
the closed list of mends, each of which is recorded.
"""

from __future__ import annotations

from remit.types.model import ProtocolName, Wire
from remit.wire.anthropic import AnthropicWire
from remit.wire.name import wire_name
from remit.wire.openai_chat import OpenAIChatWire
from remit.wire.openai_responses import OpenAIResponsesWire
from remit.wire.render import render

__all__ = ["render", "wire_for", "wire_name"]

_WIRES: dict[ProtocolName, Wire] = {
    "anthropic": AnthropicWire(),
    "openai-chat": OpenAIChatWire(),
    "openai-responses": OpenAIResponsesWire(),
}


def wire_for(protocol: ProtocolName) -> Wire:
    """The wire of a protocol: one object for all, it has no state."""
    return _WIRES[protocol]
