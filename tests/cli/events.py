"""Strategies of events in which every free text is one given marker, made from the types of the events alone."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Literal, NewType, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from remit.types.event import Event, Recorded
from remit.types.ident import Digest, Json, RunId, Wording

__all__ = ["recorded"]

NAMES = {
    "agent", "model", "protocol", "tenant", "subject", "scopes", "request_id", "by", "author", "media_type", "blob", "digest",
    "wire_id", "wire_name", "models", "fallbacks", "server_writes",
}  # fmt: skip
"""Fields of type str that the application or the ledger names, or that are digests."""

DECLARED = {("ToolRecorded", "name")}
PROVIDERS = {("Replied", "model"), ("Replied", "response_id")}


def recorded(marker: str) -> st.SearchStrategy[Recorded]:
    """Any event in its place; what people, models, tools and providers write is `marker`."""
    events = st.one_of([_dataclass(kind, marker) for kind in get_args(Event)])
    return st.builds(Recorded, st.just(RunId("run_1")), st.integers(1, 99), st.integers(0, 2**41), events)


def _dataclass(kind: type, marker: str) -> st.SearchStrategy[object]:
    hints = get_type_hints(kind, None, {"Json": Json})
    fields = {field.name: _field(kind, field.name, hints[field.name], marker) for field in dataclasses.fields(kind)}
    return st.fixed_dictionaries(fields).map(lambda values: kind(**values))


def _field(kind: type, name: str, hint: object, marker: str) -> st.SearchStrategy[object]:
    if (kind.__name__, name) in DECLARED or (name in NAMES and (kind.__name__, name) not in PROVIDERS):
        return _any(hint, "id_1")
    return _any(hint, marker)


def _any(hint: object, marker: str) -> st.SearchStrategy[object]:
    if hint is Wording:
        return st.just(f'{{"role": "user", "content": "{marker}"}}')
    if hint is Digest:
        return st.just("ab" * 32)
    if isinstance(hint, NewType):
        return st.just("id_1")
    if hint is str:
        return st.just(marker) | st.just(f'{{"{marker}": "{marker}"}}')
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (list, dict):
        return st.just(origin({marker: [marker, 1]}))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of([_any(one, marker) for one in arguments])
    if origin in (tuple, frozenset):
        return st.lists(_any(arguments[0], marker), max_size=2).map(origin)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _dataclass(hint, marker)
    simple: Mapping[object, st.SearchStrategy[object]] = {
        int: st.integers(0, 9),
        float: st.floats(0, 9),
        bool: st.booleans(),
        types.NoneType: st.none(),
    }
    return simple[typing.cast(type, hint)]
