"""Whatever a model says and whatever becomes of it, the transcript is one that the provider takes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit import (
    CALL,
    READ,
    TRUSTED,
    Agent,
    Cancelled,
    Context,
    Finished,
    MemoryLedger,
    NoEffect,
    Principal,
    Remit,
    ScriptedModel,
    always,
    ambient,
    manual,
    never,
    tool,
    write,
)
from remit.testing import FakeProvider, call, fault
from remit.types.model import ProtocolName
from traffic.exchange import PROTOCOLS

BOB = Principal("bob", scopes=frozenset({"remit:approve", "use"}))
ALICE = Principal("alice", scopes=frozenset({"use"}))
STOPS = {
    "anthropic": ("calls", "end", "length", "context", "refusal", "pause", "unknown"),
    "openai-chat": ("calls", "end", "length", "refusal", "filter", "unknown"),
    "openai-responses": ("calls", "end", "length", "refusal", "filter", "unknown"),
}
IDS = st.sampled_from(["", "same", "other", "a b", "x" * 70, "x" * 300, "toolu_1.2", "é", "call_2_0"])
NAMES = st.sampled_from(["look", "fail", "long", "save", "hang", "pay", "pay", "withdraw", "nothing", "lo ok"])
ARGUMENTS = st.sampled_from(
    ["{}", '{"order":"A-1"}', "", "  ", "{", '{"order":', "null", "[]", "3", '{"order":1}', '{"a":1,"a":2}']
)
TEXTS = st.sampled_from(["", " ", "\n", "Well.", "Ends in a space ", "“é😀” \\ud83d", "x" * 2_000])


SEARCHES, SEARCHES_ON = "(searches at the provider, and calls)", "(searches at the provider, which pauses)"
SEARCH = ({"type": "web_search_20250305", "name": "web_search"},)
THINKS, THINKS_ONLY = "(thinks, and calls)", "(thinks until its tokens are spent)"


@tool(effect=READ, scopes={"use"}, label=TRUSTED)
async def look(order: str) -> dict[str, str]:
    """Look at it.

    Args:
        order: which
    """
    return {"order": order}


@tool(effect=write(once_per=CALL, recovery=manual), scopes={"use"}, approve=never, label=TRUSTED)
async def fail() -> str:
    """Decline it."""
    raise NoEffect("it was declined")


@tool(effect=READ, scopes={"use"}, label=TRUSTED)
async def long() -> str:
    """Read a long text, with an empty one before it."""
    return "\n" * 3 + "word " * 60_000


@tool(effect=write(once_per=CALL, recovery=manual), scopes={"use"}, approve=never, label=TRUSTED)
async def save(ctx: Context[Any]) -> str:
    """Save it, and say nothing."""
    return ""


@tool(effect=READ, scopes={"use"}, label=TRUSTED, timeout_s=0.02)
async def hang(ctx: Context[Any]) -> str:
    """Never return; a cancel waits until its time is over."""
    ctx.deps.set()
    await asyncio.Event().wait()
    return "never"


@tool(effect=write(once_per=CALL, recovery=manual), scopes={"use"}, approve=always(), label=TRUSTED)
async def pay(ctx: Context[Any]) -> str:
    """Pay it; a person is asked first, and meanwhile the model has a receipt."""
    return "paid"


@dataclass(frozen=True)
class Message:
    """What the user says, what the model says until it is done, and what a person then decides; None leaves it."""

    text: str
    turns: Sequence[Any]
    allow: bool | None = None


def calls() -> st.SearchStrategy[Any]:
    """Calls of the tools as they are, and calls of any name with any arguments under any id."""
    good = st.sampled_from([call("look", order="A"), *(call(name) for name in ("pay", "pay", "hang", "save", "fail", "long"))])
    wild = st.builds(call.raw, NAMES, ARGUMENTS)
    named = st.builds(lambda made, wire_id: made.with_id(wire_id), good | wild, IDS)
    return st.lists(good | good | wild | named, min_size=1, max_size=3)


def turns(protocol: ProtocolName) -> st.SearchStrategy[Any]:
    """One reply: text, calls, both, with any stop that the protocol has, thinking before it, or a fault around it."""
    said = st.one_of(TEXTS, calls(), st.tuples(TEXTS, calls()))
    stopped = st.builds(
        lambda text, made, stop: ScriptedModel.turn(made, text=text, stop=stop),
        TEXTS,
        calls() | st.just([]),
        st.sampled_from(STOPS[protocol]),
    )
    thought = st.sampled_from([THINKS, THINKS, THINKS_ONLY])
    broken = st.sampled_from([fault.fail(), fault.rate_limit(), fault.cut("never heard", 30), fault.hang_up()])
    searches = [st.sampled_from([SEARCHES, SEARCHES_ON])] if protocol == "anthropic" else []
    return st.one_of(said, said, stopped, thought, broken, *searches)


def search(number: int, said: str) -> bytes:
    """A search that the provider has not ended; beside a call it waits for the answers alone."""
    asked = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {"query": "x"}}
    tool, given = [("look", {"order": "A"}), ("hang", {}), ("pay", {})][number % 3]
    beside = [{"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}]
    return hosted(number, "tool_use" if said is SEARCHES else "pause_turn", asked, *(beside if said is SEARCHES else []))


def found(number: int) -> bytes:
    """What it found, which is the first thing that the provider says next; now and then it calls a tool at once."""
    done = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": []}
    if number % 2:
        looks = {"type": "tool_use", "id": f"toolu_on_{number}", "name": "look", "input": {"order": "B"}}
        return hosted(number, "tool_use", done, looks)
    return hosted(number, "end_turn", done, {"type": "text", "text": "Found."})


def hosted(number: int, stop: str, *content: Any) -> bytes:
    reply = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": content, "stop_reason": stop}
    return json.dumps({**reply, "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()


def thinking(protocol: ProtocolName, number: int, *, calls: bool) -> Any:
    """A call with what the model thought before it, which must come back as it was; or a thought that the cap ended."""
    match protocol:
        case "anthropic":
            content = [
                {"type": "thinking", "thinking": f"about {number}", "signature": f"sig_{number}"},
                {"type": "text", "text": ["", "So."][number % 2]},
                {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"order": "A"}},
                {"type": "redacted_thinking", "data": f"data_{number}"},
                {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"order": "B"}},
            ]
            stop, kept = ("tool_use", content) if calls else ("max_tokens", content[: 1 + (number - 1) % 3])
            reply = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": kept, "stop_reason": stop}
            return json.dumps({**reply, "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()
        case "openai-responses":
            output = [
                {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "x"},
                {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "look", "arguments": "{}"},
            ]
            status = "completed" if calls else "incomplete"
            reply = {"id": f"resp_{number}", "object": "response", "status": status, "output": output[: 1 + calls]}
            reason = None if calls else {"reason": "max_output_tokens"}
            usage = {"input_tokens": 1, "output_tokens": 1}
            return json.dumps({**reply, "incomplete_details": reason, "usage": usage}).encode()
        case "openai-chat":
            return call("look", order=str(number)) if calls else ScriptedModel.turn("", stop="length")


def messages(protocol: ProtocolName) -> st.SearchStrategy[list[Message]]:
    return st.lists(
        st.builds(
            Message,
            st.sampled_from(["go", "and?"]),
            st.lists(turns(protocol), max_size=4),
            st.sampled_from([True, False, None]),
        ),
        min_size=1,
        max_size=3,
    )


async def converse(protocol: ProtocolName, told: Sequence[Message], *, stream: bool) -> None:
    left: list[Any] = []
    searching: list[int] = []
    hanging = asyncio.Event()

    def speak(asked: dict[str, Any]) -> Any:
        if searching:
            return found(searching.pop())
        said = left.pop(0) if left else "Fine."
        if said is SEARCHES or said is SEARCHES_ON:
            searching.append(len(provider.requests))
            return search(searching[0], said)
        if said is THINKS or said is THINKS_ONLY:
            return thinking(protocol, len(provider.requests), calls=said is THINKS)
        return said

    async with FakeProvider(speak) as provider:
        agent = Agent(
            "worker",
            model=provider.model(protocol, "claude-opus-5-5"),
            instructions="Help.",
            tools=[look, fail, long, save, hang, pay],
            server_tools=SEARCH if protocol == "anthropic" else (),
            on_wait="answer",
            stream=stream,
        )
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=hanging) as remit:
            runs: list[str] = []
            for message in [*told, Message("still there?", (), allow=True)]:
                left[:] = message.turns
                run = await remit.submit("worker", message.text, principal=ALICE, conversation="c")
                runs.append(run.id)
                await ended_or_cancelled(remit, run.id, hanging)
                for waiting in await remit.approvals() if message.allow is not None else ():
                    await remit.decide(waiting.id, message.allow, by=BOB)
                for earlier in runs:
                    await remit.run_to_end(earlier)
            left.clear()
            last = await remit.run("worker", "and now?", principal=ALICE, conversation="c")
            assert isinstance(last, Finished)
            assert last.answer == "Fine."
            assert [one.code for one in provider.broken] == [], provider.broken
            assert len(provider.requests) > len(told) / 2


async def ended_or_cancelled(remit: Remit, run: str, hanging: asyncio.Event) -> None:
    """Let a run end; one whose tool hangs is cancelled."""
    ending = asyncio.ensure_future(remit.run_to_end(run))
    while not ending.done():
        hung = asyncio.ensure_future(hanging.wait())
        await asyncio.wait([ending, hung], return_when=asyncio.FIRST_COMPLETED)
        hung.cancel()
        if hanging.is_set():
            hanging.clear()
            await remit.cancel(run, by=ALICE, reason="enough")
            assert isinstance(await ending, Cancelled | Finished)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_any_conversation_is_one_that_the_provider_takes(protocol: ProtocolName, stream: bool) -> None:
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(messages(protocol))
    def holds(told: list[Message]) -> None:
        with ambient.use(ambient.Seeded()):
            asyncio.run(converse(protocol, told, stream=stream))

    holds()
