"""Step 8, redact: declared secrets leave a result before it is recorded or shown, and long results are shortened.

Exact values only, because what is recorded and goes back to a model must not be changed by a guess; what looks
like a secret is masked by `trace`, on the way out of the record. Knows no store. Invariant: no string that
was declared secret is in what this returns, whether in a value, a key, an error text or an attachment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from remit.types.ident import Json
from remit.types.outcome import FieldError
from remit.types.secret import MASK, check_secrets

__all__ = ["Redaction"]


class Redaction:
    """Removes declared secret strings, exactly.

    Args:
        secrets: at least four characters each, see `check_secrets`.

    Raises:
        DefinitionError: one is shorter (`secret.short`).
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted(set(secrets), key=lambda one: (-len(one), one))
        check_secrets(known)
        self._known = known
        self._pattern = re.compile("|".join(map(re.escape, known))) if known else None

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def fields(self, fields: Iterable[FieldError]) -> tuple[FieldError, ...]:
        """What is wrong with arguments, without secrets."""
        return tuple(FieldError(self.text(one.path), self.text(one.message)) for one in fields)

    def data(self, data: bytes) -> bytes:
        """Bytes without secrets, where they hold one as UTF-8."""
        for one in self._known:
            data = data.replace(one.encode("utf-8", "surrogatepass"), MASK.encode())
        return data

    def value(self, value: Json) -> Json:
        """A JSON value without secrets, keys included. Two keys that become equal both stay."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return self._members(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and self._pattern.search(repr(value)):
            return MASK
        return value

    def _members(self, value: dict[str, Json]) -> Json:
        clean: dict[str, Json] = {}
        for key, item in value.items():
            name = self.text(key)
            while name in clean:
                name += "'"
            clean[name] = self.value(item)
        return clean
