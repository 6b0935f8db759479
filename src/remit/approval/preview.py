"""What a person reads: one sentence, and the arguments with their secrets masked.

Knows no tool and no store. Invariant: a masked value never appears in what is shown, and masking
never changes what is hashed or run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from remit.types.ident import Json
from remit.types.secret import MASK

__all__ = ["default_preview", "mask"]

_LONGEST = 120


def mask(arguments: Mapping[str, Json], secret: Collection[str]) -> dict[str, Json]:
    """The arguments with every parameter in `secret` replaced, at whatever depth a name appears."""
    hidden = frozenset(secret)
    return {name: MASK if name in hidden else _mask_inside(value, hidden) for name, value in arguments.items()}


def _mask_inside(value: Json, hidden: frozenset[str]) -> Json:
    if isinstance(value, dict):
        return mask(value, hidden)
    if isinstance(value, list):
        return [_mask_inside(item, hidden) for item in value]
    return value


def default_preview(tool: str, shown: Mapping[str, Json]) -> str:
    """A sentence that names the tool and what it would be called with; long values are shortened."""
    if not shown:
        return f"Run {tool} without arguments."
    pairs = ", ".join(f"{name} = {_short(value)}" for name, value in shown.items())
    return f"Run {tool} with {pairs}."


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
