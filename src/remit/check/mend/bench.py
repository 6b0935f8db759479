"""A document while it is mended: its text, what it says, and where things go in it.

Invariant: a mend changes one thing and gives a new text; what it does not name stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from remit.check.edit import insert, put, remove, written
from remit.check.read.responses import OUTPUTS
from remit.check.rule.rule import Case
from remit.check.transcript import Call, Item, Result, Transcript
from remit.check.value import Object, Page, listed, load, pointer, string
from remit.types.ident import Json

__all__ = ["Bench", "again"]


class Bench:
    """One document at one moment.

    Args:
        page: the text that is mended.
        transcript: what it says.
        place: of its messages or items.
        base: of the request, empty where the document is it.
    """

    def __init__(self, page: Page, transcript: Transcript, place: str, base: str) -> None:
        self.page = page
        self.case = Case(transcript)
        self.place = place
        self.base = base

    @property
    def form(self) -> str:
        """The protocol."""
        return self.case.form

    @cached_property
    def messages(self) -> list[Object]:
        """The listed messages or items; empty where one is no object."""
        value = self.page.value
        for part in self.place.split("/")[1:]:
            value = value[int(part)] if isinstance(value, list) else value.get(part) if isinstance(value, dict) else None
        return [one if isinstance(one, dict) else {} for one in listed(value)]

    def index(self, item: Item | str) -> int | None:
        """In which of the messages an item stands; None for one of the response."""
        place = item if isinstance(item, str) else item.place
        rest = place.removeprefix(self.place + "/") if place.startswith(self.place + "/") else ""
        head = rest.split("/")[0]
        return int(head) if head.isdigit() else None

    def role(self, index: int) -> str:
        """The role of a message, empty behind the last."""
        return string(self.messages[index], "role") if index < len(self.messages) else ""

    def at(self, index: int) -> str:
        """The place of a message."""
        return pointer(index, base=self.place)

    def cut(self, place: str) -> str:
        """The text at a place."""
        start, end = self.page.span(place)
        return self.page.text[start:end]

    def ids(self) -> Iterator[str]:
        """Every id of a call or a result."""
        for _, item in self.case.items():
            if isinstance(item, (Call, Result)):
                yield item.id

    def fresh(self, wanted: str = "call_1") -> str:
        """An id that nothing has yet."""
        known = {*self.ids()}
        stem = wanted.rstrip("0123456789") or "call_"
        return next(one for number in range(1, len(known) + 2) if (one := f"{stem}{number}") not in known)

    def with_id(self, page: Page, item: Call | Result, one: str) -> str:
        """The text with another id in a call or a result."""
        keys = {"anthropic": ("id", "tool_use_id"), "openai-chat": ("id", "tool_call_id")}
        call, result = keys.get(self.form, ("call_id", "call_id"))
        key = call if isinstance(item, Call) else result
        return put(page, pointer(key, base=item.place), written(one))

    def answered(self, page: Page, call: Call, result: str) -> str:
        """The text with a result in the place where the provider wants that of a call."""
        index = self.index(call) or 0
        if self.form == "anthropic":
            return self._answered_in_turn(page, index, result)
        end = index + 1
        if self.form == "openai-chat":
            while self.role(end) in ("tool", "function"):
                end += 1
        else:
            for kinds in (OUTPUTS.keys(), OUTPUTS.values()):
                while end < len(self.messages) and string(self.messages[end], "type") in kinds:
                    end += 1
        return insert(page, self.place, end, result)

    def _answered_in_turn(self, page: Page, index: int, result: str) -> str:
        """Anthropic: at the head of the next user message, behind the results that are there."""
        end = index + 1
        while self.role(end) == "assistant":
            end += 1
        after = end
        while self.role(after) == "system":
            after += 1
        if self.role(after) != "user":
            return insert(page, self.place, end, f'{{"role": "user", "content": [{result}]}}')
        place = pointer("content", base=self.at(after))
        content = self.messages[after].get("content")
        if not isinstance(content, list):
            text = f', {{"type": "text", "text": {written(content)}}}' if content else ""
            return put(page, place, f"[{result}{text}]")
        head = 0
        while head < len(content) and _is_result(content[head]):
            head += 1
        return insert(page, place, head, result)

    def without(self, page: Page, result: Result) -> str:
        """The text without a result, and without its message where it is alone in it."""
        index = self.index(result) or 0
        content = self.messages[index].get("content")
        alone = not isinstance(content, list) or len(content) == 1
        return remove(page, self.at(index) if self.form != "anthropic" or alone else result.place)

    def moved(self, call: Call, result: Result) -> str:
        """The text with a result moved to where the provider wants it."""
        text = self.cut(result.place)
        if (self.index(result) or 0) > (self.index(call) or 0):
            return self.answered(again(self.without(self.page, result)), call, text)
        return self.without(again(self.answered(self.page, call, text)), result)


def again(text: str) -> Page:
    """A changed text with its value."""
    return Page(text, load(text))


def _is_result(block: Json) -> bool:
    return isinstance(block, dict) and string(block, "type") == "tool_result"
