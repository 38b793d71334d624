"""The map of topics, and what a dead letter says about its origin."""

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from pulsetrain.schemas.dead_letter import Position, dead_letter_headers
from pulsetrain.schemas.topics import ALL_TOPICS, DEAD_LETTER, LABELS, MODELS, SAMPLES, TopicNames


def test_every_topic_is_named_under_the_prefix() -> None:
    names = TopicNames("site-a.")
    assert (names.samples, names.features, names.anomalies) == ("site-a.samples", "site-a.features", "site-a.anomalies")
    assert (names.labels, names.models, names.status) == ("site-a.labels", "site-a.models", "site-a.status")
    assert names.dead_letter == "site-a.dead-letter"
    assert TopicNames().samples == "pulsetrain.samples"


def test_samples_carry_the_time_at_which_the_broker_took_them() -> None:
    assert SAMPLES.broker_settings()["message.timestamp.type"] == "LogAppendTime"
    others = {t.broker_settings()["message.timestamp.type"] for t in ALL_TOPICS if t is not SAMPLES}
    assert others == {"CreateTime"}


def test_labels_and_models_are_compacted_for_ever_in_one_partition() -> None:
    for topic in (LABELS, MODELS):
        assert topic.partitions == 1
        assert topic.broker_settings()["cleanup.policy"] == "compact"
        assert topic.broker_settings()["retention.ms"] == "-1"


def test_the_largest_message_with_its_key_and_headers_is_a_batch_that_the_topic_takes() -> None:
    headers = dead_letter_headers(Position("t" * 249, 2**31 - 1, 2**63 - 1), "x" * 10**6)
    for topic in ALL_TOPICS:
        batch = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, batch_size=10**8)
        batch.append(0, 2**62, b"k" * 2048, bytes(topic.max_message_bytes), headers)
        assert len(batch.build()) <= int(topic.broker_settings()["max.message.bytes"]), topic.name


def test_the_dead_letter_topic_takes_the_largest_message_of_any_topic() -> None:
    assert max(topic.max_message_bytes for topic in ALL_TOPICS) == DEAD_LETTER.max_message_bytes


def test_a_dead_letter_says_where_it_stood_and_why_it_is_dead() -> None:
    assert dead_letter_headers(Position("pulsetrain.samples", 3, 41), "malformed: …") == [
        ("topic", b"pulsetrain.samples"),
        ("partition", b"3"),
        ("offset", b"41"),
        ("reason", "malformed: …".encode()),
    ]


def test_the_reason_of_a_dead_letter_is_bounded_and_always_text() -> None:
    reason = dict(dead_letter_headers(Position("t", 0, 0), "\ud800" + "x" * 10**6))["reason"]
    assert reason == b"?" + b"x" * 999
