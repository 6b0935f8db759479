"""The demo's model: a script behind HTTP, in the shape of Chat Completions. Both loops ask the same one.

It is stateless, as models are: which line comes next follows from the conversation that it is sent,
and every reply gives its calls new ids. It can lose one final reply on the way.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from remit import ambient
from remit.types.ident import Json

__all__ = ["FINAL", "ORDER", "REQUEST", "SCRIPT", "Line", "served"]

Line = Sequence[tuple[str, Mapping[str, Json]]]
"""The calls of one reply; an empty one is the final text."""

ORDER = "A-12345"
REQUEST = f"Order {ORDER} was charged twice. Refund the duplicate charge."
FINAL = "The duplicate charge on A-12345 is refunded."
_REFUND: tuple[str, Mapping[str, Json]] = ("issue_refund", {"charge_id": "ch_2", "amount_cents": 4200})
SCRIPT: dict[str, list[Line]] = {
    "once": [[("lookup_order", {"order_id": ORDER})], [("propose_refund", {"order_id": ORDER})], [_REFUND]],
    "twice": [[("lookup_order", {"order_id": ORDER})], [("propose_refund", {"order_id": ORDER})], [_REFUND, _REFUND]],
    "again": [[("lookup_order", {"order_id": ORDER})], [("propose_refund", {"order_id": ORDER})], [_REFUND], [_REFUND]],
}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: list[Line], lose: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.lose = lose


class _Handler(BaseHTTPRequestHandler):
    @property
    def served(self) -> _Server:
        return cast(_Server, self.server)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        line = self.served.script[turn] if turn < len(self.served.script) else ()
        if not line and self.served.lose:
            self.served.lose = False
            self.close_connection = True
            return
        data = json.dumps(_completion(line)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


def _completion(line: Line) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None if line else FINAL}
    if line:
        message["tool_calls"] = [
            {"id": ambient.new_id("call"), "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for name, arguments in line
        ]
    return {
        "id": ambient.new_id("chatcmpl"),
        "object": "chat.completion",
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if line else "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


@contextmanager
def served(script: list[Line], *, lose_final: bool = False) -> Generator[str]:
    """Serve a script on a free loopback port; the value is the base URL. `lose_final`: the first final reply is lost."""
    server = _Server(script, lose_final)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
