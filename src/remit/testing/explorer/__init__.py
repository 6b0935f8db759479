"""The explorer: an agent's runs, played over and over in virtual time, with another trouble each time, and judged by the books.

Its processes are event loops of its own over one store in memory; its outside world is a model that keeps books. Knows the
public names of the rest. Invariant: the same agent, seed and number of schedules make the same plays and findings.
"""

from __future__ import annotations

from remit.testing.explorer.explore import explore
from remit.testing.explorer.report import Exploration, Failure
from remit.testing.explorer.scenario import Scenario

__all__ = ["Exploration", "Failure", "Scenario", "explore"]
