"""What all requests of an application's handlers have in common.

Knows no request. Invariant: frozen; what the environment says counts only where that is asked for.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from remit.errors import InputError
from remit.types.given import is_count, is_number

__all__ = ["Http"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """How handlers' requests are made: `Remit(http=Http(trust_env=True))`.

    Args:
        trust_env: proxies and certificates are also taken from the environment.
        verify: certificates to be trusted; None: those that `httpx2` comes with.
        proxy: address of a proxy for every request.
        connect_s: how long a connection may take to stand.
        timeout_s: the most that a request may take, where its attempt does not end before.
        most_bytes: the largest body that is taken in.
        headers: sent with every request; those of a request go before.

    Raises:
        InputError: a number that cannot be used (`http.setting`).
    """

    trust_env: bool = False
    verify: ssl.SSLContext | None = None
    proxy: str | None = field(default=None, repr=False)
    connect_s: float = 10.0
    timeout_s: float = 120.0
    most_bytes: int = 16_000_000
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def __post_init__(self) -> None:
        for name in ("connect_s", "timeout_s"):
            value = getattr(self, name)
            if not is_number(value) or value <= 0:
                raise InputError(f"{name}= of Http is a number of seconds above 0", code="http.setting")
        if not is_count(self.most_bytes, 1):
            raise InputError("most_bytes= of Http is a number of bytes, at least 1", code="http.setting")
