"""The step that only asks a person: a built-in tool that every workflow has, and the rule that asks.

Knows tools and policies. Invariant: it answers nothing by itself; its handler runs once a person has said yes.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.canonical import digest, encode
from remit.policy import Ask, Request
from remit.tool import READ, Arguments, Context, Tool
from remit.types.ident import Digest, Json
from remit.types.label import TRUSTED

__all__ = ["APPROVE", "approve_tool", "asks", "granted"]

APPROVE = "approve"


def granted(arguments: Mapping[str, Json]) -> Digest:
    """What a yes to these arguments is: an approver may have changed them, and then it is no yes to what was asked."""
    return digest("remit.approve", encode(dict(arguments)))


def _answer(arguments: dict[str, Json], ctx: Context[object]) -> str:
    del ctx
    return granted(arguments)


def _sentence(arguments: Arguments) -> str:
    return str(arguments["sentence"])


approve_tool: Tool = Tool.from_schema(
    name=APPROVE,
    description="Ask a person to approve what a sentence says.",
    schema={
        "type": "object",
        "properties": {
            "sentence": {"type": "string", "minLength": 1},
            "scope": {"type": "string", "minLength": 1},
            "two_person": {"type": "boolean"},
            "expires_s": {"type": "number", "exclusiveMinimum": 0},
        },
        "required": ["sentence", "scope", "two_person", "expires_s"],
        "additionalProperties": False,
    },
    handler=_answer,
    effect=READ,
    label=TRUSTED,
    preview=_sentence,
)


def asks(request: Request) -> Ask | None:
    """The policy of a workflow's gate for that tool: a person, as its arguments say. No opinion of any other."""
    if request.tool != APPROVE:
        return None
    said = request.arguments
    return Ask(scope=str(said["scope"]), two_person=said["two_person"] is True, expires_s=float(str(said["expires_s"])))
