"""Images and files on the wire.

Knows which media types providers take, not how a protocol frames them. Invariant: what cannot be sent is
refused where a person sent it, and described in words where a tool returned it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from remit.errors import InputError
from remit.types.outcome import Attachment
from remit.types.part import File, Image, Part, Text

__all__ = ["IMAGES", "PDF", "as_part", "as_text", "base64", "data_url", "described", "spoken"]

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
_TEXT = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/csv"})


def base64(data: bytes) -> str:
    """Bytes as base64 text."""
    return b64encode(data).decode("ascii")


def data_url(media_type: str, data: bytes) -> str:
    """Bytes as a `data:` URL."""
    return f"data:{media_type};base64,{base64(data)}"


def as_text(media_type: str, data: bytes) -> str | None:
    """The text that a file holds, None where it is of another kind or not UTF-8."""
    kind = media_type.partition(";")[0].strip()
    if not (kind.startswith("text/") or kind in _TEXT):
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def as_part(attachment: Attachment, data: bytes) -> Part | None:
    """What a tool returned, as a part that a provider takes, or None."""
    if attachment.media_type in IMAGES:
        return Image(data, attachment.media_type)
    if attachment.media_type == PDF or as_text(attachment.media_type, data) is not None:
        return File(data, attachment.media_type, attachment.name)
    return None


def described(attachment: Attachment, data: bytes) -> str:
    """The words in place of bytes that a protocol cannot carry."""
    return f"[{attachment.name}: {attachment.media_type}, {len(data)} bytes, not shown]"


def spoken(parts: Sequence[Part]) -> list[Part]:
    """The parts of a person's message that say something, checked to be such as every provider takes.

    Raises:
        InputError: nothing is said, or an image or file is of a kind that providers do not take.
    """
    kept = [part for part in parts if not isinstance(part, Text) or part.text.strip()]
    if not kept:
        raise InputError("a message needs a part that is not empty", code="message.empty")
    for part in kept:
        match part:
            case Image(data=data, media_type=kind):
                if not data or kind not in IMAGES:
                    raise InputError(
                        f"an image must be one of {', '.join(sorted(IMAGES))}, and not empty", code="message.image"
                    )
            case File(data=data, media_type=kind):
                if not data or (kind != PDF and as_text(kind, data) is None):
                    raise InputError("a file must be a PDF or UTF-8 text, and not empty", code="message.file")
            case Text():
                pass
    return kept
