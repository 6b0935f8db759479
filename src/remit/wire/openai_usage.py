"""Counted tokens in the two OpenAI protocols: one shape under two pairs of names.

Knows no reply. Invariant: what is written reads back as it was.
"""

from __future__ import annotations

from remit.types.budget import Usage
from remit.types.ident import Json
from remit.wire.text import Node

__all__ = ["CHAT", "RESPONSES", "read_usage", "written_usage"]

CHAT = ("prompt", "completion")
RESPONSES = ("input", "output")
"""What the protocol calls the tokens that it was given, and those that it made."""


def read_usage(usage: Node | None, names: tuple[str, str]) -> Usage:
    """Our reading; nothing where there is none."""
    if usage is None:
        return Usage()
    given, made = names
    before, after = usage.child(f"{given}_tokens_details"), usage.child(f"{made}_tokens_details")
    return Usage(
        input_tokens=usage.count(f"{given}_tokens"),
        cache_read_tokens=before.count("cached_tokens") if before else 0,
        cache_write_tokens=before.count("cache_write_tokens") if before else 0,
        output_tokens=usage.count(f"{made}_tokens"),
        reasoning_tokens=after.count("reasoning_tokens") if after else 0,
    )


def written_usage(usage: Usage | None, names: tuple[str, str]) -> Json:
    """As the provider would count it; without one, a little."""
    spent = usage or Usage(input_tokens=10, output_tokens=5)
    given, made = names
    return {
        f"{given}_tokens": spent.input_tokens,
        f"{given}_tokens_details": {"cached_tokens": spent.cache_read_tokens, "cache_write_tokens": spent.cache_write_tokens},
        f"{made}_tokens": spent.output_tokens,
        f"{made}_tokens_details": {"reasoning_tokens": spent.reasoning_tokens},
        "total_tokens": spent.input_tokens + spent.output_tokens,
    }
