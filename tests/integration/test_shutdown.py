"""SIGTERM ends every process in time, also while the broker is away."""

import json
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.cli.topics import create_topics
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames
from tests.processes import PulsetrainProcess, wait_until
from tests.topic_log import TopicReader

SHUTDOWN_SECONDS = 15.0
COMMANDS = (
    ("agent",),
    ("worker", "features"),
    ("worker", "detect"),
    ("worker", "learn"),
    ("worker", "features", "detect"),
)


@pytest.mark.timeout(200)
def test_sigterm_ends_every_process_within_15_seconds_while_the_broker_is_away(
    kafka: ApacheKafka, unique: str, tmp_path: Path
) -> None:
    settings = KafkaSettings(bootstrap=kafka.bootstrap)
    create_topics(settings, unique, 4, replication_factor=1)
    status = TopicReader(settings, TopicNames(unique).status)
    flags = ["--bootstrap", kafka.bootstrap, "--prefix", unique]
    processes = [
        PulsetrainProcess([*command, *flags], tmp_path / f"{number}.log", {"PULSETRAIN_WORKER__HEARTBEAT_SECONDS": "1"})
        for number, command in enumerate(COMMANDS)
    ]
    with ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)

        def sources() -> set[str]:
            return {json.loads(record.value or b"{}")["source"] for record in status.poll()}

        wait_until("a heartbeat of every worker and the agent", lambda: len(sources()) >= len(COMMANDS) + 1, 90)
        kafka.stop()
        try:
            began = time.monotonic()
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(max(0.1, began + SHUTDOWN_SECONDS - time.monotonic()))
        finally:
            kafka.start()
    status.close()
