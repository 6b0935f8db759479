"""The edge to foreign code: what leaves it is an `Exception`, unless somebody means the task itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator

import pytest

from remit.foreign import ForeignError, contained, origin

NOT_EXCEPTIONS = [asyncio.CancelledError, SystemExit, KeyboardInterrupt, GeneratorExit]


@pytest.mark.parametrize("awaiting", [False, True])
@pytest.mark.parametrize("kind", NOT_EXCEPTIONS)
def test_whatever_foreign_code_raises_leaves_as_an_exception(kind: type[BaseException], *, awaiting: bool) -> None:
    async def story() -> None:
        with pytest.raises(ForeignError) as caught, contained(awaiting=awaiting):
            raise kind
        assert type(origin(caught.value)) is kind

    asyncio.run(story())


def test_a_group_that_is_no_exception_leaves_as_one() -> None:
    with pytest.raises(ForeignError), contained():
        raise BaseExceptionGroup("both", [SystemExit(1), ValueError()])


def test_an_exception_leaves_as_it_is() -> None:
    with pytest.raises(KeyError) as caught, contained():
        raise KeyError("x")
    assert origin(caught.value) is caught.value


def test_the_cancellation_of_the_task_itself_is_not_foreign() -> None:
    async def work() -> None:
        with contained(awaiting=True):
            await asyncio.Event().wait()

    async def story() -> None:
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()

    asyncio.run(story())


def test_a_coroutine_that_is_closed_while_it_awaits_foreign_code_ends() -> None:
    class Once:
        def __await__(self) -> Iterator[None]:
            yield

    async def work() -> None:
        with contained(awaiting=True):
            await Once()

    async def story() -> Coroutine[object, object, None]:
        begun = work()
        begun.send(None)
        return begun

    asyncio.run(story()).close()
