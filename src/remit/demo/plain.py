"""The loop that every tutorial shows: ask the model, run what it asks for, append, ask again.

It is here to be compared with, and is written in good faith: errors go back to the model, turns are
bounded, requests have timeouts. It is a process of its own: `python -m remit.demo.plain MODEL BILLING REQUEST`.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any

from remit.demo.shop import Shop

__all__ = ["loop"]

TOOLS = [
    {"type": "function", "function": {"name": name, "description": text, "parameters": {"type": "object", "properties": given}}}
    for name, text, given in [
        ("lookup_order", "Read one order.", {"order_id": {"type": "string"}}),
        ("propose_refund", "Compute the refund that an order needs.", {"order_id": {"type": "string"}}),
        ("issue_refund", "Refund a charge.", {"charge_id": {"type": "string"}, "amount_cents": {"type": "integer"}}),
    ]
]


def ask(model: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    body = json.dumps({"model": "scripted", "messages": messages, "tools": TOOLS}).encode()
    request = urllib.request.Request(f"{model}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)["choices"][0]["message"]


def loop(model: str, billing: str, request: str) -> str:
    """Answer a request; at most ten turns."""
    shop = Shop(billing)
    tools = {"lookup_order": shop.lookup_order, "propose_refund": shop.propose_refund, "issue_refund": shop.issue_refund}
    messages: list[dict[str, Any]] = [{"role": "user", "content": request}]
    for _ in range(10):
        message = ask(model, messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            try:
                result = json.dumps(tools[call["function"]["name"]](**json.loads(call["function"]["arguments"])))
            except Exception as error:
                result = f"Error: {error}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return "too many turns"


if __name__ == "__main__":
    print(loop(*sys.argv[1:4]))  # noqa: T201
