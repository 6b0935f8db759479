"""Tools: from a function or a schema to a checked, keyed, callable capability with a declared effect.

Pure but for the handlers it carries; knows no run, store, policy or provider. pydantic is loaded
when a typed tool is defined, the built-in tools when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.tool.approve import ApprovalRule, always, never, when
from remit.tool.arguments import Arguments, Context
from remit.tool.catalogue import Catalogue
from remit.tool.contract import Tool
from remit.tool.decorator import tool
from remit.tool.effect import (
    CALL,
    CANNOT_TELL,
    CONVERSATION,
    DID_NOT,
    READ,
    RUN,
    Effect,
    Happened,
    NoEffect,
    Reconciler,
    Recovery,
    Sameness,
    Told,
    idempotent,
    key,
    manual,
    reconcile,
    write,
)
from remit.tool.option import Audience, Concurrency, Options, Rate
from remit.tool.result import to_result

if TYPE_CHECKING:
    from remit.tool.builtin import ask_user, withdraw

__all__ = [
    "CALL",
    "CANNOT_TELL",
    "CONVERSATION",
    "DID_NOT",
    "READ",
    "RUN",
    "ApprovalRule",
    "Arguments",
    "Audience",
    "Catalogue",
    "Concurrency",
    "Context",
    "Effect",
    "Happened",
    "NoEffect",
    "Options",
    "Rate",
    "Reconciler",
    "Recovery",
    "Sameness",
    "Told",
    "Tool",
    "always",
    "ask_user",
    "idempotent",
    "key",
    "manual",
    "never",
    "reconcile",
    "to_result",
    "tool",
    "when",
    "withdraw",
    "write",
]


def __getattr__(name: str) -> object:
    if name in ("ask_user", "withdraw"):
        from remit.tool import builtin

        return getattr(builtin, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
