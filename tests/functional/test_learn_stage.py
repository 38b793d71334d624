"""The learn stage in one process on the embedded broker: labels that say nothing go to the dead letters."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pulsetrain.cli.brokers.embedded import EmbeddedBroker
from pulsetrain.schemas.json_record import encode_json
from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.label import Label, LabelVerdict
from pulsetrain.schemas.topics import ALL_TOPICS, TopicNames
from tests.processes import PulsetrainProcess
from tests.topic_log import TopicReader, produce


@pytest.fixture
def topics(broker: EmbeddedBroker, unique: str, tmp_path: Path) -> Iterator[TopicNames]:
    """Topics with a worker of the learn stage on them."""
    broker.declare([topic.full_name(unique) for topic in ALL_TOPICS])
    arguments = ["worker", "learn", "--bootstrap", broker.bootstrap, "--prefix", unique]
    with PulsetrainProcess(arguments, tmp_path / "worker.log", {"PULSETRAIN_WORKER__DECLARE_TOPICS": "false"}):
        yield TopicNames(unique)


def _label(anomaly_id: str) -> bytes:
    label = Label(
        anomaly_id=anomaly_id, verdict=LabelVerdict.FALSE_POSITIVE, by="operator", at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    return encode_json(label)


def test_poison_labels_and_labels_of_unknown_anomalies_become_dead_letters_with_their_reason(
    broker: EmbeddedBroker, topics: TopicNames
) -> None:
    kafka = KafkaSettings(bootstrap=broker.bootstrap)
    unknown = _label("node-x/host@20260101T000000.000Z:detect")
    poison = {
        b"": "empty",
        b"null": "invalid",
        b"[]": "invalid",
        b"\xff\xfe": "malformed",
        b'{"anomaly_id":"a","verdict":"maybe","by":"me","at":"2026-01-01T00:00:00Z"}': "invalid",
        b'{"anomaly_id":5,"verdict":"missed","by":"me","at":"2026-01-01T00:00:00Z"}': "invalid",
        b'{"anomaly_id":"a","verdict":"false_positive","by":"me","at":NaN}': "malformed",
        unknown: "invalid",
    }
    produce(kafka, topics.labels, [(f"key-{number}".encode(), value) for number, value in enumerate(poison)])

    dead = TopicReader(kafka, topics.dead_letter).until("every dead letter", lambda seen: len(seen) >= len(poison))
    assert {record.value or b"": record.headers["reason"].decode().partition(":")[0] for record in dead} == poison
    reason = next(record.headers["reason"].decode() for record in dead if record.value == unknown)
    assert reason == "invalid: unknown anomaly node-x/host@20260101T000000.000Z:detect"

    statuses = TopicReader(kafka, topics.status).until(
        "a report of every rejected label", lambda seen: sum(b"label_rejected" in (r.value or b"") for r in seen) >= 8
    )
    rejected = [status for r in statuses if (status := json.loads(r.value or b""))["event"] == "label_rejected"]
    assert len(rejected) == len(poison)
    assert all(f"{topics.labels}[" in status["message"] for status in rejected)
