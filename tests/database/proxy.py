"""Something between a client and PostgreSQL that breaks off, and a pooler that gives each transaction another session."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Generator
from typing import Literal

Cut = Literal["before", "after"] | None


@contextlib.contextmanager
def serving(serve: Callable[[socket.socket], None]) -> Generator[int]:
    """Accept clients, each in a thread of its own, all of which have ended when this has; the port."""
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as door:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = door.accept()
                    threads.append(threading.Thread(target=_quietly, args=(serve, client), daemon=True))
                    threads[-1].start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield door.getsockname()[1]
        finally:
            door.shutdown(socket.SHUT_RDWR)
            accepting.join(10)
            for thread in threads:
                thread.join(10)


def _quietly(serve: Callable[[socket.socket], None], client: socket.socket) -> None:
    with contextlib.suppress(OSError, EOFError), client:
        serve(client)


class Breaking:
    """A way to a server that breaks where a client says COMMIT: before the server is told, or before its answer is."""

    def __init__(self, port: int) -> None:
        self.cut: Cut = None
        self.cuts = 0
        self._port = port

    def serve(self, client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._port)) as server:
            lost, answered = threading.Event(), threading.Event()

            def back(_: socket.socket) -> None:
                while data := server.recv(65536):
                    if lost.is_set():
                        answered.set()
                        return
                    client.sendall(data)
                client.shutdown(socket.SHUT_RDWR)

            threading.Thread(target=_quietly, args=(back, server), daemon=True).start()
            while data := client.recv(65536):
                if self.cut is not None and b"COMMIT\0" in data:
                    how, self.cut = self.cut, None
                    self.cuts += 1
                    lost.set()
                    if how == "after":
                        server.sendall(data)
                        answered.wait(10)
                    client.shutdown(socket.SHUT_RDWR)
                    server.shutdown(socket.SHUT_RDWR)
                    return
                server.sendall(data)


class Pooler:
    """Gives each transaction of each client the session that has waited for the shortest time, as poolers do."""

    def __init__(self, port: int, *, whole: bool = False) -> None:
        self._port = port
        self._whole = whole  # a session for as long as the client is connected
        self._idle: list[tuple[socket.socket, bytes]] = []
        self._guard = threading.Lock()

    def serve(self, client: socket.socket) -> None:
        startup = self._startup(client)
        server, hello = self._take(startup)
        client.sendall(b"R" + struct.pack("!ii", 8, 0) + hello + b"K" + struct.pack("!iii", 12, 424242, 1) + b"Z\0\0\0\5I")
        bound: list[socket.socket] = [server]
        try:
            self._relay(client, startup, hello, bound)
        finally:
            for one in bound:
                one.close()

    def close(self) -> None:
        """End the sessions that wait."""
        with self._guard:
            while self._idle:
                self._idle.pop()[0].close()

    def _relay(self, client: socket.socket, startup: bytes, hello: bytes, bound: list[socket.socket]) -> None:
        while True:
            if bound and not self._whole:
                self._give(bound.pop(), hello)
            status = b"T"
            while status != b"I":
                kind, body = message(client)
                if kind == b"X":
                    return
                if not bound:
                    bound.append(self._take(startup)[0])
                bound[0].sendall(kind + struct.pack("!i", len(body) + 4) + body)
                if kind in (b"Q", b"S"):
                    status = self._answer(bound[0], client)

    def _answer(self, server: socket.socket, client: socket.socket) -> bytes:
        while True:
            kind, body = message(server)
            client.sendall(kind + struct.pack("!i", len(body) + 4) + body)
            if kind == b"Z":
                return body

    def _startup(self, client: socket.socket) -> bytes:
        while True:
            size = struct.unpack("!i", exactly(client, 4))[0]
            body = exactly(client, size - 4)
            if struct.unpack("!i", body[:4])[0] == 196608:
                return struct.pack("!i", size) + body
            client.sendall(b"N")  # no encryption

    def _take(self, startup: bytes) -> tuple[socket.socket, bytes]:
        with self._guard:
            if self._idle and not self._whole:
                return self._idle.pop()
        server = socket.create_connection(("127.0.0.1", self._port))
        server.sendall(startup)
        hello = b""
        while True:
            kind, body = message(server)
            if kind == b"S":
                hello += kind + struct.pack("!i", len(body) + 4) + body
            if kind == b"Z":
                return server, hello

    def _give(self, server: socket.socket, hello: bytes) -> None:
        with self._guard:
            self._idle.append((server, hello))


def message(of: socket.socket) -> tuple[bytes, bytes]:
    kind = exactly(of, 1)
    size = struct.unpack("!i", exactly(of, 4))[0]
    return kind, exactly(of, size - 4)


def exactly(of: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = of.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
