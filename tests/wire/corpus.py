"""Real traffic, and the spellings in which a provider may write the same JSON."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pydantic

ROOT = os.environ.get("REMIT_CORPUS")
WHY = "REMIT_CORPUS does not name a folder with recorded traffic"

Spell = Callable[[Any], str]
SPELLINGS: dict[str, Spell] = {
    "compact": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    "indented": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
    "escaped": lambda value: json.dumps(value, ensure_ascii=True).replace("/", "\\/"),
}


def traffic(*files: str) -> Iterator[dict[str, Any]]:
    """Recorded request and response pairs that were not streamed."""
    assert ROOT
    for file in files:
        for line in (Path(ROOT) / "traffic" / f"{file}.jsonl").read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if not entry["stream"] and isinstance(entry["response"], dict):
                yield entry


def spelled(members: dict[str, Any], spell: Spell, **raw: str) -> bytes:
    """An object in a spelling, with some members' text given."""
    pieces = [f"{json.dumps(key)} : {raw[key] if key in raw else spell(value)}" for key, value in members.items()]
    return ("{\n" + " ,\n".join(pieces) + "\n}").encode()


def accept(kind: Any, value: Any) -> None:
    """Validate `value` by an SDK's own request type, lazy parts included."""
    _exhaust(_adapter(kind).validate_python(value))


@functools.cache
def _adapter(kind: Any) -> pydantic.TypeAdapter[Any]:
    return pydantic.TypeAdapter(kind)


def _exhaust(value: Any) -> None:
    if isinstance(value, dict):
        for one in value.values():
            _exhaust(one)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for one in value:
            _exhaust(one)


def no_mint(position: int) -> str:
    raise AssertionError(f"call {position} needed no new id")


def mint(position: int) -> str:
    return f"minted_{position}"
