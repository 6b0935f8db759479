"""The parts of a request or a result: text, images, files. Bytes are stored once, by digest."""

from __future__ import annotations

from dataclasses import dataclass, replace

from remit.types.label import TRUSTED, UNTRUSTED, Label

__all__ = ["File", "Image", "Part", "Text", "untrusted"]


@dataclass(frozen=True, slots=True)
class Text:
    """Text with its label."""

    text: str
    label: Label = TRUSTED


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its bytes (not empty) and media type, for example `image/png`."""

    data: bytes
    media_type: str
    label: Label = TRUSTED


@dataclass(frozen=True, slots=True)
class File:
    """A file that the model may read, for example a PDF."""

    data: bytes
    media_type: str
    name: str = "file"
    label: Label = TRUSTED


Part = Text | Image | File


def untrusted(part: Part | str, *, source: str = "attached") -> Part:
    """Mark what was pasted or attached: the context of the run becomes untrusted, and its writes need approval."""
    value = Text(part) if isinstance(part, str) else part
    return replace(value, label=value.label.join(replace(UNTRUSTED, sources=frozenset({source}))))
