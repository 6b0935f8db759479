"""From one protocol to another: a transcript read in the one and written in the other, with all that was lost on the way.

Invariant: nothing is raised; what both protocols can say is said; everything else is named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from remit.check.convert.ident import Ids
from remit.check.convert.paper import Loss, Losses, Paper, dumped
from remit.check.convert.part import CARRIED, NAMES
from remit.check.convert.setting import settings, tools
from remit.check.convert.write import WRITERS, Desk
from remit.check.pair import pairs_of
from remit.check.source import Document, read
from remit.check.transcript import Call, Form, Item, Message, Opaque, Result, Text, Thought, Transcript
from remit.check.value import Page, listed

__all__ = ["Converted", "Loss", "convert", "neutral"]


@dataclass(frozen=True, slots=True)
class Converted:
    """A document in another protocol.

    Args:
        text: its JSON; the document's own, where it is in that protocol already.
        losses: what could not be carried, in the order of the document.
    """

    text: str
    losses: tuple[Loss, ...]


def convert(document: Document, to: Form, *, line: bool = False) -> Converted | None:
    """Say what a document says in another protocol; None where it holds no transcript.

    A response that was received is written as the last message. Settings that the other protocol does not have, and what
    only the first provider takes back, are losses.

    Args:
        document: of any protocol.
        to: the other protocol.
        line: write it on one line.
    """
    transcript, whole = read(document), document.whole
    if transcript is None or whole is None:
        return None
    if transcript.form == to:
        return Converted(_own(document, line=line), ())
    losses = Losses()
    desk = Desk(to, Ids(pairs_of(transcript), to, losses), losses)
    said = [paper for message in transcript.messages for paper in WRITERS[to](message, desk)]
    gone = {item.place for message in transcript.messages for item in message.said if _is_gone(item)}
    for place, raw in transcript.written:
        if place not in gone:
            losses.members(place, dict(raw), CARRIED["message"], f"{NAMES[to]} has no place for it")
    paper = _whole(transcript, said, losses, to, whole.request_place)
    return Converted(dumped(paper, line=line), tuple(losses.found))


def _own(document: Document, *, line: bool) -> str:
    """A document as it was written; of an array of several, its own part."""
    text = document.text
    if document.place:
        values = listed(document.value)
        text = Page(text, document.value).cut(document.place, values[int(document.place[1:])])
    return text.replace("\r", " ").replace("\n", " ") if line and document.place else text


def _is_gone(item: Item) -> bool:
    """Whether all of an item is one loss."""
    return isinstance(item, (Opaque, Thought)) or (isinstance(item, (Call, Result)) and item.kind == "hosted")


def _whole(transcript: Transcript, said: list[Paper], losses: Losses, to: Form, base: str) -> Paper:
    asked = transcript.asked
    declared = tools(transcript, losses, to)
    head = settings(transcript, losses, to, base, has_tools=bool(declared)) if asked else {}
    for one in transcript.system:
        losses.members(one.place, one.raw, CARRIED["part"], f"{NAMES[to]} has no place for it")
    texts = [one.text for one in transcript.system if one.text]
    system: list[Paper] = [{"role": "system", "content": text} for text in texts]
    listed = {"tools": declared} if declared else {}
    match to:
        case "anthropic":
            blocks: Paper = [{"type": "text", "text": text} for text in texts] if len(texts) > 1 else "".join(texts)
            top = {"system": blocks} if texts else {}
            return {**head, **top, **listed, "messages": said} if asked or texts else said
        case "openai-chat":
            return {**head, **listed, "messages": [*system, *said]} if asked else [*system, *said]
        case "openai-responses":
            return {**head, **listed, "input": [*system, *said]} if asked else [*system, *said]


def neutral(transcript: Transcript) -> Transcript:
    """What a transcript says, for comparing: texts that say nothing are left out, and neighbours of one role are one."""
    messages: list[Message] = []
    for message in transcript.messages:
        said = tuple(_plain(item) for item in message.said if not (isinstance(item, Text) and not item.text))
        if said and messages and messages[-1].role == message.role:
            messages[-1] = replace(messages[-1], said=(*messages[-1].said, *said))
        elif said:
            messages.append(replace(message, said=said))
    kept = tuple(one for one in transcript.system if one.text)
    declared = tuple(
        replace(one, strict=one.strict is True, kind="function" if one.kind == "functions" else one.kind)
        for one in transcript.tools or ()
    )
    return replace(transcript, system=kept, tools=declared, messages=tuple(messages))


def _plain(item: Item) -> Item:
    if isinstance(item, Result):
        return replace(item, said=tuple(one for one in item.said if not (isinstance(one, Text) and not one.text)))
    return item
