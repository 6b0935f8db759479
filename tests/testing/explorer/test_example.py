"""Arguments that are made up from a schema are such as the tool takes."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from remit import READ, Arguments, Tool
from remit.testing.explorer.example import VARIANTS, example
from remit.types.ident import Json


def made(properties: Mapping[str, Json], **more: Json) -> Tool:
    schema: dict[str, Json] = {"type": "object", "properties": dict(properties), "required": [*properties], **more}
    return Tool.from_schema(name="t", description="d", schema=schema, handler=lambda arguments, ctx: None, effect=READ)


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "number"}, "d": {"type": "boolean"}},
        {"a": {"type": "string", "minLength": 12}, "b": {"type": "string", "maxLength": 3}},
        {
            "a": {"type": "integer", "minimum": 5, "maximum": 9},
            "b": {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5},
        },
        {"a": {"enum": ["x", "y"]}, "b": {"const": 7}, "c": {"type": ["null", "string"]}},
        {"a": {"type": "array", "items": {"type": "integer"}, "minItems": 2}, "b": {"type": "array"}},
        {"a": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}},
        {"a": {"anyOf": [{"type": "null"}, {"type": "integer"}]}, "b": {"allOf": [{"type": "string"}, {"minLength": 9}]}},
        {"a": {"type": "string", "format": "date"}, "b": {"type": "string", "format": "email"}},
        {"a": {"$ref": "#/$defs/money"}},
    ],
)
def test_every_variant_is_valid(properties: Mapping[str, Json]) -> None:
    money: Json = {"money": {"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]}}
    tool = made(properties, **{"$defs": money})
    for variant in range(VARIANTS):
        value = example(dict(tool.declaration.schema), variant)
        assert isinstance(tool.check(json.dumps(value)), Arguments), value


def test_variants_differ_where_they_can() -> None:
    tool = made({"name": {"type": "string"}, "cents": {"type": "integer"}})
    values = {json.dumps(example(dict(tool.declaration.schema), variant)) for variant in range(VARIANTS)}
    assert len(values) == VARIANTS
