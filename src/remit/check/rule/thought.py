"""Rules about thinking and reasoning: what the model thought goes back as it came, or not at all.

Source: the docstrings of the SDK's thinking blocks and the provider's pages on extended thinking; for Responses the
reported errors. Invariant: pure checks; what was said before is looked up in earlier documents of the same file.
"""

from __future__ import annotations

from collections.abc import Iterator

from remit.check.rule.rule import Case, Found, Rule, found, rule
from remit.check.transcript import Call, Item, Message, Result, Thought
from remit.check.value import Object, member, string

__all__ = ["THOUGHT"]

_BACK = "append the assistant message whole, as it was received"


def _spoken(case: Case) -> Iterator[tuple[Message, Message]]:
    """Messages that go back, each with the response that they were."""
    for message in case.transcript.messages:
        was = [one for call in message.calls if (one := case.memory.heard(call)) is not None]
        if was and not message.received:
            yield message, was[0]


def _thoughts(items: tuple[Item, ...]) -> list[str]:
    return [_mark(one) for one in items if isinstance(one, Thought)]


def _mark(thought: Thought) -> str:
    """What tells a thought from others: its seal, else its id, else its text."""
    raw: Object = thought.raw if isinstance(thought.raw, dict) else {}
    return thought.seal or string(raw, "id") or thought.text


@rule("thought.dropped", "error", "Thinking or reasoning that came with a call does not go back with it")
def _dropped(case: Case) -> Iterator[Found]:
    if case.form == "openai-chat":
        return
    for message, was in _spoken(case):
        kept = {_mark(one) for one in _every(case) if isinstance(one, Thought)}
        if [one for one in _thoughts(was.said) if one not in kept] and not case.transcript.reaches:
            said = "the response thought before this call, and the thought is not here"
            yield found(message.calls[0], said, _BACK)


def _every(case: Case) -> Iterator[Item]:
    yield from (item for _, item in case.items())


@rule("thought.changed", "error", "A thought is not as it came")
def _changed(case: Case) -> Iterator[Found]:
    for message, was in _spoken(case):
        texts = {one.seal: one.text for one in was.said if isinstance(one, Thought) and one.seal}
        for one in message.said:
            if isinstance(one, Thought) and one.seal in texts and texts[one.seal] != one.text:
                yield found(one, "its text is not the one that was signed", _BACK)


@rule("thought.unsigned", "error", "A thinking block has no signature")
def _unsigned(case: Case) -> Iterator[Found]:
    if case.form == "anthropic":
        for message, item in case.items():
            if isinstance(item, Thought) and not item.seal and not message.received:
                yield found(item, "a thought is taken back with its signature only", _BACK)


@rule("thought.order", "error", "Thinking or reasoning stands in another place than it was thought in")
def _moved(case: Case) -> Iterator[Found]:
    for message, was in _spoken(case):
        now = [_named(one) for one in message.said if isinstance(one, (Thought, Call))]
        then = [_named(one) for one in was.said if isinstance(one, (Thought, Call))]
        if [one for one in now if one in then] != [one for one in then if one in now]:
            yield found(message.calls[0], "thoughts and calls stand in another order than they came in", _BACK)
    yield from _last(case) if case.form == "anthropic" else _alone(case) if case.form == "openai-responses" else ()


def _named(item: Thought | Call) -> str:
    return item.id if isinstance(item, Call) else _mark(item)


def _last(case: Case) -> Iterator[Found]:
    """No message ends in a thought; in the older mode one with calls begins with one."""
    sent = [one for one in case.transcript.messages if not one.received]
    said = [one for one in sent if one.role == "assistant"]
    for message in said:
        if isinstance(message.said[-1] if message.said else None, Thought):
            yield found(message.said[-1], "nothing follows this thought", _BACK)
    enabled = string(member(case.transcript.settings, "thinking"), "type") == "enabled"
    if enabled and said and sent[-1].role == "tool" and said[-1].calls and not isinstance(said[-1].said[0], Thought):
        words = "with thinking enabled, a message with calls begins with the thought that led to them"
        yield found(said[-1].said[0], words, _BACK)


def _alone(case: Case) -> Iterator[Found]:
    """A reasoning item stands before the item that it led to."""
    items = [(message, item) for message, item in case.items() if not message.received]
    for index, (_, item) in enumerate(items):
        if isinstance(item, Thought):
            later = next((pair for pair in items[index + 1 :] if not isinstance(pair[1], Thought)), None)
            heard = later is not None and later[0].role in ("user", "system")
            if later is None or heard or isinstance(later[1], Result):
                yield found(item, "the item that it led to does not follow this reasoning", _BACK)


THOUGHT: tuple[Rule, ...] = (_dropped, _changed, _unsigned, _moved)
