"""Changes to a JSON text, one place at a time.

Knows no protocol. Invariant: what is not named stays as it was written, byte for byte.
"""

from __future__ import annotations

import json
import re

from remit.canonical import item_spans, member_spans
from remit.check.value import Page, steps
from remit.types.ident import Json

__all__ = ["insert", "put", "remove", "rename", "written"]

_KEY = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*$')


def written(value: Json) -> str:
    """A new value's text."""
    return json.dumps(value, ensure_ascii=False)


def put(page: Page, place: str, new: str) -> str:
    """The text with another value at a place; a member that is not there is added behind the others."""
    base, _, key = place.rpartition("/")
    try:
        start, end = page.span(place)
    except KeyError:
        start, _ = page.span(base)
        ends = [end for _, end in member_spans(page.text, start).values()]
        end, comma = (max(ends), ", ") if ends else (start + 1, "")
        member = f"{comma}{json.dumps(key.replace('~1', '/').replace('~0', '~'))}: {new}"
        return page.text[:end] + member + page.text[end:]
    return page.text[:start] + new + page.text[end:]


def rename(page: Page, place: str, key: str) -> str:
    """The text with another key for the member at a place."""
    start, _ = page.span(place)
    found = _KEY.search(page.text, _before(page.text, start), start)
    if found is None:
        return page.text
    colon = found[0].rindex('"') + 1
    return page.text[: found.start()] + json.dumps(key) + found[0][colon:] + page.text[start:]


def _before(text: str, start: int) -> int:
    """A place at which the key of the value at `start` begins, or before it."""
    at = text.rindex(":", 0, start)
    at = text.rindex('"', 0, at)
    while True:
        at = text.rindex('"', 0, at)
        slashes = len(text[:at]) - len(text[:at].rstrip("\\"))
        if slashes % 2 == 0:
            return at


def remove(page: Page, place: str) -> str:
    """The text without the item or member at a place, and without one comma."""
    start, end = page.span(place)
    text = page.text
    if not isinstance(steps(place, page.value)[-1], int):
        start = _before(text, start)
    head, tail = text[:start].rstrip(), text[end:].lstrip()
    if head.endswith(","):
        return head[:-1].rstrip() + text[end:]
    return text[:start] + (tail[1:].lstrip() if tail.startswith(",") else text[end:])


def insert(page: Page, array: str, index: int, new: str) -> str:
    """The text with an item more in the array at a place, as the one at `index`."""
    start, _ = page.span(array)
    items = item_spans(page.text, start)
    if not items:
        return page.text[: start + 1] + new + page.text[start + 1 :]
    if index >= len(items):
        end = items[-1][1]
        return page.text[:end] + ", " + new + page.text[end:]
    at = items[index][0]
    return page.text[:at] + new + ", " + page.text[at:]
