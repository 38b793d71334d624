"""When the crash test stops the broker."""

import pytest

from tests.crash.plan import Plan


@pytest.mark.parametrize(("kills", "stops"), [(50, 3), (5, 1), (3, 3), (1, 1), (7, 0)])
def test_every_stop_of_the_broker_comes_once_among_the_kills(kills: int, stops: int) -> None:
    plan = Plan(kills=kills, broker_stops=stops, nodes=1, seed=1)

    assert sum(plan.stops_broker(kill) for kill in range(1, kills + 1)) == stops
