"""Masking of secrets in text and in JSON values, by one automaton.

By shape as well as by value, because what leaves for a log or a screen may lose too much; the gate, whose results go
into the record and back to a model, removes declared values only. It does not know where a text comes from.
Invariant: redacting twice is redacting once, whatever the secrets are, because what is masked is never looked at
again and the rest is scanned until nothing is found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from urllib.parse import quote, quote_plus

from remit.trace.engine import Match, Pattern, compiled, escaped
from remit.trace.name import says_secret
from remit.trace.rule import DEFAULT, Rule
from remit.types.ident import Json
from remit.types.secret import MASK, SHORTEST, check_secrets

__all__ = ["MASK", "Redactor"]

_MASK = MASK.encode()
_NOT_HERE = (-1, -1)
_Secret = Callable[[Match, bytes], tuple[int, int] | None]
"""Which part of a match is secret; None: none of it."""


class Redactor:
    """Masks declared secrets, and what looks like a secret by `rules`.

    Compiled at first use; may be shared between threads. Declared secrets are found as they are, as JSON
    escapes them and as a URL does. With any rules the value under a name in the style of `api_key` or `accessToken` is
    masked whole; without, declared secrets alone.

    Args:
        secrets: exact values, of at least 4 characters.
        rules: shapes; `(*DEFAULT, Rule(...))` adds one.

    Raises:
        DefinitionError: a secret is too short to be removed (`secret.short`).
    """

    def __init__(self, secrets: Iterable[str] = (), rules: Sequence[Rule] = DEFAULT) -> None:
        self._secrets = frozenset(secrets)
        check_secrets(self._secrets)
        self._rules = tuple(rules)

    def text(self, text: str) -> str:
        """The text with every secret masked. Lone surrogates, which no log can hold, become question marks.

        Where neither secrets nor rules are given, the text as it is.
        """
        if not self._secrets and not self._rules:
            return text
        data = text.encode("utf-8", "replace")
        while True:
            masked = self._pass(data)
            if masked == data:
                return masked.decode()
            data = masked

    def value(self, value: Json) -> Json:
        """The value with every secret masked: in strings, in keys, and whatever stands under a name that says secret."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return self._members(value)
            case int() | float() if not isinstance(value, bool):
                written = json.dumps(value)
                return value if len(written) < SHORTEST or self.text(written) == written else MASK
            case _:
                return value

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The shapes that are masked."""
        return self._rules

    @cached_property
    def spellings(self) -> frozenset[str]:
        """Every way in which a declared secret may stand in a text."""
        return frozenset(form for secret in self._secrets for form in _spellings(secret))

    def without_declared(self, data: bytes) -> bytes:
        """UTF-8 text with its declared secrets masked, and nothing else."""
        return data if self._declared is None else _outside_masks(self._declared, data, _whole)

    def declared_spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where declared secrets, and masks, are in UTF-8 text, in order."""
        found: list[tuple[int, int]] = []
        at = 0
        for piece in data.split(_MASK):
            if at:
                found.append((at - len(_MASK), at))
            if self._declared is not None:
                found += [(at + begin, at + end) for begin, end in map(_span, self._declared.finditer(piece))]
            at += len(piece) + len(_MASK)
        return found

    def shape_spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where in UTF-8 text that holds no mask something has the shape of a secret, its name included; in order."""
        return list(map(_span, self._shapes.finditer(data)))

    def _members(self, members: Mapping[str, Json]) -> dict[str, Json]:
        masked: dict[str, Json] = {}
        for key, item in members.items():
            name = shown = self.text(key)
            count = 1
            while shown in masked:
                count += 1
                shown = f"{name} {count}"
            hide = bool(self._rules) and says_secret(name) and item is not None and not isinstance(item, bool)
            masked[shown] = MASK if hide else self.value(item)
        return masked

    def _pass(self, data: bytes) -> bytes:
        return _outside_masks(self._shapes, self.without_declared(data), self._secret_of)

    def _secret_of(self, match: Match, data: bytes) -> tuple[int, int] | None:
        start, end = match.span()
        for rule, whole, kept in self._groups:
            if match.span(whole) == _NOT_HERE:
                continue
            if rule.check is not None and not rule.check(data[start:end].decode()):
                return None
            return max([start, *(match.span(group)[1] for group in kept)]), end
        return None

    @cached_property
    def _declared(self) -> Pattern | None:
        if not self._secrets:
            return None
        longest_first = sorted(self.spellings, key=lambda form: (-len(form), form))
        return compiled("|".join(escaped(form) for form in longest_first))

    @cached_property
    def _shapes(self) -> Pattern:
        return compiled("|".join(f"({rule.pattern})" for rule in self._rules) or r"[^\s\S]")

    @cached_property
    def _groups(self) -> tuple[tuple[Rule, int, range], ...]:
        """Each rule with its group in the whole alternation, and the groups of what it keeps."""
        placed: list[tuple[Rule, int, range]] = []
        whole = 1
        for rule in self._rules:
            after = whole + 1 + compiled(rule.pattern).groups
            placed.append((rule, whole, range(whole + 1, after)))
            whole = after
        return tuple(placed)


def _outside_masks(pattern: Pattern, data: bytes, secret_of: _Secret) -> bytes:
    """`data` with what `secret_of` names masked, in each stretch between masks by itself."""
    return _MASK.join([_substitute(pattern, piece, secret_of) for piece in data.split(_MASK)])


def _substitute(pattern: Pattern, data: bytes, secret_of: _Secret) -> bytes:
    kept: list[bytes] = []
    at = 0
    for match in pattern.finditer(data):
        span = secret_of(match, data)
        if span is None or span[0] == span[1]:
            continue
        kept += [data[at : span[0]], _MASK]
        at = span[1]
    if not kept:
        return data
    return b"".join([*kept, data[at:]])


def _whole(match: Match, data: bytes) -> tuple[int, int]:
    del data
    return match.span()


def _span(match: Match) -> tuple[int, int]:
    return match.span()


def _spellings(secret: str) -> set[str]:
    plain = secret.encode("utf-8", "replace").decode()
    escaped = {json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1]}
    return {plain, quote(plain, safe=""), quote(plain), quote_plus(plain)} | escaped
