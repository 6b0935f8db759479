"""The outside service of the tests that kill: a process of its own with books of its own, that nobody kills.

Usage: service.py SOCKET BOOKS. Every line that comes is a question, every line that goes its answer. An effect is a line
in the books, appended before anything is answered. Knows nothing of the package.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path

__all__ = ["Service", "books"]

Said = dict[str, object]


class Service:
    """The way to it from a process that may die at any moment."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def ask(self, **question: object) -> Said:
        reader, writer = await asyncio.open_unix_connection(self.path)
        try:
            writer.write(json.dumps(question).encode() + b"\n")
            return json.loads(await reader.readline())
        finally:
            writer.close()

    def ask_sync(self, **question: object) -> Said:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            connection.sendall(json.dumps(question).encode() + b"\n")
            with connection.makefile("rb") as answer:
                return json.loads(answer.readline())


def books(path: Path) -> list[dict[str, str]]:
    """What happened, in its order."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class _Books:
    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.operations: set[object] = set()
        self.deduped = 0

    def answer(self, question: Said) -> Said:
        match question:
            case {"do": "act", "operation": operation, "dedupes": dedupes, **entry}:
                if dedupes and operation in self.operations:
                    self.deduped += 1
                else:
                    self.operations.add(operation)
                    os.write(self.handle, json.dumps({"operation": operation, **entry}).encode() + b"\n")
                return {"said": "done"}
            case {"do": "look", "operation": operation}:
                return {"happened": operation in self.operations}
            case _:
                return {"deduped": self.deduped}


async def _serve(path: str, kept: _Books) -> None:
    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        if not line.endswith(b"\n"):
            writer.close()
            return
        question: Said = json.loads(line)
        late_s = question.pop("late_s", 0)
        answer = kept.answer(question)
        await asyncio.sleep(float(str(late_s)))
        writer.write(json.dumps(answer).encode() + b"\n")
        writer.close()

    server = await asyncio.start_unix_server(one, path)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], _Books(Path(sys.argv[2]))))
