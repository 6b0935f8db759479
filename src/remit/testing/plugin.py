"""The pytest plugin: the fixture `remit_test`, also in tests that are coroutines.

The only module here that knows pytest. It loads nothing of the rest until a test asks for the fixture.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from remit.testing import RemitTest

__all__ = ["pytest_pyfunc_call", "remit_test"]


@pytest.fixture
def remit_test() -> Generator[RemitTest]:
    """Runs of an agent in a test: a scripted model, a ledger in memory, stubs."""
    from remit.testing import RemitTest

    stage = RemitTest()
    yield stage
    asyncio.run(stage.aclose())


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
