"""The rules of labels, assuming that a model obeys every sentence it reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from remit.types.label import EVERYONE, TRUSTED, Label

__all__ = ["context_label", "may_send", "missing", "needs_approval", "result_label"]


def needs_approval(
    label: Label, tool_is_write: bool, *, arguments: Iterable[str] = (), free: Collection[str] = ()
) -> tuple[str, ...]:
    """Why a call that a model proposed in a context of this label needs a person; empty: it does not.

    Every write in an untrusted context does: what is untrusted could have chosen that it happens, even
    where it could not choose the arguments. `free` only decides which arguments the reason names.
    """
    if label.trusted or not tool_is_write:
        return ()
    sources = ", ".join(sorted(label.sources)) or "an unnamed source"
    reasons = [f"the context is untrusted ({sources})"]
    doubtful = sorted(name for name in arguments if name not in free)
    if doubtful:
        reasons.append(f"untrusted text may have chosen: {', '.join(doubtful)}")
    return tuple(reasons)


def may_send(label: Label, sends_to: Collection[str] | Literal["everyone"] | None, open_world: bool) -> bool:
    """Whether data of this label may go where the tool sends it.

    Args:
        sends_to: who can read it there: subjects, or `everyone`. None is undeclared: a tool that stays inside the
            application sends nowhere new; of an open-world one nobody is known to be the only reader.
    """
    if sends_to is None:
        return label.readers is None or not open_world
    return label.may_flow_to(EVERYONE if isinstance(sends_to, str) else frozenset(sends_to))


def result_label(tool_label: Label | None, context: Label, *, subject: str = "") -> Label:
    """The label of a tool's result: what the tool declares, joined with the context that its arguments came from."""
    return (missing(subject) if tool_label is None else tool_label).join(context)


def missing(subject: str) -> Label:
    """The label of what has none: untrusted, and for the run's principal only."""
    return Label(trusted=False, readers=frozenset({subject} if subject else ()), sources=frozenset({"unlabelled"}))


def context_label(labels: Iterable[Label], start: Label = TRUSTED) -> Label:
    """The label of a context in which all of these are visible."""
    for one in labels:
        start = start.join(one)
    return start
