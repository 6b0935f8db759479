"""The answer type: its schema for the provider, and the check that a final text holds it.

Knows pydantic, loaded only where an agent has an answer type. It does not know models or runs.
Invariant: what `check` lets through is JSON that the type accepts, and an object on the wire.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from remit.errors import DefinitionError
from remit.types.ident import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["AnswerType"]

_WRAPPED = "answer"


@dataclass(frozen=True, slots=True)
class AnswerType:
    """A type that the final answer must have.

    Args:
        schema: JSON Schema of an object; a type that is none is the object's one member `answer`.
        wrapped: whether it is.
        adapter: reads and writes values of the type.
    """

    schema: Mapping[str, Json]
    wrapped: bool
    adapter: TypeAdapter[object]

    @classmethod
    def of(cls, agent: str, form: object) -> AnswerType:
        """The answer type that `form` (a class, dataclass, pydantic model, `list[...]`, ...) describes.

        Raises:
            DefinitionError: no JSON Schema can be made of it.
        """
        from pydantic import PydanticUserError, TypeAdapter
        from pydantic_core import PydanticOmit

        try:
            adapter = TypeAdapter[object](cast("type[object]", form))
            schema = cast("dict[str, Json]", adapter.json_schema())
        except (PydanticUserError, PydanticOmit, TypeError, NameError) as error:
            raise DefinitionError(
                f"answer= of agent {agent!r} has no JSON Schema; give a dataclass, a pydantic model or a JSON type",
                code="agent.answer",
                agent=agent,
            ) from error
        if schema.get("type") == "object":
            return cls(schema, False, adapter)
        return cls(_wrap(schema), True, adapter)

    def check(self, text: str) -> tuple[Json, str | None]:
        """The answer in `text` as JSON, and None; or None and what is wrong with it, for the model to read."""
        from pydantic import ValidationError

        try:
            raw: object = json.loads(_unfenced(text))
        except ValueError as error:
            return None, f"The answer is not JSON ({error.args[0] if error.args else 'unreadable'})."
        if self.wrapped:
            if not isinstance(raw, dict) or set(cast("dict[str, object]", raw)) != {_WRAPPED}:
                return None, f"The answer must be a JSON object with the one member {_WRAPPED!r}."
            raw = cast("dict[str, object]", raw)[_WRAPPED]
        try:
            value = self.adapter.validate_json(json.dumps(raw))
        except ValidationError as error:
            faults = "; ".join(
                f"/{'/'.join(map(str, fault['loc']))}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_input=False, include_context=False)[:8]
            )
            return None, f"The answer does not have the form that was asked for: {faults}."
        return cast("Json", self.adapter.dump_python(value, mode="json")), None


def _wrap(schema: dict[str, Json]) -> dict[str, Json]:
    definitions = schema.pop("$defs", None)
    wrapped: dict[str, Json] = {
        "type": "object",
        "properties": {_WRAPPED: schema},
        "required": [_WRAPPED],
        "additionalProperties": False,
    }
    return wrapped if definitions is None else wrapped | {"$defs": definitions}


def _unfenced(text: str) -> str:
    """The text without the code fence that models like to put around JSON."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text[text.index("\n") + 1 : -3]
    return text
