"""Counted tokens in the two OpenAI protocols: one shape under two pairs of names.

Knows no reply. Invariant: what is written reads back as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from remit.types.budget import Usage
from remit.types.ident import Json
from remit.wire.text import count_of, object_of

__all__ = ["CHAT", "RESPONSES", "read_usage", "written_usage"]

_PLACE = "response.usage"


class _Names(NamedTuple):
    """What the protocol calls the tokens that it was given, and those that it made."""

    given: str
    given_details: str
    made: str
    made_details: str


CHAT = _Names("prompt_tokens", "prompt_tokens_details", "completion_tokens", "completion_tokens_details")
RESPONSES = _Names("input_tokens", "input_tokens_details", "output_tokens", "output_tokens_details")


def read_usage(usage: Mapping[str, Json] | None, names: _Names) -> Usage:
    """Our reading; not reported where there is none, or one of the two counts is missing."""
    if usage is None:
        return Usage(reported=False)
    before, after = object_of(usage, names.given_details, _PLACE), object_of(usage, names.made_details, _PLACE)
    return Usage(
        input_tokens=count_of(usage, names.given, _PLACE),
        cache_read_tokens=count_of(before, "cached_tokens", _PLACE) if before else 0,
        cache_write_tokens=count_of(before, "cache_write_tokens", _PLACE) if before else 0,
        output_tokens=count_of(usage, names.made, _PLACE),
        reasoning_tokens=count_of(after, "reasoning_tokens", _PLACE) if after else 0,
        reported=usage.get(names.given) is not None and usage.get(names.made) is not None,
    )


def written_usage(usage: Usage | None, names: _Names) -> Json:
    """As the provider would count it; without one, a little; of one that is not reported, what there is."""
    spent = usage or Usage(input_tokens=10, output_tokens=5)
    written: dict[str, Json] = {
        names.given: spent.input_tokens,
        names.given_details: {"cached_tokens": spent.cache_read_tokens, "cache_write_tokens": spent.cache_write_tokens},
        names.made: spent.output_tokens,
        names.made_details: {"reasoning_tokens": spent.reasoning_tokens},
        "total_tokens": spent.input_tokens + spent.output_tokens,
    }
    return written if spent.reported else {name: value for name, value in written.items() if value != 0}
