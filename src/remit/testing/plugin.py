"""The pytest plugin: the fixtures `remit_test`, also in tests that are coroutines, and `remit_explore`.

The only module here that knows pytest. It loads nothing of the rest until a test asks for the fixture.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from remit.agent import Agent
    from remit.testing import Exploration, RemitTest, Scenario

__all__ = ["Explore", "pytest_pyfunc_call", "remit_explore", "remit_test"]


@pytest.fixture
def remit_test() -> Generator[RemitTest]:
    """Runs of an agent in a test: a scripted model, a ledger in memory, stubs."""
    from remit.testing import RemitTest

    stage = RemitTest()
    yield stage
    asyncio.run(stage.aclose())


class Explore(Protocol):
    """What the fixture `remit_explore` is: explores an agent, and fails the test if a promise did not hold."""

    def __call__(
        self,
        agent: Agent,
        *,
        scenarios: Sequence[Scenario] | None = None,
        schedules: int | Sequence[str] = 300,
        seed: int = 0,
        live: bool = False,
        deps: Callable[[], object] | None = None,
    ) -> Exploration: ...


@pytest.fixture
def remit_explore() -> Explore:
    """Runs of an agent with every kind of trouble: crashes, timeouts, duplicates, lost replies."""

    def explored(
        agent: Agent,
        *,
        scenarios: Sequence[Scenario] | None = None,
        schedules: int | Sequence[str] = 300,
        seed: int = 0,
        live: bool = False,
        deps: Callable[[], object] | None = None,
    ) -> Exploration:
        from remit.testing import explore

        found = explore(agent, scenarios=scenarios, schedules=schedules, seed=seed, live=live, deps=deps)
        if not found.holds:
            pytest.fail(str(found), pytrace=False)
        return found

    return explored


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test that uses the fixture, unless another plugin is marked to."""
    function = pyfuncitem.obj
    if "remit_test" not in pyfuncitem.fixturenames or not inspect.iscoroutinefunction(function):
        return None
    if any(pyfuncitem.get_closest_marker(name) for name in ("asyncio", "anyio", "trio")):
        return None
    names = inspect.signature(function).parameters
    asyncio.run(function(**{name: pyfuncitem.funcargs[name] for name in names if name in pyfuncitem.funcargs}))
    return True
