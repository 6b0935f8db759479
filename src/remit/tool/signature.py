"""Reading a typed function: its parameters, its docstring, and from them a schema and a strict typed form.

Knows pydantic and docstrings, loaded when a tool is defined; no effect, policy or run. Invariant:
what the schema says and what the types say come from the same annotations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, cast, get_origin, get_type_hints

from remit.errors import DefinitionError
from remit.tool.arguments import Context
from remit.tool.schema import Schema, declared, rewrite
from remit.types.ident import Json

__all__ = ["Reading", "read"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A function as a tool: `context` is the name of its Context parameter; `schema` is closed everywhere."""

    description: str
    schema: Schema
    form: TypedForm
    context: str | None


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    annotation: object
    default: object = inspect.Parameter.empty
    description: str = ""


class TypedForm:
    """Strict typed values from plain JSON text, by pydantic."""

    __slots__ = ("_adapter",)

    def __init__(self, adapter: object) -> None:
        from pydantic import TypeAdapter

        self._adapter = cast("TypeAdapter[dict[str, object]]", adapter)

    def read(self, text: str) -> dict[str, object]:
        """The values; what is absent has the function's own default.

        Raises:
            ValueError: pydantic's `ValidationError`, or a validator of the tool's author failed.
        """
        try:
            return self._adapter.validate_json(text, strict=True)
        except ValueError:
            raise
        except Exception:
            raise ValueError("a validator failed") from None


def read(
    function: Callable[..., object],
    name: str,
    *,
    bound: Collection[str],
    local_names: Mapping[str, object],
    context: type = Context,
    described: bool = True,
) -> Reading:
    """Read a function.

    Args:
        context: the type of the parameter that is not part of the schema.
        described: whether it needs a docstring.

    Raises:
        DefinitionError: naming the tool and the parameter: no docstring, no annotation, `*args`, `**kwargs`,
            positional-only, a type that JSON has no form for, a default that is not of its type, two contexts,
            a bound name that is no parameter, a described one that is none.
    """
    signature = inspect.signature(function)
    hints = {
        one.name: _annotation(function, one, name, local_names)
        for one in signature.parameters.values()
        if one.name not in bound or one.annotation is not one.empty
    }
    contexts = [one for one, hint in hints.items() if hint is context or get_origin(hint) is context]
    if len(contexts) > 1:
        raise _wrong(name, contexts[1], f"only one parameter can be the {context.__name__}")
    for one in bound:
        if one not in signature.parameters or one in contexts:
            raise _wrong(name, one, "is bound, and is no parameter of the function")
    description, told = _docstring(function, name, signature.parameters, needed=described)
    parameters = [
        _parameter(one, hints[one.name], told.get(one.name, ""))
        for one in signature.parameters.values()
        if one.name not in contexts and one.name not in bound
    ]
    schema, form = _form(name, parameters)
    return Reading(description, schema, form, contexts[0] if contexts else None)


def _wrong(tool: str, parameter: str, problem: str) -> DefinitionError:
    message = f"tool {tool!r}: parameter {parameter!r} {problem}"
    return DefinitionError(message, code="definition.parameter", tool=tool, parameter=parameter)


def _annotation(
    function: Callable[..., object], one: inspect.Parameter, tool: str, local_names: Mapping[str, object]
) -> object:
    if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL, one.POSITIONAL_ONLY):
        raise _wrong(tool, one.name, "cannot be *args, **kwargs or positional-only: a model names its arguments")
    if one.annotation is one.empty:
        raise _wrong(tool, one.name, "has no type annotation")
    holder = SimpleNamespace(__annotations__={one.name: one.annotation})
    target = inspect.unwrap(function)
    scope = cast("dict[str, object]", getattr(getattr(target, "__func__", target), "__globals__", {}))
    try:
        return get_type_hints(holder, scope, dict(local_names), include_extras=True)[one.name]
    except Exception as error:
        raise _wrong(tool, one.name, f"has an annotation that cannot be resolved ({type(error).__name__})") from None


