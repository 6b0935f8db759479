"""What an exploration found: how much was played, what was reached, and each broken promise as a script that shows it again.

Knows no play. Invariant: nothing in it but the seconds depends on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.testing.explorer.rows import Row

__all__ = ["Exploration", "Failure", "row_name"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A schedule in which promises were broken.

    Args:
        schedule: as short as it could be made.
        found: what was broken, and where.
    """

    schedule: str
    found: tuple[str, ...]
    seed: int
    reference: str

    @property
    def script(self) -> str:
        """What shows it again: a command, and the same in Python."""
        module, _, name = self.reference.partition(":")
        made = f"from {module} import {name}" if name else f"# {self.reference}: the agent"
        return (
            f"remit explore {self.reference} --seed {self.seed} --schedule '{self.schedule}'\n"
            "\n"
            "from remit.testing import explore\n"
            f"{made}\n"
            f"print(explore({name or 'agent'}, seed={self.seed}, schedules=[{self.schedule!r}]))"
        )

    def __str__(self) -> str:
        return "\n".join([*(f"  {one}" for one in self.found), "", *(f"    {line}" for line in self.script.splitlines())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """The outcome of all schedules.

    Args:
        schedules: how many were played.
        seconds: how long it took.
        scenarios: their names.
        failures: those that broke a promise, the first ones as short as they could be made.
        failed: how many there were in all.
        taken: rows of the table of effects that were taken somewhere.
        missed: rows that these tools can take and that no schedule took.
        left_out: what was not explored, and why.
    """

    schedules: int
    seconds: float
    scenarios: tuple[str, ...]
    failures: tuple[Failure, ...]
    failed: int
    taken: frozenset[Row]
    missed: frozenset[Row]
    left_out: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every promise held in every schedule."""
        return not self.failed

    @property
    def rows_taken(self) -> tuple[str, ...]:
        """The rows that were taken, as people read them."""
        return tuple(sorted(map(row_name, self.taken)))

    @property
    def rows_missed(self) -> tuple[str, ...]:
        """The rows that were not, and could have been."""
        return tuple(sorted(map(row_name, self.missed)))

    def __str__(self) -> str:
        rate = self.schedules / self.seconds if self.seconds else 0.0
        lines = [f"{self.schedules} schedules of {len(self.scenarios)} scenarios in {self.seconds:.1f} s ({rate:.0f} a second)"]
        lines.append(f"scenarios: {', '.join(self.scenarios)}")
        lines.append(f"rows of the table of effects: {len(self.taken)} taken, {len(self.missed)} that could be were not")
        lines += [f"  not taken: {row}" for row in self.rows_missed]
        lines += [f"not explored: {one}" for one in self.left_out]
        lines.append("every promise held" if self.holds else f"{self.failed} schedules broke a promise")
        lines += [f"\n{number}. {one.schedule}\n{one}" for number, one in enumerate(self.failures, start=1)]
        return "\n".join(lines)


def row_name(row: Row) -> str:
    """A row as people read it: from, and on what."""
    state, on = row
    return f"{state or 'proposal'}, {on}"
