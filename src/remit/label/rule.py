"""The rules of labels, assuming that a model obeys every sentence it reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from remit.types.label import EVERYONE, Label

__all__ = ["may_send", "missing", "needs_approval", "result_label"]

_RESULT = "undeclared result of "


def needs_approval(
    label: Label, tool_is_write: bool, *, arguments: Iterable[str] = (), free: Collection[str] = ()
) -> tuple[str, ...]:
    """Why a call that a model proposed in a context of this label needs a person; empty: it does not.

    Every write in an untrusted context does: what is untrusted could have chosen that it happens, even
    where it could not choose the arguments. `free` only decides which arguments the reason names.
    """
    if label.trusted or not tool_is_write:
        return ()
    reasons = _why_untrusted(label.sources)
    doubtful = sorted(name for name in arguments if name not in free)
    if doubtful:
        reasons.append(f"untrusted text may have chosen: {', '.join(doubtful)}")
    return tuple(reasons)


def _why_untrusted(sources: frozenset[str]) -> list[str]:
    tools = sorted(one.removeprefix(_RESULT) for one in sources if one.startswith(_RESULT))
    named = sorted(one for one in sources if not one.startswith(_RESULT))
    reasons: list[str] = []
    if tools:
        reasons.append(f"the context holds what {', '.join(tools)} returned, which is not declared trusted")
    if named or not tools:
        reasons.append(f"the context is untrusted ({', '.join(named) or 'an unnamed source'})")
    return reasons


def may_send(label: Label, sends_to: Collection[str] | Literal["everyone"] | None, open_world: bool) -> bool:
    """Whether data of this label may go where the tool sends it.

    Args:
        sends_to: who can read it there: subjects, or `everyone`. None is undeclared: a tool that stays inside the
            application sends nowhere new; of an open-world one nobody is known to be the only reader.
    """
    if sends_to is None:
        return label.readers is None or not open_world
    return label.may_flow_to(EVERYONE if isinstance(sends_to, str) else frozenset(sends_to))


def result_label(tool: str, declared: Label | None, context: Label, *, subject: str) -> Label:
    """The label of a tool's result: what the tool declares, joined with the context that its arguments came from."""
    return (missing(subject, tool) if declared is None else declared).join(context)


def missing(subject: str, tool: str = "") -> Label:
    """The label of what has none: untrusted, and for the run's principal only.

    Args:
        tool: what returned it, for people to read.
    """
    source = f"{_RESULT}{tool}" if tool else "unlabelled"
    return Label(trusted=False, readers=frozenset({subject} if subject else ()), sources=frozenset({source}))
