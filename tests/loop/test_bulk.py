"""What a request is reckoned at before it is sent: images, windows, and what provider-run tools found."""

from __future__ import annotations

import json

import pytest

from behaviour.shop import ALICE, Shop, play, support
from remit import Budget, DefinitionError, Finished, Image, MemoryLedger, Paused, Remit, ScriptedModel, Stopped, Text
from remit.budget import context_window
from remit.loop.transcript import bulk_of
from remit.types.ident import Wording

PICTURE = Image(b"\x89PNG\r\n\x1a\n" + b"x" * 400_000, "image/png")
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


@pytest.mark.parametrize("protocol", ["anthropic", "openai-chat", "openai-responses"])
def test_an_image_is_reckoned_by_its_kind_and_not_by_its_bytes(protocol: str) -> None:
    async def story() -> None:
        agent = support(ScriptedModel(["Seen."], protocol=protocol), budget=Budget(tokens=30_000))  # type: ignore[arg-type]
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            assert isinstance(await remit.run("support", [Text("What is this?"), PICTURE], principal=ALICE), Finished)

    play(story)


def test_a_text_that_looks_like_an_image_is_reckoned_by_its_bytes() -> None:
    said = json.dumps({"text": '"url": "data:image/png;base64,' + "A" * 50_000 + '"'})
    assert bulk_of(Wording(said)) == len(said)


def test_a_request_that_surely_passes_the_context_is_not_sent() -> None:
    async def story() -> None:
        model = ScriptedModel(["Never."])
        async with Remit(ledger=MemoryLedger(), agents=[support(model, context_tokens=2_000)], deps=Shop()) as remit:
            run = await remit.run("support", "word " * 4_000, principal=ALICE)
            assert isinstance(run, Stopped)
            assert run.reason == "context.full"
            assert model.requests == []

    play(story)


def test_the_price_list_says_how_long_a_context_is() -> None:
    assert context_window("anthropic:claude-3-5-haiku-latest") == 200_000
    assert context_window("openai:no-such-model") is None
    assert context_window("scripted:x") is None


def test_what_a_provider_run_tool_found_makes_later_writes_ask() -> None:
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    used = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    refund = {"charge_id": "ch_1", "amount_cents": 100}
    asked = {"type": "tool_use", "id": "t1", "name": "issue_refund", "input": refund}
    reply = {"id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "tool_use", "stop_sequence": None}
    raw = json.dumps({**reply, "content": [used, found, asked], "usage": {"input_tokens": 9, "output_tokens": 5}}).encode()
    shop = Shop()

    async def story() -> None:
        agent = support(ScriptedModel([raw, "Done."]), server_tools=[SEARCH])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=shop) as remit:
            assert isinstance(await remit.run("support", "go", principal=ALICE), Paused)

    play(story)
    assert shop.refunds == []


def test_a_provider_run_tool_that_may_change_something_is_refused_when_it_is_named() -> None:
    with pytest.raises(DefinitionError, match="effect=write"):
        support(ScriptedModel([]), server_tools=[{"type": "code_execution_20250522", "name": "code_execution"}])
