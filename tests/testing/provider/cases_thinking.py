"""The cases of Anthropic's thoughts, which must come back as they were."""

from __future__ import annotations

from testing.provider.cases import Case, add, drop, each, put
from testing.provider.cases_anthropic import (
    HI,
    PLAIN,
    ROUND,
    SAID,
    THOUGHT_OF,
    assistant,
    result,
    talk,
    text,
    thought,
    use,
    user,
)

THINKING = talk(assistant(*THOUGHT_OF["content"]), user(result("a"), result("b")))  # type: ignore[arg-type]
LATER = talk(assistant(*THOUGHT_OF["content"]), user(result("a"), result("b"), text("and now?")))  # type: ignore[arg-type]
BOUND = {**THINKING, "model": "claude-opus-5-5"}

THINKING_CASES: list[Case] = [
    Case(
        "anthropic.thinking.edited",
        (
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
            "modified. These blocks must remain as they were in the original response."
        ),
        THINKING,
        put("messages.1.content.0.thinking", "about z"),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.edited",
        (
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
            "modified. These blocks must remain as they were in the original response."
        ),
        THINKING,
        put("messages.1.content.0.signature", "sig_z"),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.edited",
        (
            "messages.1.content.2: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
            "modified. These blocks must remain as they were in the original response."
        ),
        LATER,
        put("messages.1.content.2.thinking", "about z"),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.moved",
        (
            "messages.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response."
        ),
        THINKING,
        put("messages.1.content", [thought("y"), use("a"), thought("x"), use("b")]),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.moved",
        (
            "messages.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response."
        ),
        THINKING,
        put("messages.1.content", [thought("x"), thought("y"), use("a"), use("b")]),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.dropped",
        (
            "messages.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response."
        ),
        THINKING,
        drop("messages.1.content.0"),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.dropped",
        (
            "messages.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response."
        ),
        THINKING,
        put("messages.1.content", [use("a"), use("b")]),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.dropped",
        (
            "messages.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response."
        ),
        LATER,
        drop("messages.1.content.0"),
        put("messages.1.content", [use("a"), use("b")]),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.first",
        (
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is "
            "enabled, a final `assistant` message must start with a thinking block."
        ),
        {**ROUND, "thinking": {"type": "enabled", "budget_tokens": 10}},
        put("messages.1.content.0", text("first")),
        put("messages.1.content.0", thought("q")),
    ),
    Case(
        "anthropic.thinking.last",
        "messages.1: The final block in an assistant message cannot be `thinking`.",
        talk(assistant(thought("q"), text("so")), HI),
        put("messages.1.content", [text("so"), thought("q")]),
    ),
    Case(
        "anthropic.thinking.last",
        "messages.1: The final block in an assistant message cannot be `thinking`.",
        talk(assistant(text("so")), HI),
        put("messages.1.content", [thought("q")]),
    ),
    Case(
        "anthropic.thinking.last",
        "messages.1: The final block in an assistant message cannot be `thinking`.",
        PLAIN,
        add("messages", assistant(thought("q")), HI),
        add("messages", assistant(thought("q"))),
        said=[(PLAIN, {"id": "msg_3", "stop_reason": "pause_turn", "content": [thought("q")]})],
    ),
    Case(
        "anthropic.thinking.bound",
        "messages: a `thinking` block is bound to a prefix of the conversation that has changed",
        BOUND,
        put("system", "other"),
        said=[({**PLAIN, "model": "claude-opus-5-5"}, THOUGHT_OF)],
    ),
    Case(
        "anthropic.thinking.bound",
        "messages: a `thinking` block is bound to a prefix of the conversation that has changed",
        BOUND,
        put("messages.0.content", "ho"),
        put("messages.0", user(text("hi"))),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.bound",
        "messages: a `thinking` block is bound to a prefix of the conversation that has changed",
        BOUND,
        put("tools.0.description", "e"),
        each(
            put("tools.0.description", "e"),
            put("thinking", {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}),
        ),
        said=SAID,
    ),
]
