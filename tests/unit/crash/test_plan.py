"""When the crash test stops the broker, how long it may take, and what counts as right."""

import pytest

from tests.crash.comparison import Comparison
from tests.crash.plan import Outcome, Plan
from tests.crash.report import lines


@pytest.mark.parametrize(("kills", "stops"), [(50, 3), (5, 1), (3, 3), (1, 1), (7, 0)])
def test_every_stop_of_the_broker_comes_once_among_the_kills(kills: int, stops: int) -> None:
    plan = Plan(kills=kills, broker_stops=stops, nodes=1, seed=1)

    assert sum(plan.stops_broker(kill) for kill in range(1, kills + 1)) == stops


def _outcome(kills: int, dropped_copies: int, unexplained_exits: list[str]) -> Outcome:
    plan = Plan(kills=kills, broker_stops=1, nodes=1, seed=1)
    return Outcome(plan, Comparison(1), Comparison(1), dropped_copies, unexplained_exits)


def test_the_short_form_may_take_ten_minutes_and_the_long_one_longer_by_its_kills() -> None:
    limits = {kills: Plan(kills=kills, broker_stops=1, nodes=1, seed=1).limit_seconds for kills in (5, 50)}

    assert limits == {5: 600.0, 50: 600.0 + 45 * 50.0}


@pytest.mark.parametrize(("kills", "dropped_copies"), [(5, 0), (50, 1)])
def test_a_run_with_equal_topics_is_right(kills: int, dropped_copies: int) -> None:
    assert _outcome(kills, dropped_copies, []).is_right


def test_a_run_whose_workers_end_by_themselves_is_wrong_and_says_which() -> None:
    outcome = _outcome(5, 0, ["detect 2, exit code 1"])

    assert not outcome.is_right
    assert any("detect 2, exit code 1" in line for line in lines(outcome))


def test_a_long_run_in_which_detect_dropped_no_copy_is_wrong_and_says_so() -> None:
    outcome = _outcome(50, 0, [])

    assert not outcome.is_right
    assert any("dropped no copy" in line for line in lines(outcome))
