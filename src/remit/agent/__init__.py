"""Agents and conversations: descriptions, checked when they are written."""

from __future__ import annotations

from remit.agent.agent import DATA_SENTENCE, Agent, Done, Instructions
from remit.agent.answer import AnswerType
from remit.agent.conversation import Conversation
from remit.agent.server_tool import ServerTool, server_tool
from remit.agent.sync import install

__all__ = [
    "DATA_SENTENCE",
    "Agent",
    "AnswerType",
    "Conversation",
    "Done",
    "Instructions",
    "ServerTool",
    "install",
    "server_tool",
]
