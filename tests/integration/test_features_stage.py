"""Feature windows on Apache Kafka: none lost, none different, whatever happens to workers and broker."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.schemas.kafka import KafkaSettings
from tests.integration.features_run import FeaturesRun, windows_by_id
from tests.processes import PulsetrainProcess, wait_until
from tests.simulation import SECOND_NS, SimulatedNode

NODES = 12
TAKEOVER_SECONDS = 20.0
SHUTDOWN_SECONDS = 15.0


@pytest.fixture
def run(kafka: ApacheKafka, unique: str, tmp_path: Path) -> Iterator[FeaturesRun]:
    """Topics and a configuration of the test's own."""
    features_run = FeaturesRun(KafkaSettings(bootstrap=kafka.bootstrap), unique, tmp_path)
    yield features_run
    features_run.close()


def _nodes() -> list[SimulatedNode]:
    # Far enough back that nodes which send faster than time passes never come to lie in the future.
    start_ns = time.time_ns() // SECOND_NS * SECOND_NS - 1200 * SECOND_NS
    return [SimulatedNode(f"node-{number:02}", number, start_ns) for number in range(NODES)]


def _worker(run: FeaturesRun, name: str) -> PulsetrainProcess:
    return PulsetrainProcess(["worker", "features", "--config", str(run.config)], run.config.parent / f"{name}.log")


def _send_second(run: FeaturesRun, nodes: list[SimulatedNode]) -> None:
    run.send(node.block() for node in nodes)


def _working_sources(run: FeaturesRun) -> set[str]:
    """Workers whose last heartbeat says that they hold nodes."""
    last: dict[str, int] = {}
    for record in run.status.poll():
        status = json.loads(record.value or b"{}")
        if status["event"] == "heartbeat" and time.time() * 1000 - record.timestamp_ms < 5_000:
            last[status["source"]] = status["details"]["nodes"]
    return {source for source, nodes in last.items() if nodes > 0}


def _assert_nothing_lost_or_different(run: FeaturesRun, *, until_silent: bool = False) -> None:
    run.flush()
    expected = run.expected(until_silent=until_silent)
    assert len(expected) > NODES
    records = run.features.until(
        f"all {len(expected)} windows of an undisturbed run",
        lambda seen: set(expected) <= set(windows_by_id(seen)),
        seconds=90,
    )
    published = windows_by_id(records)
    assert set(published) == set(expected)
    different = [window for window, contents in published.items() if contents != {expected[window]}]
    assert different == []


@pytest.mark.timeout(400)
def test_two_workers_share_partitions_and_one_takes_over_in_time_when_the_other_leaves_or_dies(
    run: FeaturesRun,
) -> None:
    nodes = _nodes()

    def seconds_of_samples_until(what: str, condition: object, seconds: float) -> None:
        def step() -> bool:
            _send_second(run, nodes)
            time.sleep(0.2)
            return bool(condition())  # type: ignore[operator]

        wait_until(what, step, seconds)

    def every_partition_moves_on() -> object:
        before = run.committed()
        return lambda: all(offset > before[partition] for partition, offset in run.committed().items())

    with _worker(run, "first") as first, _worker(run, "second") as second:
        seconds_of_samples_until("both workers holding nodes", lambda: len(_working_sources(run)) == 2, 60)

        second.terminate()
        assert second.wait(SHUTDOWN_SECONDS) == 0, second.log()
        seconds_of_samples_until("the first worker to work alone", every_partition_moves_on(), TAKEOVER_SECONDS)

        second.start()
        seconds_of_samples_until("both workers holding nodes again", lambda: len(_working_sources(run)) == 2, 60)
        first.kill()
        seconds_of_samples_until("the takeover after a kill", every_partition_moves_on(), TAKEOVER_SECONDS)
        assert second.alive(), second.log()
        _assert_nothing_lost_or_different(run)


@pytest.mark.timeout(300)
def test_an_outage_longer_than_the_idle_timeout_closes_no_window_that_is_still_being_sent(
    kafka: ApacheKafka, unique: str, tmp_path: Path
) -> None:
    # The nodes go on sending while the broker is away; a worker that took its last look for the end of the log would
    # close their windows after 6 s of idle timeout and 5 s of margin.
    run = FeaturesRun(KafkaSettings(bootstrap=kafka.bootstrap), unique, tmp_path, idle_timeout_seconds=6.0)
    nodes = _nodes()
    with _worker(run, "worker") as worker:

        def holds_nodes() -> bool:
            _send_second(run, nodes)
            return len(_working_sources(run)) == 1

        wait_until("the worker holding nodes", holds_nodes)
        kafka.stop()
        away_until = time.monotonic() + 20.0
        while time.monotonic() < away_until:
            _send_second(run, nodes)
            time.sleep(0.5)
        kafka.start()
        run.flush()
        assert worker.alive(), worker.log()
        _assert_nothing_lost_or_different(run, until_silent=True)
    run.close()
