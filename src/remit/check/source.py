"""A file's text, taken apart to the documents in it: JSON, JSON lines, the chunks of a stream.

Knows no rule. Invariant: whatever the text is, something is said about it and nothing is raised; the text of a
document is kept as it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from remit.check.read import READERS
from remit.check.read.whole import Whole
from remit.check.recognize import form_of_messages, form_of_response, is_message, shape_of
from remit.check.stream import streamed, text_of_chunks
from remit.check.transcript import Form, Transcript
from remit.check.value import Object, Page, load, member, objects, pointer
from remit.errors import InputError
from remit.types.ident import Json

__all__ = ["Document", "documents", "read"]

Layout = Literal["json", "lines", "line", "events"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One transcript in a file.

    Args:
        text: its JSON text. Lines with a message each are one array.
        value: of the text.
        place: of the transcript in the text, where that is an array of several.
        line: the line of the file that it is, from 1; 0 where it is the whole file.
        layout: `json` is a file of one value, `line` one of several in a file, `lines` one message a line, `events` a
            stream as it came.
        what: what it was taken for: `request`, `messages`, `exchange`, `response`, `stream`, or `nothing` known.
        form: the protocol, None where nothing is known.
        whole: its parts.
        fault: why it could not be read: `source.not_json`, `source.unknown`, `source.stream`; empty where it could.
    """

    text: str
    value: Json
    place: str = ""
    line: int = 0
    layout: Layout = "json"
    what: str = "nothing"
    form: Form | None = None
    whole: Whole | None = None
    fault: str = ""

    @property
    def name(self) -> str:
        """The form and what it is, for people."""
        return f"{self.form} {self.what}" if self.form else self.what


def documents(text: str, *, form: Form | None = None) -> list[Document]:
    """The documents in a file.

    Args:
        text: of the file.
        form: the protocol, where it is known; else it is recognized.
    """
    body = text.removeprefix("\ufeff")
    try:
        value = load(body)
    except InputError:
        return _of_lines(body, form)
    return _of_value(body, value, form)


def read(document: Document) -> Transcript | None:
    """The transcript of a document, None where there is none in it."""
    if document.whole is None or document.form is None:
        return None
    return READERS[document.form](document.whole)


def _of_lines(text: str, form: Form | None) -> list[Document]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if any(line.startswith(("data:", "event:")) for _, line in lines[:3]):
        return [_stream(text, None, text, form, layout="events")]
    values: list[tuple[int, str, Json]] = []
    broken: list[Document] = []
    for number, line in lines:
        try:
            values.append((number, line, load(line)))
        except InputError:
            broken.append(Document(text=line, value=None, line=number, layout="line", fault="source.not_json"))
    if not values or len(lines) < 2:
        return [Document(text=text, value=None, fault="source.not_json")]
    every: list[Json] = [value for _, _, value in values]
    if not broken and _chunks(every):
        return [_stream(text, None, text_of_chunks(every), form, layout="events")]
    if not broken and all(isinstance(one, dict) and shape_of(one) == "message" for one in every):
        joined = "[" + ",\n".join(line for _, line, _ in values) + "]"
        return [_listed(Document(text=joined, value=every, layout="lines"), every, form)]
    found = [replace(one, line=number, layout="line") for number, line, value in values for one in _of_value(line, value, form)]
    return sorted([*found, *broken], key=lambda one: one.line)


def _of_value(text: str, value: Json, form: Form | None) -> list[Document]:
    if isinstance(value, dict):
        return [_of_object(text, value, value, "", form)]
    if value == [] and form is not None:
        return [_listed(Document(text=text, value=value), value, form)]
    if isinstance(value, list) and value:
        if _chunks(value):
            return [_stream(text, value, text_of_chunks(value), form)]
        if all(is_message(one) for one in value):
            return [_listed(Document(text=text, value=value), value, form)]
        if all(isinstance(one, dict) and shape_of(one) != "unknown" for one in value):
            return [_of_object(text, value, one, pointer(index), form) for index, one in objects(value)]
    return [Document(text=text, value=value, fault="source.unknown")]


