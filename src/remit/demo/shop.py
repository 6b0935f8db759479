"""What the demo's tools do, as plain functions: the same for the plain loop and for Remit.

Three capabilities of the billing service over HTTP, and the question that a reconciler asks. Knows
nothing of tools, models or Remit. Nothing here tries a second time.
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any, TypedDict
from urllib.parse import quote

__all__ = ["TIMEOUT_S", "Charge", "Order", "Proposal", "Refund", "Shop"]

TIMEOUT_S = 2.0
"""How long a call of the billing service may take before the client gives it up."""


class Charge(TypedDict):
    """One charge of an order."""

    id: str
    amount_cents: int


class Order(TypedDict):
    """An order with its charges."""

    id: str
    status: str
    charges: list[Charge]


class Proposal(TypedDict):
    """A refund that nobody has issued."""

    charge_id: str
    amount_cents: int
    why: str


class Refund(TypedDict):
    """A refund as the service's books have it."""

    id: str
    charge: str
    amount_cents: int
    reference: str | None


class Shop:
    """A client of the billing service at `url`. Any method may raise `OSError`."""

    def __init__(self, url: str) -> None:
        self._url = url

    def lookup_order(self, order_id: str) -> Order:
        """Read one order."""
        return self._call(f"/orders/{quote(order_id, safe='')}")

    def propose_refund(self, order_id: str) -> Proposal:
        """Compute which charge of an order is a duplicate. Changes nothing."""
        seen: set[int] = set()
        for charge in self.lookup_order(order_id)["charges"]:
            if charge["amount_cents"] in seen:
                return {"charge_id": charge["id"], "amount_cents": charge["amount_cents"], "why": "charged twice"}
            seen.add(charge["amount_cents"])
        raise LookupError("no charge of this order is a duplicate")

    def issue_refund(self, charge_id: str, amount_cents: int, reference: str | None = None) -> Refund:
        """Refund a charge. The service does it as often as it is asked; `reference` is only written down."""
        return self._call("/refunds", {"charge": charge_id, "amount_cents": amount_cents}, reference)

    def refunds(self, charge_id: str) -> list[Refund]:
        """The system of record: which refunds of a charge the books hold."""
        return self._call(f"/refunds?charge={quote(charge_id, safe='')}")

    def _call(self, path: str, body: object = None, reference: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Idempotency-Key": reference} if reference else {}
        request = urllib.request.Request(self._url + path, data, headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
            return json.load(reply)
