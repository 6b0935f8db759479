"""`@tool(...)`: a typed function becomes a `Tool`.

Knows functions, and the names where they are defined. Invariant: pydantic is loaded when a function is read, not before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Unpack

from remit.tool.contract import Tool, made
from remit.tool.definition import Source, check_name
from remit.tool.option import Options, check_options, wrong

__all__ = ["tool"]


def tool(
    function: Callable[..., object] | None = None, /, *, name: str | None = None, **options: Unpack[Options]
) -> Callable[[Callable[..., object]], Tool]:
    """Make a tool of a typed function with a docstring in Google form.

    A parameter annotated `Context` (or `Context[Deps]`) is given the call's context and is not shown to models.

    Args:
        function: not used: `@tool` without its effect is refused by name.
        name: what models call it; the function's name by default.
        options: `effect` is required: `READ` or `write(once_per=..., recovery=...)`. Further:
            `scopes`: what the principal needs. `owns`: `(arguments, ctx)`, its answer is a fact that policy reads.
            `timeout_s`, `rate`, `concurrency`, `max_result_chars`: bounds. `resources`: what a call touches: names,
            parameters or a function of the arguments. `label`: of its results: TRUSTED is your word that
            nobody who could steer the model may have written them; without one they are untrusted, and for the run's
            principal only. `free`: parameters that may be
            untrusted. `sends_to`: who can read what it sends: subjects, "everyone", or a function. `open_world`: it
            reaches beyond the application. `approve`: `when(...)`, `always(...)` or `never`. `secret`: parameters that
            are masked for approvers. `bound`: parameters filled from the principal. `polls`: repeating it is
            normal while its result changes. `preview`: the sentence that an approver reads. `sandbox`: what it must run
            in. `strict`: ask the provider to hold to the schema.

    Raises:
        DefinitionError: naming the tool, and the parameter where there is one.
    """
    if function is not None:
        raise wrong(getattr(function, "__name__", "tool"), "needs an effect: @tool(effect=READ) or write(...)", "effect")
    local_names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]

    def define(function: Callable[..., object]) -> Tool:
        from remit.tool.signature import read

        called = str(getattr(function, "__name__", type(function).__name__)) if name is None else name
        check_name(called)
        check_options(called, options)
        bound = options.get("bound") or {}
        reading = read(function, called, bound=bound, local_names=local_names)
        source = Source(called, reading.description, reading.schema, function, reading.form, reading.context)
        return made(source, options)

    return define
