"""The billing service of the demo: a process of its own, with books of its own, over HTTP.

It does what most services do: it refunds as often as it is asked. A caller's reference is written
into the books and never used to refuse anything. It knows nothing of tools, models or Remit.
Invariant: a refund is in the books before a fault can swallow the reply.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal, cast
from urllib.parse import parse_qs, urlsplit

__all__ = ["Fault", "serve"]

Fault = Literal["none", "no_reply", "cut", "slow"]
"""What befalls the reply to the next refund, once it is booked: never sent, connection closed, sent too late."""

_SLOW_S = 3.5
_HELD_S = 60.0
_SCHEMA = """
create table if not exists orders (id text primary key, status text not null);
create table if not exists charges (id text primary key, order_id text not null, amount_cents integer not null);
create table if not exists refunds (
    id integer primary key, charge text not null, amount_cents integer not null, reference text
);
insert or ignore into orders values ('A-12345', 'delivered');
insert or ignore into charges values ('ch_1', 'A-12345', 4200), ('ch_2', 'A-12345', 4200);
"""


class _Service(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, books: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.books = books
        self.fault: Fault = "none"
        self.never = threading.Event()
        with closing(self.connect()) as db:
            db.executescript(_SCHEMA)

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.books, isolation_level=None, timeout=10)


class _Handler(BaseHTTPRequestHandler):
    @property
    def service(self) -> _Service:
        return cast(_Service, self.server)

    def do_GET(self) -> None:
        where = urlsplit(self.path)
        with closing(self.service.connect()) as db:
            match where.path.split("/")[1:]:
                case ["orders", order]:
                    self._order(db, order)
                case ["refunds"]:
                    charge = parse_qs(where.query).get("charge", [""])[0]
                    rows = db.execute("select id, charge, amount_cents, reference from refunds where charge = ?", (charge,))
                    self._reply(200, [_refund(*row) for row in rows])
                case _:
                    self._reply(404, {"error": "no such resource"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        if self.path == "/fault":
            self.service.fault = body["next"]
            self._reply(200, body)
        elif self.path == "/refunds":
            self._issue(body["charge"], body["amount_cents"], self.headers.get("Idempotency-Key"))
        else:
            self._reply(404, {"error": "no such resource"})

    def _order(self, db: sqlite3.Connection, order: str) -> None:
        found = db.execute("select status from orders where id = ?", (order,)).fetchone()
        if found is None:
            self._reply(404, {"error": "no such order"})
            return
        charges = db.execute("select id, amount_cents from charges where order_id = ?", (order,)).fetchall()
        listed = [{"id": charge, "amount_cents": amount} for charge, amount in charges]
        self._reply(200, {"id": order, "status": found[0], "charges": listed})

    def _issue(self, charge: str, amount_cents: int, reference: str | None) -> None:
        with closing(self.service.connect()) as db:
            row = (charge, amount_cents, reference)
            made = db.execute("insert into refunds (charge, amount_cents, reference) values (?, ?, ?)", row).lastrowid
        fault, self.service.fault = self.service.fault, "none"
        if fault == "cut":
            self.close_connection = True
            return
        if fault != "none":
            self.service.never.wait(_SLOW_S if fault == "slow" else _HELD_S)
        self._reply(200, _refund(made or 0, charge, amount_cents, reference))

    def _reply(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        del format, args


def _refund(number: int, charge: str, amount_cents: int, reference: str | None) -> dict[str, object]:
    return {"id": f"re_{number}", "charge": charge, "amount_cents": amount_cents, "reference": reference}


def serve(books: Path) -> None:
    """Serve until killed; the first line on standard output is the address."""
    service = _Service(books)
    print(f"http://127.0.0.1:{service.server_address[1]}", flush=True)  # noqa: T201
    service.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--books", type=Path, required=True)
    serve(parser.parse_args().books)
