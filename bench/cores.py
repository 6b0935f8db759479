"""Which logical CPU the fake model runs on and which the subjects: two cores, not two threads of one, where there are two."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TOPOLOGY = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Cores:
    """The logical CPUs of a measurement; None where it is not said.

    Args:
        model: the fake model's.
        subject: that of whatever is measured.
        siblings: the threads of the fake model's core, itself included; empty where the system does not say.
    """

    model: int | None = None
    subject: int | None = None
    siblings: frozenset[int] = frozenset()

    def describe(self) -> str:
        """They, as a line of the report."""
        if self.model is None or self.subject is None:
            return "not pinned: there is one CPU, or the system does not say which there are"
        where = f"the fake model on CPU {self.model}, the subjects on CPU {self.subject}"
        if self.subject in self.siblings:
            return f"{where}: two threads of the only core, so wall time is worse than it would be"
        threads = ", ".join(str(one) for one in sorted(self.siblings)) or "not known"
        return f"{where} (threads of the fake model's core: {threads})"


def listed(text: str) -> frozenset[int]:
    """The numbers of a list as the system writes it: `0,4` or `0-1`."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def siblings_of(cpu: int, topology: Path = TOPOLOGY) -> frozenset[int]:
    """The threads of this logical CPU's core."""
    try:
        return listed((topology / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text())
    except (OSError, ValueError):
        return frozenset()


def choose(there: list[int], topology: Path = TOPOLOGY) -> Cores:
    """The first of them for the fake model, and for the subjects the first one of another core; else of the same core."""
    if len(there) < 2:
        return Cores()
    siblings = siblings_of(there[0], topology)
    other = next((one for one in there[1:] if one not in siblings), there[1])
    return Cores(there[0], other, siblings)


def chosen() -> Cores:
    """Those of this machine that this process may use."""
    return choose(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else Cores()
