"""What kinds of things an agent is described with.

Knows what each must be, not what it is for. Invariant: nothing is called or read here that acts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeGuard, cast

from remit.canonical import encode
from remit.errors import InputError
from remit.types.budget import Budget
from remit.types.given import meant
from remit.types.ident import Json
from remit.types.model import Model

__all__ = ["identity_of", "is_json_object", "is_list", "is_model", "model_fault", "protocol_of", "unknown_tool"]

_PROTOCOLS = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    **dict.fromkeys(("openai-chat", "ollama", "vllm", "llama-cpp"), "openai-chat"),
}


def is_list(value: object) -> bool:
    """Whether it holds things one after the other, and is not one text or mapping."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def is_json_object(value: object) -> TypeGuard[Mapping[str, Json]]:
    """Whether it is a dict of JSON values by names."""
    if not isinstance(value, Mapping):
        return False
    members = cast("Mapping[object, object]", value)
    try:
        encode(dict(members))
    except InputError:
        return False
    return all(isinstance(name, str) for name in members)


def is_model(value: object) -> bool:
    """Whether it can be asked: a `Model`, and not the class of one."""
    return not isinstance(value, type) and all(hasattr(value, name) for name in ("identity", "name", "wire", "ask", "digest"))


def model_fault(value: object) -> str | None:
    """What is wrong with it as a model, which is `"PROVIDER:NAME"` or a `Model`; None if nothing is."""
    if isinstance(value, str):
        provider, _, name = value.partition(":")
        return None if provider and name else 'write "PROVIDER:NAME", for example "anthropic:claude-sonnet-5-5"'
    return None if is_model(value) else 'write "PROVIDER:NAME", or give a Model'


def identity_of(model: str | Model) -> str:
    """`provider:NAME`."""
    return model if isinstance(model, str) else model.identity


def protocol_of(model: str | Model) -> str | None:
    """The protocol that it speaks; None where that shows when it is made of its name."""
    return _PROTOCOLS.get(model.partition(":")[0]) if isinstance(model, str) else model.wire.protocol


def unknown_tool(budget: Budget, names: Iterable[str]) -> str | None:
    """What is wrong with the tools that `calls_per_tool` names; None if there are all of them."""
    known = set(names)
    for name in budget.calls_per_tool if isinstance(budget.calls_per_tool, Mapping) else ():
        if name not in known:
            return f"calls_per_tool names {name!r}, which is no tool of it{meant(name, known)}"
    return None
