"""Reads a stretch of one partition that lies before the committed offset, without a group."""

from collections.abc import AsyncIterator

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from pulsetrain.schemas.kafka import KafkaSettings, aiokafka_security

_POLL_MS = 1000


async def records_before(
    kafka: KafkaSettings, topic: str, partition: int, end_offset: int, since_ms: int
) -> AsyncIterator[ConsumerRecord]:
    """The records of a partition from time `since_ms` up to, without, `end_offset`, in order.

    A broker that can't find offsets by time gives everything that it still has.
    """
    tp = TopicPartition(topic, partition)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=None,
        auto_offset_reset="earliest",
        **aiokafka_security(kafka),
    )
    await consumer.start()
    try:
        consumer.assign([tp])
        oldest = (await consumer.beginning_offsets([tp]))[tp]
        if oldest >= end_offset:
            return
        found = (await consumer.offsets_for_times({tp: since_ms}))[tp]
        consumer.seek(tp, found.offset if found is not None and found.offset >= oldest else oldest)
        while await consumer.position(tp) < end_offset:
            batches = await consumer.getmany(tp, timeout_ms=_POLL_MS)
            for record in batches.get(tp, ()):
                if record.offset >= end_offset:
                    return
                yield record
    finally:
        await consumer.stop()
