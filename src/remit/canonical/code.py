"""A stable name for a function: where it is and what it says, so that a changed one is seen as another.

Knows nothing of what the function does. What it closes over is not part of its name.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable

from remit.canonical.writer import digest

__all__ = ["name_of"]


def name_of(function: Callable[..., object]) -> str:
    """`module:qualified.name@digest`, where the digest covers the source (the bytecode, where there is none)."""
    try:
        return _known(function)
    except TypeError:
        return _name_of(function)


@functools.lru_cache(maxsize=1024)
def _known(function: Callable[..., object]) -> str:
    return _name_of(function)


def _name_of(function: Callable[..., object]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    code = getattr(named, "__code__", None)
    try:
        if code is not None and code.co_filename.startswith("<"):
            raise OSError("what was typed or built has no file, whatever is kept under that name")
        body: str | bytes = textwrap.dedent(inspect.getsource(named))
    except (OSError, TypeError):
        body = code.co_code if code is not None else b""
    place = f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"
    return f"{place}@{digest('remit.code', body)[:16]}"
