"""A topic as a test sees it: written with the product's own settings, read whole without a group."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from pulsetrain.schemas.kafka import KafkaSettings, consumer_config, producer_config
from tests.processes import wait_until

_FETCH_SECONDS = 0.2


@dataclass(frozen=True)
class Record:
    """One record of a topic."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]


def produce(kafka: KafkaSettings, topic: str, records: Iterable[tuple[bytes, bytes]]) -> None:
    """Writes records and returns when all are confirmed."""
    producer = Producer(producer_config(kafka))
    for key, value in records:
        producer.produce(topic, key=key, value=value)
        producer.poll(0)
    assert producer.flush(30) == 0, f"records for {topic} were not confirmed within 30 s"


def whole_topic(kafka: KafkaSettings, topic: str, seconds: float = 120.0) -> Iterator[Record]:
    """All records that a topic has now, each partition in order of offsets; none is kept here.

    Fails when for so many seconds none comes although some are left.
    """
    consumer = Consumer(consumer_config(kafka, None))
    try:
        found = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        partitions = [TopicPartition(topic, number, 0) for number in found]
        ends = {tp.partition: consumer.get_watermark_offsets(tp, timeout=30)[1] for tp in partitions}
        left = {partition for partition, end in ends.items() if end > 0}
        consumer.assign(partitions)
        deadline = time.monotonic() + seconds
        while left:
            messages = consumer.consume(500, timeout=_FETCH_SECONDS)
            assert messages or time.monotonic() < deadline, f"{topic}: nothing came for {seconds:.0f} s; left is {left}"
            for message in messages:
                assert message.error() is None, message.error()
                record = _record(message)
                if record.offset < ends[record.partition]:
                    yield record
                if record.offset >= ends[record.partition] - 1:
                    left.discard(record.partition)
            if messages:
                deadline = time.monotonic() + seconds
    finally:
        consumer.close()


class TopicReader:
    """Reads a topic from its beginning, without a group; `records` is all that was seen so far."""

    def __init__(self, kafka: KafkaSettings, topic: str) -> None:
        self._consumer = Consumer(consumer_config(kafka, None))
        found = self._consumer.list_topics(topic, timeout=30).topics[topic].partitions
        self._consumer.assign([TopicPartition(topic, number, 0) for number in found])
        self._topic = topic
        self.records: list[Record] = []

    def poll(self, seconds: float = _FETCH_SECONDS) -> list[Record]:
        """Reads what is new and returns all records so far."""
        for message in self._consumer.consume(500, timeout=seconds):
            assert message.error() is None, message.error()
            self.records.append(_record(message))
        return self.records

    def until(self, what: str, condition: Callable[[list[Record]], bool], seconds: float = 60.0) -> list[Record]:
        """Reads until the records satisfy the condition; fails with `what` when it takes too long."""
        deadline = time.monotonic() + seconds
        while not condition(self.poll()):
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"waited {seconds:.0f} s in vain for {what}; {self._topic} has {len(self.records)} records"
                )
        return self.records

    def close(self) -> None:
        """Leaves the broker."""
        self._consumer.close()


class GroupProgress:
    """How far a consumer group is with a topic."""

    def __init__(self, kafka: KafkaSettings, group: str, topic: str) -> None:
        self._consumer = Consumer(consumer_config(kafka, group))
        found = self._consumer.list_topics(topic, timeout=30).topics[topic].partitions
        self._partitions = [TopicPartition(topic, number) for number in found]

    def committed(self) -> dict[int, int]:
        """The committed offset by partition; 0 where there is none."""

        def ask() -> list[TopicPartition] | None:
            try:
                return self._consumer.committed(self._partitions, timeout=10)
            except KafkaException:  # the group has no coordinator yet: the broker has just started
                return None

        return {found.partition: max(found.offset, 0) for found in wait_until("the group's coordinator", ask)}

    def ends(self) -> dict[int, int]:
        """The offset after the last record by partition."""
        return {tp.partition: self._consumer.get_watermark_offsets(tp, timeout=10)[1] for tp in self._partitions}

    def close(self) -> None:
        """Leaves the broker; the group never knew of this consumer."""
        self._consumer.close()


def _record(message: Message) -> Record:
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    headers = {name: value for name, value in dict(message.headers() or []).items() if isinstance(value, bytes)}
    return Record(partition, offset, message.timestamp()[1], message.key(), message.value(), headers)
