"""Who listens to a run while it goes on, and when its deltas are dropped."""

from __future__ import annotations

import pytest

from remit.owner.listener import Listeners
from remit.types.ident import RunId

RUN, OTHER = RunId("run_1"), RunId("run_2")


class Dropped:
    """The ledger, as far as listeners use it."""

    def __init__(self) -> None:
        self.runs: list[RunId] = []

    def drop_deltas(self, run: RunId) -> None:
        self.runs.append(run)


def listeners_of(ledger: Dropped) -> Listeners:
    return Listeners(ledger)  # type: ignore[arg-type]


def test_a_run_is_streamed_for_whoever_listens_and_for_nobody_else() -> None:
    listeners = listeners_of(Dropped())
    assert not listeners.wants(RUN, always=False)
    with listeners.listening(RUN):
        assert listeners.wants(RUN, always=False)
        assert not listeners.wants(OTHER, always=False)
        with listeners.listening(RUN):
            pass
        assert listeners.wants(RUN, always=False)
    assert not listeners.wants(RUN, always=False)
    assert listeners.wants(RUN, always=True)


def test_deltas_are_dropped_once_the_run_stands_still_and_the_last_listener_has_gone() -> None:
    ledger = Dropped()
    listeners = listeners_of(ledger)
    with listeners.listening(RUN):
        assert listeners.wants(RUN, always=False)
        with listeners.listening(RUN):
            listeners.stands_still(RUN)
        assert ledger.runs == []
    assert ledger.runs == [RUN]
    listeners.stands_still(RUN)
    assert ledger.runs == [RUN]


def test_a_run_that_goes_on_keeps_its_deltas_when_the_last_listener_goes() -> None:
    ledger = Dropped()
    listeners = listeners_of(ledger)
    with listeners.listening(RUN):
        assert listeners.wants(RUN, always=False)
    assert ledger.runs == []
    listeners.stands_still(RUN)
    assert ledger.runs == [RUN]


@pytest.mark.parametrize("heard", [False, True])
def test_of_a_run_that_was_not_streamed_there_is_nothing_to_drop(heard: bool) -> None:
    ledger = Dropped()
    listeners = listeners_of(ledger)
    if heard:
        with listeners.listening(RUN):
            pass
    listeners.stands_still(RUN)
    assert ledger.runs == []


def test_one_that_goes_on_again_keeps_what_it_says_then() -> None:
    ledger = Dropped()
    listeners = listeners_of(ledger)
    with listeners.listening(RUN):
        assert listeners.wants(RUN, always=False)
        listeners.stands_still(RUN)
        assert listeners.wants(RUN, always=False)
    assert ledger.runs == []
    listeners.stands_still(RUN)
    assert ledger.runs == [RUN]
