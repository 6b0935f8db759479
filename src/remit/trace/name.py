"""Which names say that the value under them is secret."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

__all__ = ["says_secret"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ANYWHERE = frozenset(
    {"password", "passwords", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets", "credential", "credentials"}
    | {"authorization", "cookie", "cookies", "apikey", "cvv", "cvc", "dsn"}
)
_AT_THE_END = frozenset({"token", "jwt", "bearer"})
_KEYS = frozenset(
    {"api", "access", "secret", "private", "signing", "encryption", "account", "shared", "master", "session", "auth"}
)
_PAIRS = frozenset({("connection", "string"), ("session", "id"), ("card", "number")})


@lru_cache(maxsize=4096)
def says_secret(name: str) -> bool:
    """Whether `name` is that of a secret: `password`, `DB_PASSWORD`, `accessToken`, `x-api-key`; not `max_tokens`."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    if words[-1] in _AT_THE_END or not _ANYWHERE.isdisjoint(words):
        return True
    return any(pair in _PAIRS or (pair[1] == "key" and pair[0] in _KEYS) for pair in pairwise(words))
