"""Provider-run tools as providers declare them: which of them only look so, and are the application's to run.

Knows the types of late 2026's documentation, by their beginnings; no protocol and no effect. Invariant: the one table that
says who runs a tool. Whoever defines one and whoever sends it ask here.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.types.ident import Json

__all__ = ["runs_here", "waits_for_approval"]

_HERE = (
    "function",
    "custom",
    "namespace",
    "bash",
    "text_editor",
    "memory",
    "computer",
    "browser_toolset",
    "local_shell",
    "apply_patch",
)
"""The provider declares them, and the application runs them. (`browser_search` and the like are a server's own.)"""

_IN_A_PLACE = "shell"
"""Runs where its environment is; which is here, but for a container of the provider's."""


def runs_here(declaration: Mapping[str, Json]) -> bool:
    """Whether the application would have to run the tool. One that does not say where it runs is one of those."""
    kind = str(declaration.get("type"))
    if kind.startswith(_HERE) or declaration.get("execution") == "client":
        return True
    place = declaration.get("environment")
    there = isinstance(place, dict) and str(place.get("type")).startswith("container")
    return kind.startswith(_IN_A_PLACE) and not there


def waits_for_approval(declaration: Mapping[str, Json]) -> bool:
    """Whether the provider would ask the application before it runs the tool, as hosted MCP does unless told not to."""
    return declaration.get("type") == "mcp" and declaration.get("require_approval") != "never"
