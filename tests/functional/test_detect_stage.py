"""The detect stage in one process on the embedded broker: poison windows, and windows before the first model."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulsetrain.cli.brokers.embedded import EmbeddedBroker
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import ALL_TOPICS, TopicNames
from tests.feature_windows import encoded_window
from tests.processes import PulsetrainProcess
from tests.topic_log import Record, TopicReader, produce


@pytest.fixture
def topics(broker: EmbeddedBroker, unique: str, tmp_path: Path) -> Iterator[TopicNames]:
    """Topics with a worker of the detect stage on them."""
    broker.declare([topic.full_name(unique) for topic in ALL_TOPICS])
    arguments = ["worker", "detect", "--bootstrap", broker.bootstrap, "--prefix", unique]
    settings = {"PULSETRAIN_WORKER__DECLARE_TOPICS": "false", "PULSETRAIN_WORKER__HEARTBEAT_SECONDS": "0.5"}
    with PulsetrainProcess(arguments, tmp_path / "worker.log", settings):
        yield TopicNames(unique)


def test_poison_windows_become_dead_letters_and_the_good_ones_are_counted_once(
    broker: EmbeddedBroker, topics: TopicNames
) -> None:
    kafka = KafkaSettings(bootstrap=broker.bootstrap)
    poison = [b"", b"\xc3\x01nonsense", encoded_window("node-a", 60)[:-3]]
    # the window that ends at 100 s comes twice, as after the death of a features worker
    windows = [encoded_window("node-a", end_s) for end_s in (100, 105, 100, 110)]
    produce(kafka, topics.features, [(b"node-a", value) for value in (*poison, *windows)])

    dead = TopicReader(kafka, topics.dead_letter).until("every dead letter", lambda seen: len(seen) >= len(poison))
    assert [record.value or b"" for record in dead] == poison
    assert [int(record.headers["offset"]) for record in dead] == [0, 1, 2]

    def last_heartbeat(records: list[Record]) -> dict[str, int]:
        statuses = [json.loads(record.value or b"{}") for record in records]
        beats: list[dict[str, int]] = [status["details"] for status in statuses if status["event"] == "heartbeat"]
        return beats[-1] if beats else {}

    status = TopicReader(kafka, topics.status)
    records = status.until("a heartbeat with all windows", lambda seen: last_heartbeat(seen).get("windows") == 3)
    beat = last_heartbeat(records)
    assert (beat["repeated"], beat["not_scored"], beat["scored"], beat["dead_lettered"]) == (1, 3, 0, 3)
    reports = [status for r in records if (status := json.loads(r.value or b"{}"))["event"] == "not_scored"]
    assert [report["entity"] for report in reports] == ["node-a/host"]
    assert "there is no model of host yet" in reports[0]["message"]
