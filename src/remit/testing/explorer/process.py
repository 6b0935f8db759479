"""One process of an application: an owner, the requests that are made in it, and the people who decide there.

Knows the public verbs of an owner. Invariant: whatever it is asked for again in a later process, it is asked for in the
same words and under the same request ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from remit.errors import RemitError
from remit.gate import Runner
from remit.owner import Asked, Remit, override
from remit.testing.explorer.handle import Handle
from remit.testing.explorer.loop import Loop
from remit.testing.explorer.people import Leaves, People
from remit.testing.explorer.scenario import Scenario
from remit.testing.explorer.speaker import tagged
from remit.testing.explorer.stage import Subject
from remit.types.ident import Json
from remit.types.ledger import Ledger
from remit.types.model import Model
from remit.types.part import untrusted
from remit.types.run import Paused, Standing
from remit.workflow import Workflow

__all__ = ["Process"]

_LEAVING = ("owner.closed", "owner.not_open")
"""What somebody is told who says something to a process that is just leaving."""
_ROUNDS = 40
"""How often people are asked about one run at most."""


class Process:
    """A process that serves the requests of a scenario.

    Args:
        handle: its own handle of the store.
        ledger: that handle, as the owner is given it.
        subject: what it serves.
        runner: in the place of the one that calls handlers.

    Attributes:
        standings: how each request stood in the end, as this process saw it.
        faults: what should not have been raised.
        leaves: it has gone because another is to take its place.
    """

    def __init__(
        self,
        loop: Loop,
        handle: Handle,
        ledger: Ledger,
        *,
        subject: Subject,
        scenario: Scenario,
        people: People,
        model: Model,
        runner: Runner | None = None,
    ) -> None:
        self.loop = loop
        self.handle = handle
        self.standings: dict[int, Standing] = {}
        self.faults: list[str] = []
        self.leaves: Leaves | None = None
        self.remit: Remit | None = None
        self._ledger = ledger
        self._subject = subject
        self._scenario = scenario
        self._people = people
        self._model = model
        self._runner = runner
        self._beside: list[asyncio.Task[None]] = []
        self._main: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended or is dead."""
        return self.handle.dead or (self._main is not None and self._main.done())

    def start(self, then: Callable[[Remit], object] | None = None, *, deps: object = None) -> None:
        """Begin.

        Args:
            then: a coroutine function that is done in place of serving the requests.
        """
        self._main = self.loop.create_task(self._life(then, deps))

    async def _life(self, then: Callable[[Remit], object] | None, deps: object) -> None:
        try:
            with override(model=self._model, runner=self._runner):
                owner = Remit(
                    ledger=self._ledger,
                    agents=[] if isinstance(self._subject, Workflow) else [self._subject],
                    workflows=[self._subject] if isinstance(self._subject, Workflow) else [],
                    deps=deps,
                    principals=self._people.principals,
                    secrets=self._subject.secrets,
                    drain_s=1.0,
                )
                async with owner as self.remit:
                    await (self._serve_all() if then is None else _awaited(then(self.remit)))
                    await asyncio.gather(*self._beside)
        except Leaves as leaves:
            self.leaves = leaves
        except Exception as error:  # whatever it is, it should not have come out
            self._fault(error)
        finally:
            self.remit = None

    async def _serve_all(self) -> None:
        numbers = range(self._scenario.requests)
        if self._scenario.conversation:
            for number in numbers:
                await self._serve(number)
        else:
            await asyncio.gather(*map(self._serve, numbers))

    async def _serve(self, number: int) -> None:
        remit = self._here
        standing = await remit.run(
            self._subject.name,
            self._asked(number),
            principal=self._people.now,
            conversation="conversation" if self._scenario.conversation else None,
            request_id=f"request-{number}",
        )
        for _ in range(_ROUNDS):
            if not isinstance(standing, Paused):
                break
            await self._people.speak(remit, standing)
            standing = await remit.run_to_end(standing.id)
        self.standings[number] = standing

    def _asked(self, number: int) -> Asked | Mapping[str, Json]:
        if isinstance(self._subject, Workflow):
            return dict(self._scenario.inputs[number])
        text = tagged(self._scenario.request, number)
        return [text, untrusted(self._people.pasted)] if self._scenario.pasted else text

    @property
    def _here(self) -> Remit:
        assert self.remit is not None
        return self.remit

    # what happens meanwhile

    def again(self) -> None:
        """The first request is made once more."""
        if self.remit is not None:
            self._beside.append(self.loop.create_task(self._aside(self._again)))

    def cancel(self) -> None:
        """Every run that has not ended is cancelled."""
        if self.remit is not None:
            self._beside.append(self.loop.create_task(self._aside(self._cancel)))

    def _now(self) -> Remit | None:
        """The owner, while it is open."""
        return self.remit

    async def _again(self) -> None:
        remit = self._now()
        if remit is None:
            return
        standing = await remit.run(
            self._subject.name,
            self._asked(0),
            principal=self._people.now,
            conversation="conversation" if self._scenario.conversation else None,
            request_id="request-0",
        )
        remit = self._now()
        if isinstance(standing, Paused) and remit is not None:
            await self._people.speak(remit, standing)

    async def _cancel(self) -> None:
        remit = self._now()
        if remit is not None:
            for row in await remit.runs(status=("active", "paused", "queued")):
                await remit.cancel(row.id, by="operator")

    async def _aside(self, work: Callable[[], object]) -> None:
        try:
            await _awaited(work())
        except Leaves:
            pass
        except Exception as error:  # whatever it is, it should not have come out
            if not (isinstance(error, RemitError) and error.code in _LEAVING):
                self._fault(error)

    def _fault(self, error: Exception) -> None:
        code = f" ({error.code})" if isinstance(error, RemitError) else ""
        self.faults.append(f"process {self.loop.process} was told {type(error).__name__}{code}: {error}")


async def _awaited(work: object) -> None:
    await work  # type: ignore[misc]
