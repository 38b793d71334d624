import asyncio
import socket
import subprocess
import sys
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.partitioner import DefaultPartitioner
from confluent_kafka import Consumer, Message, Producer
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pulsetrain.cli.brokers.embedded import EMBEDDED_PARTITIONS, EmbeddedBroker
from pulsetrain.cli.brokers.errors import BrokerError
from pulsetrain.schemas.kafka import (
    KafkaSettings,
    aiokafka_security,
    checked_key,
    consumer_config,
    producer_config,
    wait_for_broker,
)

# Four partitions, murmur2 as Apache Kafka's own clients place the keys.
PLACED = {
    "node-00": 3,
    "node-01": 1,
    "node-02": 3,
    "node-03": 0,
    "node-04": 0,
    "node-05": 3,
    "node-06": 2,
    "node-07": 0,
    "gpu-a100-0": 3,
}
VALUE = b"long enough that librdkafka sends it compressed " * 20
OTHER_PROCESS = """
import sys
from confluent_kafka import Consumer, Producer
from pulsetrain.schemas.kafka import KafkaSettings, consumer_config, producer_config

bootstrap, questions, answers = sys.argv[1:]
settings = KafkaSettings(bootstrap=bootstrap)
consumer = Consumer(consumer_config(settings, "other"))
consumer.subscribe([questions])
producer = Producer(producer_config(settings))
for _ in range(3):
    message = consumer.poll(30)
    assert message is not None and message.error() is None, message
    producer.produce(answers, key=message.key(), value=message.value()[::-1])
assert producer.flush(30) == 0
consumer.close()
"""


def producer_on(broker: EmbeddedBroker) -> Producer:
    return Producer(producer_config(KafkaSettings(bootstrap=broker.bootstrap)))


def place(producer: Producer, topic: str, keys: list[str]) -> dict[str, int]:
    """Produce one record a key; the partition that the broker confirmed, by key."""
    placed: dict[str, int] = {}
    failed: list[Any] = []

    def delivered(error: Any, message: Message) -> None:
        if error is not None:
            failed.append(error)
        key, partition = message.key(), message.partition()
        assert isinstance(key, bytes)
        assert partition is not None
        placed[key.decode()] = partition

    for key in keys:
        producer.produce(topic, key=checked_key(key), value=VALUE, on_delivery=delivered)
    assert producer.flush(30) == 0
    assert failed == []
    return placed


def consume(settings: KafkaSettings, topic: str, count: int) -> list[bytes]:
    """Values of the first records of a topic, within 30 s."""
    consumer = Consumer(consumer_config(settings, f"{topic}-readers"))
    consumer.subscribe([topic])
    values: list[bytes] = []
    while len(values) < count:
        message = consumer.poll(30)
        assert message is not None, f"{len(values)} of {count} records came within 30 s"
        assert message.error() is None
        value = message.value()
        assert isinstance(value, bytes)
        values.append(value)
    consumer.close()
    return values


def test_another_process_consumes_and_produces(broker: EmbeddedBroker, unique: str) -> None:
    settings = KafkaSettings(bootstrap=broker.bootstrap)
    broker.declare([unique + "questions", unique + "answers"])
    with subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS, broker.bootstrap, unique + "questions", unique + "answers"]
    ) as other:
        producer = producer_on(broker)
        for word in (b"stressed", b"drawer", b"stop"):
            producer.produce(unique + "questions", key=word, value=word)
        assert producer.flush(30) == 0
        assert sorted(consume(settings, unique + "answers", 3)) == [b"desserts", b"pots", b"reward"]
        assert other.wait(timeout=30) == 0


def test_keys_land_where_apache_kafka_puts_them(broker: EmbeddedBroker, unique: str) -> None:
    assert place(producer_on(broker), unique + "keys", list(PLACED)) == PLACED


def test_a_key_has_the_same_partition_in_librdkafka_and_aiokafka(broker: EmbeddedBroker, unique: str) -> None:
    producer = producer_on(broker)
    partitioner = DefaultPartitioner()
    partitions = list(range(EMBEDDED_PARTITIONS))

    @hypothesis_settings(deadline=None)
    @given(keys=st.lists(st.text(min_size=1), min_size=1, unique=True))
    def same(keys: list[str]) -> None:
        expected = {key: partitioner(key.encode(), partitions, partitions) for key in keys}
        assert place(producer, unique + "keys", keys) == expected

    same()


def test_aiokafka_reads_what_our_producers_write(broker: EmbeddedBroker, unique: str) -> None:
    settings = KafkaSettings(bootstrap=broker.bootstrap)
    place(producer_on(broker), unique + "keys", ["node-00"])

    async def read() -> Any:
        consumer = AIOKafkaConsumer(
            unique + "keys",
            bootstrap_servers=settings.bootstrap,
            auto_offset_reset="earliest",
            **aiokafka_security(settings),
        )
        async with consumer:
            return await asyncio.wait_for(consumer.getone(), timeout=30)

    record = asyncio.run(read())
    assert (record.partition, record.key, record.value) == (3, b"node-00", VALUE)


def test_declared_topics_exist_with_the_stated_number_of_partitions(broker: EmbeddedBroker, unique: str) -> None:
    broker.declare([unique + "a", unique + "b"])
    found = Consumer(consumer_config(KafkaSettings(bootstrap=broker.bootstrap), None)).list_topics(timeout=30).topics
    assert {name: len(topic.partitions) for name, topic in found.items()} == {
        unique + "a": EMBEDDED_PARTITIONS,
        unique + "b": EMBEDDED_PARTITIONS,
    }


def test_nobody_waits_for_a_broker_that_is_there(broker: EmbeddedBroker) -> None:
    said: list[str] = []
    wait_for_broker(KafkaSettings(bootstrap=broker.bootstrap), said.append, give_up_after_seconds=10)
    assert said == []


def test_the_broker_ends_with_its_context() -> None:
    with EmbeddedBroker() as broker:
        host, port = broker.bootstrap.split(":")
        socket.create_connection((host, int(port)), timeout=10).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=10)
    with pytest.raises(BrokerError, match="with block"):
        _ = broker.bootstrap
