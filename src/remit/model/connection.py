"""HTTP/1.1 over one connection: a request, its response, and then the next request. The protocol itself is `h11`'s.

Knows no provider. Invariant: a request is written once, in one piece; a connection whose response was not read to its
end is never used again.
"""

from __future__ import annotations

from collections.abc import Mapping

import h11

from remit import ambient
from remit.model.transport import Transport

__all__ = ["Connection", "ConnectionBroken"]

_HEAD_BYTES = 100 * 1024
"""The largest head of a response that is taken in."""


class ConnectionBroken(Exception):
    """The connection is gone, or what came over it is no HTTP; `sent` is False where nothing of the request has left."""

    def __init__(self, *, sent: bool = True) -> None:
        super().__init__()
        self.sent = sent


class Connection:
    """One connection; a request at a time."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)

    def bound(self, total_s: float | None) -> None:
        """The next request and its whole response may take so long; `is_overdue` once they have."""
        self._transport.bound(total_s)

    @property
    def is_overdue(self) -> bool:
        """Whether that time is over."""
        return self._transport.is_overdue

    async def send(self, request: h11.Request, body: bytes, limit_s: float | None) -> None:
        """Write a request.

        Raises:
            TimeoutError: nothing moved for so long.
            ConnectionBroken: nothing was sent.
        """
        protocol = self._h11
        head = protocol.send(request) or b""
        protocol.send_with_data_passthrough(h11.Data(data=body))
        protocol.send(h11.EndOfMessage())
        try:
            await self._transport.send(head + body, limit_s)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise ConnectionBroken(sent=False) from None

    async def response(self, limit_s: float | None) -> tuple[int, Mapping[str, str]]:
        """How the response begins: its status, and its headers by their names in lower case.

        Args:
            limit_s: for all of it, however it trickles in.

        Raises:
            TimeoutError: it did not come in time.
            ConnectionBroken: there will be none.
        """
        until_s = None if limit_s is None else ambient.monotonic_s() + limit_s
        while True:
            event = await self._next(limit_s, until_s)
            if isinstance(event, h11.Response):
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
                return event.status_code, headers
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise ConnectionBroken

    async def read(self, limit_s: float | None) -> bytes | None:
        """The next bytes of the response, None at its end.

        Raises:
            TimeoutError: nothing came for so long.
            ConnectionBroken: it ended before it was whole.
        """
        event = await self._next(limit_s)
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.EndOfMessage):
            return None
        raise ConnectionBroken

    @property
    def has_rest(self) -> bool:
        """Whether the response has not been read to its end."""
        return self._h11.their_state is h11.SEND_BODY

    async def skip_rest(self) -> None:
        """Read the response to its end, for nobody.

        Raises:
            ConnectionBroken: it has none.
        """
        while self.has_rest:
            await self.read(None)

    def reuse(self) -> bool:
        """Make ready for the next request; False where there can be none."""
        protocol = self._h11
        if protocol.our_state is not h11.DONE or protocol.their_state is not h11.DONE or protocol.trailing_data[0]:
            return False
        protocol.start_next_cycle()
        return True

    @property
    def is_stale(self) -> bool:
        """Whether the other side has closed it, or said what nobody asked for, since the last response."""
        return self._transport.is_stale

    def close(self) -> None:
        self._transport.close()

    async def _next(self, limit_s: float | None, until_s: float | None = None) -> object:
        protocol = self._h11
        try:
            while (event := protocol.next_event()) is h11.NEED_DATA:
                if until_s is not None:
                    limit_s = until_s - ambient.monotonic_s()
                    if limit_s <= 0:
                        raise TimeoutError
                protocol.receive_data(await self._transport.read(limit_s))
        except h11.RemoteProtocolError:
            raise ConnectionBroken from None
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise ConnectionBroken from None
        return event
