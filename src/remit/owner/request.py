"""What was asked for: a request as values, as the JSON that the ledger keeps, and its digest.

Knows parts and labels. It does not know how a run starts. Invariant: a request read back from its
JSON starts the same run, in any process; its bytes lie apart, by digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from remit.canonical import digest, encode
from remit.errors import InputError
from remit.types.change import KeepBlob
from remit.types.codec import decode_label, encode_label
from remit.types.ident import ConversationId, Digest, Json
from remit.types.label import TRUSTED, UNTRUSTED, Label
from remit.types.ledger import Ledger
from remit.types.part import File, Image, Part, Text

__all__ = ["Asked", "Request", "parts_of"]

Asked = str | Part | Sequence[str | Part] | Mapping[str, Json]
"""What an application may pass as a request; of a workflow, its input by parameter."""


def parts_of(asked: Asked) -> tuple[Part, ...]:
    """The parts of a request.

    Raises:
        InputError: there are none, one is empty, or one is no part.
    """
    if isinstance(asked, Mapping) or not isinstance(asked, (str, Text, Image, File, Sequence)):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"the request is a {type(asked).__name__}; give text, Text, Image, File, or a list of them"
        raise InputError(message, code="request.part")
    given = (asked,) if isinstance(asked, (str, Text, Image, File)) else tuple(asked)
    parts: list[Part] = []
    for position, part in enumerate(given):
        if isinstance(part, str):
            part = Text(part)
        if not isinstance(part, (Text, Image, File)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(
                f"part {position} of the request is a {type(part).__name__}; give text, Text, Image or File",
                code="request.part",
            )
        if not (part.text.strip() if isinstance(part, Text) else part.data):
            raise InputError(f"part {position} of the request is empty; leave it out", code="request.empty")
        parts.append(part)
    if not parts:
        raise InputError("the request has no parts; give at least one text", code="request.empty")
    return tuple(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that is needed to start a run later, but for its agent and principal's name.

    Args:
        scopes: the principal's, when it asked.
        imported: a history in provider form, that goes before the parts.
    """

    parts: tuple[Part, ...]
    scopes: frozenset[str] = frozenset()
    conversation: ConversationId | None = None
    imported: tuple[Json, ...] = ()
    imported_label: Label = field(default=UNTRUSTED)

    @property
    def label(self) -> Label:
        """What the parts and the imported history say about the context together."""
        label = self.imported_label if self.imported else TRUSTED
        for part in self.parts:
            label = label.join(part.label)
        return label

    def blobs(self) -> tuple[KeepBlob, ...]:
        """The bytes of its images and files, each under its digest."""
        return tuple(KeepBlob(_blob(part.data), part.data) for part in self.parts if not isinstance(part, Text))

    def digest(self) -> Digest:
        """Changes with every word, byte, label and imported message; not with the scopes."""
        return digest("remit.request", encode(self._plain() | {"scopes": None}))

    def to_json(self) -> str:
        """Its JSON text; the bytes are not in it."""
        return json.dumps(self._plain(), ensure_ascii=True, separators=(",", ":"))

    def _plain(self) -> dict[str, Json]:
        return {
            "parts": [_part_to_json(part) for part in self.parts],
            "scopes": cast("list[Json]", sorted(self.scopes)),
            "conversation": self.conversation,
            "imported": list(self.imported),
            "imported_label": encode_label(self.imported_label),
        }

    @classmethod
    async def from_json(cls, text: str, ledger: Ledger) -> Request:
        """Read one back, with its bytes from the ledger."""
        raw = json.loads(text)
        return cls(
            parts=tuple([await _part_from_json(part, ledger) for part in raw["parts"]]),
            scopes=frozenset(raw["scopes"]),
            conversation=None if raw["conversation"] is None else ConversationId(raw["conversation"]),
            imported=tuple(raw["imported"]),
            imported_label=decode_label(raw["imported_label"]),
        )


def _part_to_json(part: Part) -> dict[str, Json]:
    label = encode_label(part.label)
    match part:
        case Text():
            return {"kind": "text", "text": part.text, "label": label}
        case Image():
            return {"kind": "image", "blob": _blob(part.data), "media_type": part.media_type, "label": label}
        case File():
            return {
                "kind": "file",
                "blob": _blob(part.data),
                "media_type": part.media_type,
                "name": part.name,
                "label": label,
            }


async def _part_from_json(raw: dict[str, str], ledger: Ledger) -> Part:
    label = decode_label(raw["label"])
    if raw["kind"] == "text":
        return Text(raw["text"], label)
    data = await ledger.blob(Digest(raw["blob"]))
    if raw["kind"] == "image":
        return Image(data, raw["media_type"], label)
    return File(data, raw["media_type"], raw["name"], label)


def _blob(data: bytes) -> Digest:
    return Digest(hashlib.sha256(data).hexdigest())
