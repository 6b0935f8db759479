"""How many commits the durable appends of runs at once take: counted, not timed.

An append is what one run must have on the disk before it goes on: a dispatch, a request with the outcomes before it, an end. A
commit brings all that wait for it to the disk at once. Usage: python bench/appends.py --runs 8 --turns 20.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from remit import (
    CALL,
    READ,
    TRUSTED,
    Agent,
    Budget,
    Finished,
    Principal,
    Remit,
    ScriptedModel,
    SqliteLedger,
    call,
    manual,
    never,
    tool,
    write,
)
from remit.types.ledger import Append, Committed

__all__ = ["Counted", "count"]


@dataclass(frozen=True)
class Counted:
    """What was counted while so many runs went on at once."""

    runs: int
    appends: int
    commits: int

    @property
    def share(self) -> float:
        """Commits for each append."""
        return self.commits / self.appends


class _Counting(SqliteLedger):
    appends = 0

    async def commit(self, append: Append) -> Committed:
        self.appends += 1
        return await super().commit(append)


@tool(effect=READ, label=TRUSTED)
async def look(number: int) -> int:
    """Read.

    Args:
        number: what
    """
    await asyncio.sleep(0)
    return number


@tool(effect=write(once_per=CALL, recovery=manual), approve=never, label=TRUSTED)
async def put(number: int) -> int:
    """Write.

    Args:
        number: what
    """
    await asyncio.sleep(0)
    return number


async def count(path: Path, *, runs: int, turns: int) -> Counted:
    """So many runs at once, each with a read and a write in each of its turns."""

    def reply(body: dict[str, object]) -> object:
        messages = body["messages"]
        assert isinstance(messages, list)
        number = len(messages) // 2
        return "Done." if number >= turns else [call("look", number=number), call("put", number=number)]

    ledger = _Counting(path)
    budget = Budget(turns=turns + 1, calls=2 * turns)
    agent = Agent("a", model=ScriptedModel(reply), instructions="Put.", tools=[look, put], budget=budget)  # type: ignore[arg-type]
    async with Remit(ledger=ledger, agents=[agent]) as remit:
        before = (ledger.appends, ledger.commits)
        ends = await asyncio.gather(*(remit.run("a", f"go {number}", principal=Principal("alice")) for number in range(runs)))
        assert all(isinstance(end, Finished) for end in ends)
        return Counted(runs, ledger.appends - before[0], ledger.commits - before[1])


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="*", default=[1, 8, 64])
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each, for programs")
    given = parser.parse_args()
    for runs in given.runs:
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(count(Path(folder) / "remit.db", runs=runs, turns=given.turns))
        if given.json:
            print(json.dumps(asdict(found)))
            continue
        print(
            f"{found.runs} runs at once: {found.appends} appends, {found.commits} commits, {found.share:.2f} of a commit each"
        )


if __name__ == "__main__":
    main()
