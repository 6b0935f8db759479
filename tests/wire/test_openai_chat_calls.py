"""Whatever habits a server has, a call that can run is one that the model made."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from remit.errors import ProtocolError
from wire.streams import events, gathered, read

ARGUMENTS = st.sampled_from(["", "{}", '{"x":1}', '{"x":2,"y":[3]}', '{"z":{"a":"}{"}}'])
CALLS = st.lists(st.tuples(st.sampled_from(["f", "g", "send"]), ARGUMENTS), min_size=1, max_size=4)
HABITS = st.fixed_dictionaries(
    {
        "index": st.sampled_from(["own", "zero", "none"]),
        "id": st.sampled_from(["first", "every", "never", "second", "empty"]),
        "name": st.sampled_from(["first", "every", "second"]),
        "size": st.integers(1, 20),
        "head": st.booleans(),
        "mixed": st.booleans(),
        "together": st.booleans(),
    }
)


def fragments(place: int, name: str, arguments: str, habits: dict[str, Any]) -> list[dict[str, Any]]:
    """One call as a server with these habits sends it."""
    size = habits["size"]
    texts = [arguments[at : at + size] for at in range(0, len(arguments), size)] or [""]
    texts = ["", *texts] if habits["head"] else texts
    made: list[dict[str, Any]] = []
    for turn, text in enumerate(texts):
        function: dict[str, Any] = {"arguments": text}
        fragment: dict[str, Any] = {"type": "function", "function": function}
        if habits["index"] != "none":
            fragment["index"] = place if habits["index"] == "own" else 0
        if habits["id"] == "every" or (habits["id"], turn) in (("first", 0), ("second", 1)):
            fragment["id"] = f"call_{place}"
        elif habits["id"] == "empty":
            fragment["id"] = ""
        if habits["name"] == "every" or (habits["name"], turn) in (("first", 0), ("second", 1)):
            function["name"] = name
        made.append(fragment)
    return made


@given(CALLS, HABITS)
@settings(max_examples=400, deadline=None)
def test_two_calls_never_become_one_that_can_run(calls: list[tuple[str, str]], habits: dict[str, Any]) -> None:
    # Fragments that alternate and say nothing of whose they are could be one call's.
    assume(not habits["mixed"] or habits["index"] == "own" or habits["id"] == "every")
    each = [fragments(place, name, arguments, habits) for place, (name, arguments) in enumerate(calls)]
    rows = list(zip_longest(*each)) if habits["mixed"] else [(one,) for made in each for one in made]
    sent = [[one for one in row if one is not None] for row in rows]
    if not habits["together"]:
        sent = [[one] for row in sent for one in row]
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": row}}]} for row in sent]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    try:
        body, _ = gathered("openai-chat", events(*chunks, end, "[DONE]").encode())
    except ProtocolError:
        return
    found = [(call.name, value(call.arguments)) for call in read("openai-chat", body).calls]
    meant = [(name, json.loads(arguments or "{}")) for name, arguments in calls]
    runnable = [call for call in found if call[0] and isinstance(call[1], dict)]
    assert all(call in meant for call in runnable)
    if habits["index"] == "own" and habits["name"] == "first":
        assert found == meant


def value(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except json.JSONDecodeError:
        return None
