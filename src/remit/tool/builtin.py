"""The two tools that only talk: `ask_user` (a question to a person) and `withdraw` (do not start what waits).

The gate answers them itself; their handlers are never run. Neither reads nor writes.
"""

from __future__ import annotations

from typing import NoReturn

from remit.tool.arguments import Context
from remit.tool.contract import Tool
from remit.tool.effect import Effect

__all__ = ["ask_user", "withdraw"]

_ASK = Effect("ask")


def _not_run(arguments: dict[str, object], ctx: Context[object]) -> NoReturn:
    raise RuntimeError("a built-in tool has no handler to run")


ask_user: Tool = Tool.from_schema(
    name="ask_user",
    description=(
        "Ask the person you work for one question, and wait for the answer.\n\n"
        "Use it only for what neither the conversation nor another tool can tell. It is not a way to get an approval: "
        "where one is needed, it is asked for without you."
    ),
    schema={
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "description": "one question, complete in itself"},
            "choices": {
                "type": ["array", "null"],
                "items": {"type": "string"},
                "minItems": 2,
                "description": "the answers to choose from; leave out for a free answer",
            },
        },
        "required": ["question"],
    },
    handler=_not_run,
    effect=_ASK,
)

withdraw: Tool = Tool.from_schema(
    name="withdraw",
    description=(
        "Withdraw something that was submitted and still waits for a person's decision, so that it never starts.\n\n"
        "Use it when it is no longer wanted. What has started already is not changed."
    ),
    schema={
        "type": "object",
        "properties": {"operation": {"type": "string", "minLength": 1, "description": "the operation named in the receipt"}},
        "required": ["operation"],
    },
    handler=_not_run,
    effect=_ASK,
)
