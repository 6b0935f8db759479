"""HTTP for handlers: requests that carry their operation's id, and say what became of them no stronger than is proven.

Knows attempts and the transport; no gate, run or ledger. `httpx2` is loaded with the first request. Invariant: of a
request that may have had an effect nothing says that it had none, and none is ever made twice here.
"""

from __future__ import annotations

from remit.http.client import Client, Clients, SyncClient
from remit.http.setting import Http
from remit.tool import Answer, Declared, Declined, Doubtful, How, ReadFailed, Trail, Verdict

__all__ = [
    "Answer",
    "Client",
    "Clients",
    "Declared",
    "Declined",
    "Doubtful",
    "How",
    "Http",
    "ReadFailed",
    "SyncClient",
    "Trail",
    "Verdict",
]
