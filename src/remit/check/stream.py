"""A stream's events, put together to the response that they are, as a running agent does it.

Knows no rule. Invariant: a stream that did not say that its reply is whole gives no response.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from remit.check.recognize import form_of_chunk
from remit.check.transcript import Form
from remit.check.value import Page, load
from remit.errors import InputError, ProtocolError
from remit.types.ident import Json
from remit.wire import wire_for

__all__ = ["streamed", "text_of_chunks"]


def text_of_chunks(chunks: Sequence[Json]) -> str:
    """Events given as objects or as their texts, as a stream's text."""
    pieces: list[str] = []
    for chunk in chunks:
        data = chunk if isinstance(chunk, str) else json.dumps(chunk, ensure_ascii=False)
        kind = _kind(data)
        pieces.append(f"event: {kind}\ndata: {data}\n\n" if kind else f"data: {data}\n\n")
    return "".join(pieces)


def streamed(text: str, form: Form | None) -> tuple[Form | None, Page | None]:
    """The protocol of a stream's text and the response that it makes: None where it is not known, or makes none."""
    known = form or _form(text)
    if known is None:
        return None, None
    gather = wire_for(known).gather({})
    try:
        gather.feed(text.encode("utf-8", "surrogatepass"))
        body = gather.body().decode()
        return known, Page(body, load(body))
    except (ProtocolError, InputError, UnicodeError):
        return known, None


def _form(text: str) -> Form | None:
    for line in text.splitlines():
        if line.startswith("data:"):
            try:
                value = load(line.removeprefix("data:").strip())
            except InputError:
                continue
            found = form_of_chunk(value) if isinstance(value, dict) else None
            if found is not None:
                return found
    return None


def _kind(data: str) -> str:
    try:
        value = load(data)
    except InputError:
        return ""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) and "\n" not in kind else ""
