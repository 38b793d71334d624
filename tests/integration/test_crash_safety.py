"""The short form of `python -m tests.crash`: workers killed again and again, nothing lost, nothing different."""

from pathlib import Path

import pytest

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from tests.crash.plan import Plan
from tests.crash.report import lines
from tests.crash.run import CrashRun


@pytest.mark.timeout(900)
def test_workers_killed_five_times_and_a_stopped_broker_lose_and_change_no_window_and_no_verdict(
    kafka: ApacheKafka, unique: str, tmp_path: Path
) -> None:
    plan = Plan(kills=5, broker_stops=1, nodes=12, seed=20)

    outcome = CrashRun(kafka, unique, plan, tmp_path, print).run()

    assert outcome.windows.expected > 12 * 3 * 10
    assert outcome.verdicts.expected > 12
    assert outcome.is_right, "\n".join(lines(outcome))
