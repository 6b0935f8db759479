"""Step 1, resolve: a name, through the allowlist of this run, exactly.

Knows names only. Invariant: no name is ever imported, guessed or corrected for the model.
"""

from __future__ import annotations

from remit.gate.code import refuse
from remit.gate.desk import Desk
from remit.gate.draft import Stop
from remit.gate.scene import Proposal, Scene
from remit.tool import Tool, ask_user, withdraw

__all__ = ["resolve"]

_BUILT_IN = {tool.name: tool for tool in (ask_user, withdraw)}


def resolve(desk: Desk, proposal: Proposal, scene: Scene) -> Tool | Stop:
    """The tool that the run was given under this name, as it is today."""
    name = proposal.name
    if name not in scene.recorded:
        near = [one for one in desk.tools.near(name) if one in scene.recorded]
        more = f"Names that are near: {', '.join(near)}." if near else ""
        return Stop("resolve", refuse("tool.unknown", more))
    tool = desk.tools.get(name) or _BUILT_IN.get(name)
    return Stop("resolve", refuse("tool.gone")) if tool is None else tool
