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
    InDoubt,
    NoEffect,
    Reconciler,
    Recovery,
    Sameness,
    Told,
    idempotent,
    key,
    manual,
    reconcile,
    transactional,
    write,
)
from remit.tool.option import Audience, Concurrency, Options, Rate
from remit.tool.result import to_result
from remit.tool.trail import Trail
from remit.tool.web import Answer, Declared, Declined, Doubtful, How, ReadFailed, SyncWeb, Verdict, Web, Webs

if TYPE_CHECKING:
    from remit.tool.builtin import ask_user, withdraw

__all__ = [
    "CALL",
    "CANNOT_TELL",
    "CONVERSATION",
    "DID_NOT",
    "READ",
    "RUN",
    "Answer",
    "ApprovalRule",
    "Arguments",
    "Audience",
    "Catalogue",
    "Concurrency",
    "Context",
    "Declared",
    "Declined",
    "Doubtful",
    "Effect",
    "Happened",
    "How",
    "InDoubt",
    "NoEffect",
    "Options",
    "Rate",
    "ReadFailed",
    "Reconciler",
    "Recovery",
    "Sameness",
    "SyncWeb",
    "Told",
    "Tool",
    "Trail",
    "Verdict",
    "Web",
    "Webs",
    "always",
    "ask_user",
    "idempotent",
    "key",
    "manual",
    "never",
    "reconcile",
    "to_result",
    "tool",
    "transactional",
    "when",
    "withdraw",
    "write",
]


def __getattr__(name: str) -> object:
    if name in ("ask_user", "withdraw"):
        from remit.tool import builtin

        return getattr(builtin, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
