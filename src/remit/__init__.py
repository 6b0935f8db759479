"""Remit decides whether a tool call that a language model proposes happens, how, and at most how often; and proves it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

# fmt: off
# isort: off
if TYPE_CHECKING:
    from remit import ambient
    from remit.agent import Agent, Conversation, server_tool
    from remit.errors import BudgetExceeded, Conflict, DefinitionError, Denied, InputError, LedgerError, ModelError, NotFound
    from remit.errors import ProtocolError, RemitError, RunOwned
    from remit.ledger import MemoryLedger, PostgresLedger, SqliteLedger
    from remit.model import ScriptedModel, call
    from remit.owner import Remit, sse
    from remit.policy import Allow, Ask, Deny, Request
    from remit.tool import CALL, CANNOT_TELL, CONVERSATION, DID_NOT, READ, RUN, Arguments, Catalogue, Concurrency, Context
    from remit.tool import Happened, InDoubt, NoEffect, Rate, Tool, always, ask_user, idempotent, key, manual, never, reconcile
    from remit.tool import tool, transactional, when, withdraw, write
    from remit.types.approval import Approval
    from remit.types.budget import Budget, Usage
    from remit.types.event import Recorded
    from remit.types.head import Heads
    from remit.types.label import TRUSTED, UNTRUSTED, Label
    from remit.types.outcome import Awaiting, Failed, NotRun, Outcome, Refused, Succeeded, Unknown
    from remit.types.part import File, Image, Text, untrusted
    from remit.types.principal import Principal
    from remit.types.run import Cancelled, Escalated, Finished, ModelRefused, Paused, Standing, Stopped, Submitted
    from remit.types.stream import Delta, Retracted, Step
    from remit.workflow import Flow, StepFailed, undo, workflow
# isort: on

_HOME = {
    "agent": "Conversation server_tool",
    "ambient": "ambient",
    "errors": "BudgetExceeded Conflict DefinitionError Denied InputError LedgerError ModelError NotFound "
    "ProtocolError RemitError RunOwned",
    "ledger": "MemoryLedger PostgresLedger SqliteLedger",
    "model": "ScriptedModel call",
    "owner": "Agent Remit sse",
    "policy": "Allow Ask Deny Request",
    "tool": "CALL CANNOT_TELL CONVERSATION DID_NOT READ RUN Arguments Catalogue Concurrency Context Happened "
    "InDoubt NoEffect Rate Tool always ask_user idempotent key manual never reconcile tool transactional when withdraw "
    "write",
    "types.approval": "Approval",
    "types.budget": "Budget Usage",
    "types.event": "Recorded",
    "types.head": "Heads",
    "types.label": "TRUSTED UNTRUSTED Label",
    "types.outcome": "Awaiting Failed NotRun Outcome Refused Succeeded Unknown",
    "types.part": "File Image Text untrusted",
    "types.principal": "Principal",
    "types.run": "Cancelled Escalated Finished ModelRefused Paused Standing Stopped Submitted",
    "types.stream": "Delta Retracted Step",
    "workflow": "Flow StepFailed undo workflow",
}
_PART = {name: part for part, names in _HOME.items() for name in names.split()}

__all__ = [
    "Agent", "Allow", "Approval", "Arguments", "Ask", "Awaiting", "Budget", "BudgetExceeded", "CALL", "CANNOT_TELL",
    "CONVERSATION", "Cancelled", "Catalogue", "Concurrency", "Conflict", "Context", "Conversation", "DID_NOT",
    "DefinitionError", "Delta", "Denied", "Deny", "Escalated", "Failed", "File", "Finished", "Flow", "Happened", "Heads",
    "Image", "InDoubt", "InputError", "Label", "LedgerError", "MemoryLedger", "ModelError", "ModelRefused", "NoEffect",
    "NotFound", "NotRun", "Outcome", "Paused", "PostgresLedger", "Principal", "ProtocolError", "READ", "RUN", "Rate",
    "Recorded", "Refused", "Remit", "RemitError", "Request", "Retracted", "RunOwned", "ScriptedModel", "SqliteLedger",
    "Standing", "Step", "StepFailed", "Stopped", "Submitted", "Succeeded", "TRUSTED", "Text", "Tool", "UNTRUSTED",
    "Unknown", "Usage", "always", "ambient", "ask_user", "call", "idempotent", "key", "manual", "never", "reconcile",
    "server_tool", "sse", "tool", "transactional", "undo", "untrusted", "when", "withdraw", "workflow", "write",
]
# fmt: on


class _Package(ModuleType):
    """`remit.tool` and `remit.workflow` are the decorators, also after the parts of these names were loaded."""

    def __setattr__(self, name: str, value: object) -> None:
        decorates = name in ("tool", "workflow") and isinstance(value, ModuleType)
        super().__setattr__(name, getattr(value, name) if decorates else value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    """Load a name when it is first asked for: `import remit` itself loads no other part."""
    part = _PART.get(name)
    if part is None:
        raise AttributeError(f"module 'remit' has no attribute {name!r}")
    module = import_module(f"remit.{part}")
    value = getattr(module, name, module)
    globals()[name] = value
    return value
