"""What the explorer finds: every planted fault, with the package's own code untouched, and nothing where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from remit import call
from remit.gate.attempt import Handlers
from remit.testing import Exploration, Scenario, explore
from testing.explorer import planted
from testing.explorer.works import works

PAY = call("pay", order="o-1", cents=100)
BIG = call("refund", charge="c-1", cents=50_000)
SMALL = call("refund", charge="c-2", cents=5)
NOTICE = call("notify", text="hello")
PAYING = Scenario(name="paying", turns=[PAY, "done"])
REFUNDING = Scenario(name="refunding", turns=[SMALL, "done"])
ASKING = Scenario(name="asking", turns=[BIG, "done"])
NOTICING = Scenario(name="noticing", turns=[NOTICE, "done"])
TWICE = Scenario(name="twice", turns=[[SMALL, SMALL], SMALL, "done"])
READING = Scenario(name="reading", turns=[call("balance", account="a"), "done"])
STRANGERS = Scenario(name="strangers", turns=[call("inbox"), "done"], swaps=[[], [NOTICE]])
LINE = Scenario(name="line", turns=[call("log_entry", line="a"), "done"])
STORIES = [PAYING, REFUNDING, ASKING, NOTICING, TWICE, READING, STRANGERS, LINE]


@dataclass(frozen=True)
class Planted:
    """A fault, a story in which it shows, in how many schedules, and the promises that it breaks."""

    fault: type
    story: Scenario
    breaks: tuple[str, ...]
    schedules: int | Sequence[str] = 60


def found(case: Planted) -> Exploration:
    if issubclass(case.fault, Handlers):
        return explore(works, scenarios=[case.story], schedules=case.schedules, runner=case.fault())
    return explore(works, scenarios=[case.story], schedules=case.schedules, ledger=case.fault)


FOUR = [
    Planted(planted.RecordsTheOutcomeFirst, PAYING, ("is recorded as done, and it did not happen",), 100),
    Planted(planted.RecordsTheDispatchLate, PAYING, ("began before its dispatch was durable", "had 2 effects")),
    Planted(planted.UsesTheApprovalApart, ASKING, ("which is not used up",), 100),
    Planted(planted.DropsTheResultOnCancel, NOTICING, ("the outcome was dropped",), 150),
]
OTHERS = [
    Planted(planted.DropsTheAnswerOnCancel, PAYING, ("has no answer",), 150),
    Planted(planted.ResendsUnderAnotherName, PAYING, ("pay had 2 effects for one key",)),
    Planted(planted.ForgetsTheKey, TWICE, ("effects for one key",), 20),
    Planted(planted.ForgetsSettlements, NOTICING, ("was settled by a person and is unknown",)),
    Planted(planted.ForgetsDecisions, ASKING, ("is paused in the end",), 5),
    Planted(planted.AnswersTwice, PAYING, ("has 2 answers",), 5),
    Planted(planted.DropsLabels, STRANGERS, ("nobody approved it", "what nobody approved differs"), 150),
    Planted(planted.BooksNothing, PAYING, ("are booked",), 5),
    Planted(planted.ShowsSecrets, READING, ("the declared secret is in a request to the model",), 5),
    Planted(planted.ForgetsRequests, LINE, ("1 requests made 2 runs",)),
    Planted(planted.BelievesAnEarlyNo, REFUNDING, ("had 2 effects under operation",), 100),
]


@pytest.mark.parametrize("case", [pytest.param(one, id=one.fault.__name__) for one in FOUR + OTHERS])
def test_a_planted_fault_is_found_and_its_script_shows_it_again(case: Planted) -> None:
    exploration = found(case)
    said = [one for failure in exploration.failures for one in failure.found]
    for promise in case.breaks:
        assert any(promise in one for one in said), said
    first = exploration.failures[0]
    assert f"--seed 0 --schedule '{first.schedule}'" in str(exploration)
    [again] = found(replace(case, schedules=[first.schedule])).failures
    assert (again.schedule, again.found) == (first.schedule, first.found)


def test_without_a_fault_the_same_schedules_hold() -> None:
    exploration = explore(works, scenarios=STORIES, schedules=150)
    assert exploration.holds, str(exploration)
    assert exploration.schedules == 150
