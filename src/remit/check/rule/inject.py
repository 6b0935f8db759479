"""Rules about results that give orders: what is hidden in them, what reads like the system, and calls that followed.

Source: the injection texts of AgentDojo and InjecAgent, and reports of hidden characters. Invariant: pure checks; a
finding is a sign, no proof, and an order that reads like a plain sentence is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.check.rule.rule import Case, Found, Rule, found, named, rule
from remit.check.transcript import Call

__all__ = ["INJECT"]

_HIDDEN = re.compile("[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]|(?:\u200c|\u200d){2}")
_FLAGS = re.compile("\U0001f3f4[\U000e0020-\U000e007f]+")
"""Flags of regions are spelt with the signs that can hide text, and only there are they seen."""

_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all)\b[^.\n]{0,30}"
    r"\b(?:instruction|prompt|message|rule|context)s?"
    r"|\b(?:ignore|disregard)\s+(?:all\s+)?(?:of\s+)?(?:(?:the|your|my|any|these|those)\s+)?(?:previous|prior|above|earlier)\b"
    r"|<\s*/?\s*(?:system|information|instructions?|important|admin)\s*>"
    r"|\[\s*/?\s*(?:system|inst|admin)\s*\]|<\|(?:im_start|system|start_header_id)"
    r"|^\W{0,6}(?:system|developer)\s*(?:prompt|message|override|note)?\s*:"
    r"|\bthis is an important message from\b|\bnew instructions\s*:"
    r"|\b(?:you must|please)\b[^.\n]{0,40}\bbefore (?:you (?:can )?(?:solve|continue|answer)|doing)"
    r"|\bdo not (?:tell|inform|mention)[^.\n]{0,20}\b(?:the )?user\b",
    re.IGNORECASE | re.MULTILINE,
)
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@:/+-]{7,}")
_REACH = 400
"""How far behind its beginning an order is read, in characters."""

_MEND = "mark what tools bring as untrusted, and ask a person before a write that follows it"


@rule("injection.hidden", "warning", "A result has characters that nobody sees")
def _hidden(case: Case) -> Iterator[Found]:
    for result in case.results():
        if _HIDDEN.search(_FLAGS.sub("", result.text).removeprefix("\ufeff")):
            yield found(result, "the result has characters that a person does not see and a model reads", _MEND)


@rule("injection.order", "warning", "A result reads like instructions of the system")
def _orders(case: Case) -> Iterator[Found]:
    for result in case.results():
        if _ORDER.search(result.text) is not None:
            yield found(result, "text in the result speaks to the model like its instructions do", _MEND)


@rule("injection.followed", "warning", "A call does what a result ordered")
def _followed(case: Case) -> Iterator[Found]:
    trusted = "\n".join(text.text for text in case.transcript.system)
    orders: list[str] = []
    for message in case.transcript.messages:
        for call in message.calls:
            if any(_obeys(call, order, trusted) for order in orders):
                said = f"{named(call)} was called with what a result before it ordered, and nobody else asked for"
                yield found(call, said, _MEND)
        orders += [order for result in message.results for order in _near(result.text)]
        if message.role == "user":
            trusted += "\n" + message.text


def _obeys(call: Call, order: str, trusted: str) -> bool:
    """Whether the order names the tool, or words of the arguments that no person said."""
    spoken = trusted.lower()
    named_there = call.name.lower() in order.lower() and call.name.lower() not in spoken
    words = [one for one in _TOKEN.findall(call.arguments) if one.lower() not in spoken]
    return named_there or any(word in order for word in words)


def _near(text: str) -> Iterator[str]:
    """What the orders in a result say; signs of the block of tags are letters that nobody sees."""
    for match in _ORDER.finditer(text):
        yield text[match.start() : match.end() + _REACH]
    plain = _FLAGS.sub("", text) if _HIDDEN.search(text) else ""
    tags = "".join(chr(ord(sign) - 0xE0000) for sign in plain if 0xE0020 <= ord(sign) <= 0xE007E)
    if tags:
        yield tags


INJECT: tuple[Rule, ...] = (_hidden, _orders, _followed)