def _docstring(
    function: Callable[..., object], tool: str, parameters: Collection[str], *, needed: bool
) -> tuple[str, dict[str, str]]:
    import docstring_parser

    text = inspect.getdoc(function)
    parsed = docstring_parser.parse(text or "", style=docstring_parser.DocstringStyle.GOOGLE)
    if needed and not parsed.description:
        problem = f"tool {tool!r} has no docstring: its description is all that a model knows of it"
        raise DefinitionError(problem, code="definition.description", tool=tool)
    described = {one.arg_name: (one.description or "").strip() for one in parsed.params}
    for one in described:
        if one not in parameters:
            raise _wrong(tool, one, "is described in the docstring, and is no parameter")
    return (parsed.description or "").strip(), described


def _parameter(one: inspect.Parameter, hint: object, described: str) -> _Parameter:
    from pydantic.fields import FieldInfo

    default = one.default
    if isinstance(default, FieldInfo):
        if default.metadata:
            hint = Annotated[(hint, *default.metadata)]  # pyright: ignore
        described = default.description or described
        default = one.empty if default.is_required() else default.get_default(call_default_factory=False)
    return _Parameter(one.name, hint, default, described)


def _form(tool: str, parameters: list[_Parameter]) -> tuple[Schema, TypedForm]:
    adapter = _adapter(tool, parameters)
    schema = cast("Schema", rewrite(cast("Json", _json_schema(tool, adapter, parameters)), _tidy))
    schema.setdefault("properties", {})
    schema.pop("description", None)
    form = TypedForm(adapter)
    for one in parameters:
        node = declared(schema)[one.name]
        if isinstance(node, dict):
            if one.description and "description" not in node:
                node["description"] = one.description
            _literal_default(tool, one, node, form)
    return schema, form


def _adapter(tool: str, parameters: list[_Parameter]) -> object:
    from typing import NotRequired

    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError
    from typing_extensions import TypedDict

    fields = {
        one.name: one.annotation if one.default is inspect.Parameter.empty else NotRequired[one.annotation]
        for one in parameters
    }
    shape = TypedDict("Arguments", fields)  # pyright: ignore
    shape.__pydantic_config__ = {"extra": "forbid"}  # pyright: ignore
    try:
        return TypeAdapter(shape)
    except (PydanticUserError, TypeError, NameError) as error:
        if len(parameters) > 1:
            for one in parameters:
                _adapter(tool, [one])
        name = parameters[0].name if parameters else ""
        raise _wrong(tool, name, f"has a type that cannot be read from JSON ({type(error).__name__})") from None


def _json_schema(tool: str, adapter: object, parameters: list[_Parameter]) -> Schema:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return cast("TypeAdapter[object]", adapter).json_schema(mode="validation")
    except PydanticUserError as error:
        if len(parameters) > 1:
            for one in parameters:
                _json_schema(tool, _adapter(tool, [one]), [one])
        name = parameters[0].name if parameters else ""
        raise _wrong(tool, name, f"has a type that JSON Schema has no form for ({type(error).__name__})") from None


def _tidy(node: Schema) -> Schema:
    """Without generated titles; objects with properties refuse others."""
    if isinstance(node.get("title"), str):
        node.pop("title")
    if "properties" in node:
        node.setdefault("additionalProperties", False)
    return node


def _literal_default(tool: str, one: _Parameter, node: Schema, form: TypedForm) -> None:
    """Put the default into the schema, if JSON can say it; else the function's own default stands."""
    import json

    from pydantic import TypeAdapter

    if one.default is inspect.Parameter.empty:
        node.pop("default", None)
        return
    adapter = TypeAdapter(cast("type[object]", one.annotation))
    try:
        literal = cast("Json", adapter.dump_python(one.default, mode="json", warnings="none"))
        text = json.dumps(literal, allow_nan=False)
    except (ValueError, TypeError):
        node.pop("default", None)
        return
    try:
        adapter.validate_json(text, strict=True)
    except ValueError:
        raise _wrong(tool, one.name, "has a default that is not of its type") from None
    node["default"] = literal
