"""A connection to a host, of whatever addresses it has.

Knows no HTTP. Source: RFC 8305, "happy eyeballs". Invariant: of all that is tried one socket is left, and none where
the attempt was cancelled.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Sequence
from itertools import chain, zip_longest

from remit.model.transport import Transport

__all__ = ["dial"]

_NEXT_S = 0.25
"""So long an address is waited for before the next one is tried beside it."""

_Address = tuple[int, tuple[object, ...]]
"""A family of sockets, and where to."""


async def dial(host: str, port: int) -> Transport:
    """A connection of the running event loop.

    Raises:
        OSError: there is none to be had; of several addresses it is what was heard last.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "a host name that cannot be one") from None
    made = await _first(_by_turns([(family, place) for family, _, _, _, place in found]))
    _, transport = await loop.create_connection(Transport, sock=made)
    return transport


def _by_turns(found: Sequence[_Address]) -> list[_Address]:
    """The addresses of both families by turns, that which was named first before the other."""
    ours = [one for one in found if one[0] == found[0][0]]
    other = [one for one in found if one[0] != found[0][0]]
    return [one for one in chain.from_iterable(zip_longest(ours, other)) if one is not None]


async def _first(addresses: Sequence[_Address]) -> socket.socket:
    left, waiting = deque(addresses), set[asyncio.Task[socket.socket]]()
    heard: BaseException = OSError("a host without addresses")
    try:
        while left or waiting:
            if left:
                waiting.add(asyncio.ensure_future(_connected(*left.popleft())))
            done, _ = await asyncio.wait(waiting, timeout=_NEXT_S if left else None, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                waiting.discard(one)
                error = one.exception()
                if error is None:
                    return one.result()
                heard = error
    finally:
        for one in waiting:
            one.cancel()
            one.add_done_callback(_close)
    raise heard


async def _connected(family: int, place: tuple[object, ...]) -> socket.socket:
    # With the protocol named, or asyncio does not turn Nagle's algorithm off: a large body would wait for the other side.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, place)
    except BaseException:
        made.close()
        raise
    return made


def _close(tried: asyncio.Task[socket.socket]) -> None:
    """Close what came too late."""
    if not tried.cancelled() and tried.exception() is None:
        tried.result().close()
