"""Calls of the functions that a definition is written with: an unknown or missing argument is named, with its mend.

Knows none of them. Invariant: what is wrong with such a call is a `DefinitionError`, never a bare `TypeError`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from remit.errors import DefinitionError
from remit.types.given import meant

__all__ = ["named"]

P = ParamSpec("P")
T = TypeVar("T")


def named(code: str, **mends: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Refuse calls of the function that do not fit it.

    Args:
        code: of the `DefinitionError`.
        mends: what to write for a required argument that is missing, by its name.
    """

    def wrap(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                problem = _unknown(kwargs, signature) or _missing(signature, args, kwargs, mends) or f": {error}"
                raise DefinitionError(f"{function.__name__}(){problem}", code=code) from None
            return function(*args, **kwargs)

        return checked

    return wrap


def _unknown(given: Iterable[str], signature: inspect.Signature) -> str:
    wrong = [name for name in given if name not in signature.parameters]
    return f" has no option {wrong[0]!r}{meant(wrong[0], signature.parameters)}" if wrong else ""


def _missing(signature: inspect.Signature, args: tuple[object, ...], given: Iterable[str], mends: dict[str, str]) -> str:
    try:
        there = {*signature.bind_partial(*args).arguments, *given}
    except TypeError:  # too many by position: what is needed goes by name
        there = set(given)
    missing = [f"{name}={mend}" for name, mend in mends.items() if name not in there]
    return f" needs {' and '.join(missing)}" if missing else ""
