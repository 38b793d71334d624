"""Eight hours on an injected clock: what the agent remembers does not grow."""

from tests.unit.agents.runtime.long_run import long_run

INTERVAL_MS = 2000
"""Longer than an agent's, so that eight hours are a matter of seconds; the module `long_run` can do it with 100 ms."""

SLACK_OBJECTS = 3000
"""For caches of Python and libraries; one forgotten object a tick would be more than 5,000."""


def test_nothing_grows_in_eight_hours() -> None:
    run = long_run(INTERVAL_MS)
    assert run.ticks > 8000
    assert run.messages > 8000
    assert run.lost_samples == 0
    assert run.objects[1] - run.objects[0] < SLACK_OBJECTS
