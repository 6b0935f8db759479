"""What the tests of behaviour have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from behaviour.streamed import STREAMED


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Once with replies that come whole, once with streams."""
    token = STREAMED.set(request.param)
    yield
    STREAMED.reset(token)
