"""A model on its way through Kafka: published in chunks, read back by a client without a group, loaded, scoring."""

import numpy as np
from confluent_kafka import Producer

from pulsetrain.cli.brokers.embedded import EmbeddedBroker
from pulsetrain.models.fitting import fit
from pulsetrain.models.registry import LoadedModel, ModelRegistry, RegistryChange, RegistryEvent
from pulsetrain.models.release import Release, release_records, tombstone_keys, updated_pointer
from pulsetrain.schemas.kafka import KafkaSettings, checked_key, producer_config
from pulsetrain.schemas.model_release import ModelRecord, encode_model_record
from pulsetrain.schemas.topics import MODELS, TopicNames
from tests.model_releases import warm_up_release
from tests.topic_log import Record, TopicReader, produce

NS = 1_000_000_000
NAMES = ("cpu__mean", "memory__mean")
PAYLOAD_BYTES = 1_100_000


def release(version: int) -> Release:
    """A model that scores, with a state that makes its payload `PAYLOAD_BYTES` long."""
    rows = np.random.default_rng(version).normal(size=(120, len(NAMES)))
    model = fit(rows, NAMES, np.arange(1, 121, dtype=np.int64) * 5 * NS, window_ns=5 * NS, hop_ns=5 * NS)
    state = np.random.default_rng(version).bytes(PAYLOAD_BYTES - len(model.graph()))
    return warm_up_release(model, "host", version, state)


def publish(kafka: KafkaSettings, topic: str, *records: ModelRecord) -> None:
    """Writes records and returns when the broker has confirmed every one."""
    produce(kafka, topic, [(checked_key(record.key), encode_model_record(record)) for record in records])


def read(kafka: KafkaSettings, topic: str, records: int) -> list[Record]:
    """Reads the topic from its beginning, in no group, until it has given so many records."""
    reader = TopicReader(kafka, topic)
    try:
        return reader.until(f"{records} records", lambda found: len(found) >= records)
    finally:
        reader.close()


def apply(registry: ModelRegistry, records: list[Record]) -> list[RegistryEvent]:
    return [event for record in records for event in registry.apply(record.key, record.value)]


def version_at(registry: ModelRegistry, second: float) -> int | None:
    model = registry.scorer_at("host", int(second * NS))
    return model.version if isinstance(model, LoadedModel) else None


def test_a_model_of_1_100_000_bytes_is_published_read_back_and_scores(broker: EmbeddedBroker, unique: str) -> None:
    published = release(1)
    pointer, _ = updated_pointer("host", None, 1, 100 * NS)
    registry = ModelRegistry()
    kafka = KafkaSettings(bootstrap=broker.bootstrap)
    topic = TopicNames(unique).models
    assert len(published.graph + published.state) > int(MODELS.broker_settings()["max.message.bytes"])

    publish(kafka, topic, *release_records(published))
    publish(kafka, topic, pointer)
    events = apply(registry, read(kafka, topic, 5))

    assert sorted(event.change for event in events) == [RegistryChange.LOADED, RegistryChange.POINTER_MOVED]
    assert [event.release for event in events if event.release] == [published]
    model = registry.scorer_at("host", 100 * NS)
    assert isinstance(model, LoadedModel)
    assert model.scorer.score(np.array([[0.0, 0.0], [40.0, 40.0]])).flagged.tolist() == [False, True]


def test_a_worker_that_starts_later_holds_the_same_versions_and_tombstones_of_the_live_one_harm_none(
    broker: EmbeddedBroker, unique: str
) -> None:
    first, second = release(1), release(2)
    pointer, _ = updated_pointer("host", None, 1, 100 * NS)
    pointer, _ = updated_pointer("host", pointer, 2, 200 * NS)
    deleted = tombstone_keys(second.manifest)
    kafka = KafkaSettings(bootstrap=broker.bootstrap)
    topic = TopicNames(unique).models
    publish(kafka, topic, *release_records(first), *release_records(second), pointer)
    early, late = ModelRegistry(), ModelRegistry()
    apply(early, read(kafka, topic, 9))
    producer = Producer(producer_config(kafka))
    for key in deleted:
        producer.produce(topic, key=checked_key(key), value=None)
    assert producer.flush(30) == 0, "tombstones were not confirmed within 30 s"

    records = read(kafka, topic, 9 + len(deleted))
    apply(early, records)
    events = apply(late, records)

    assert [event.change for event in events].count(RegistryChange.TOMBSTONE_IGNORED) == len(deleted)
    for registry in (early, late):
        assert [version_at(registry, at) for at in (99, 100, 199, 200)] == [None, 1, 1, 2]