def _of_object(text: str, value: Json, inner: Object, base: str, form: Form | None) -> Document:
    document = Document(text=text, value=value, place=base)
    page = Page(text, value)
    match shape_of(inner):
        case "request":
            whole = _request(page, inner, base)
            known = form or form_of_messages(whole.messages, inner)
            return replace(document, what="request", form=known, whole=whole)
        case "messages":
            messages, place = inner.get("messages"), pointer("messages", base=base)
            known = form or form_of_messages(messages)
            return replace(document, what="messages", form=known, whole=Whole(page=page, messages=messages, place=place))
        case "exchange":
            return _exchange(document, page, inner, base, form)
        case "response":
            known = form or form_of_response(inner)
            whole = Whole(page=page, response=inner, response_place=base)
            return replace(document, what="response", form=known, whole=whole)
        case "message":
            return _listed(document, [dict(inner)], form, single=True)
        case "chunk":
            return _stream(text, value, text_of_chunks([dict(inner)]), form)
        case "unknown":
            return replace(document, fault="source.unknown")


def _request(page: Page, inner: Object, base: str) -> Whole:
    key = "messages" if "messages" in inner else "input"
    place = pointer(key, base=base)
    return Whole(page=page, request=inner, request_place=base, messages=inner.get(key), place=place)


def _listed(document: Document, messages: Json, form: Form | None, *, single: bool = False) -> Document:
    """One message alone has no array around it, so its places cannot be told from its text."""
    known = form or form_of_messages(messages)
    page = Page("" if single else document.text, messages)
    return replace(document, what="messages", form=known, whole=Whole(page=page, messages=messages))


def _exchange(document: Document, page: Page, inner: Object, base: str, form: Form | None) -> Document:
    request, response = member(inner, "request"), inner.get("response")
    whole = _request(page, request, pointer("request", base=base)) if request else Whole(page=page)
    place = pointer("response", base=base)
    known = form or (form_of_messages(whole.messages, request) if request else None)
    if isinstance(response, dict):
        said = form_of_response(response)
        known = form or (said if said is not None else known)
        if said is not None and said == known:
            whole = replace(whole, response=response, response_place=place)
    elif isinstance(response, (str, list)) and response:
        chunks = response if isinstance(response, str) else text_of_chunks(response)
        form_said, body = streamed(chunks, form)
        if body is None:
            known = known or form_said
            fault = "source.unknown" if form_said is None else "source.stream"
            return replace(document, what="exchange", form=known, whole=whole if request else None, fault=fault)
        known = known or form_said
        if form_said == known:
            whole = replace(whole, response=_object(body), response_place=place, response_page=body)
    if known is None:
        return replace(document, fault="source.unknown")
    what = "exchange" if request else "response"
    return replace(document, what=what, form=known, whole=whole)


def _stream(text: str, value: Json, chunks: str, form: Form | None, *, layout: Layout = "json") -> Document:
    document = Document(text=text, value=value, layout=layout, what="stream")
    known, body = streamed(chunks, form)
    if body is None:
        return replace(document, form=known, fault="source.unknown" if known is None else "source.stream")
    whole = Whole(page=body, response=_object(body), response_page=body)
    return replace(document, form=known, whole=whole)


def _object(page: Page) -> Object:
    return page.value if isinstance(page.value, dict) else {}


def _chunks(values: Sequence[Json]) -> bool:
    """Whether all of them are a stream's events, as objects or as text."""
    return all(_is_chunk(one) for one in values)


def _is_chunk(value: Json) -> bool:
    if isinstance(value, str):
        try:
            value = load(value)
        except InputError:
            return value == "[DONE]"
    return isinstance(value, dict) and shape_of(value) == "chunk"
