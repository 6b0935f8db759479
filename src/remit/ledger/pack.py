"""A payload as it is kept: as text or, in runs that were compacted, compressed.

Pure. Invariant: what was packed comes back to the letter, so every commitment still fits.
"""

from __future__ import annotations

import zlib

from remit.errors import LedgerError

__all__ = ["packed", "unpacked"]

_LEVEL = 9
_WORDS = (
    b'"kind":"results.appended","kind":"call.considered","verdict":"ready","step":"authorize","code":"allowed","coercions":[],'
    b'"resources":null,"joined":null,"author":null,"detail":null,"effect":"write","contract":"","kind":"operation.moved",'
    b'"on":"returned","state":"succeeded","closed":null,"attempt":1,"key":"","arguments_digest":"","owner":"owner_",'
    b'"not_after_ms":null,"approval":null,"evidence":null,"by":"handler","kind":"call.ended","outcome":{"value":null,'
    b'"shown":null,"blob":null,"attachments":[],"repeat":false,"available":true,"incomplete":false,"operation":"op_",'
    b'"kind":"succeeded","retry":"no"},"label":{"trusted":true,"readers":"everyone","sources":[]},"changed":false,'
    b'"latency_ms":0,"kind":"model.requested","turn":1,"reserved":{"turns":1,"calls":0,"tokens":0,"usd_micros":0,'
    b'"approvals":0,"active_ms":0},"kind":"model.replied","usage":{"input_tokens":0,"output_tokens":0,"cached_tokens":0,'
    b'"cost_usd_micros":0},"wording":"{\\"role\\":\\"assistant\\",\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"'
    b'\\"type\\":\\"tool_use\\",\\"id\\":\\"toolu_\\",\\"name\\":\\"\\",\\"input\\":{\\"'
    b'{\\"role\\":\\"user\\",\\"content\\":[{\\"type\\":\\"tool_result\\",\\"tool_use_id\\":\\"toolu_'
)
"""What most pages say; kept for ever as it is, as whatever is packed with it is read with it."""


def packed(text: str) -> bytes | None:
    """The text compressed; None where that is no shorter."""
    plain = text.encode()
    work = zlib.compressobj(_LEVEL, zdict=_WORDS)
    data = work.compress(plain) + work.flush()
    return data if len(data) < len(plain) else None


def unpacked(kept: str | bytes) -> str:
    """The text again.

    Raises:
        LedgerError: these bytes are none that were packed (`ledger.unreadable`).
    """
    if isinstance(kept, str):
        return kept
    try:
        return zlib.decompressobj(zdict=_WORDS).decompress(kept).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise LedgerError("a payload cannot be read: it was altered", code="ledger.unreadable", retryable=False) from error
