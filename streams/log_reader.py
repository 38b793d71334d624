"""Reads whole topics without a consumer group: from their beginning (or a time), then everything new."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord

from pulsetrain.schemas.kafka import KafkaSettings, aiokafka_security

_POLL_MS = 500
_RETRY_SECONDS = 2.0
_MAX_PARTITION_FETCH_BYTES = 8_000_000

_log = logging.getLogger(__name__)

Handler = Callable[[ConsumerRecord], None]


class LogReader:
    """Feeds every record of some topics to a handler, in order within each partition.

    `caught_up` is set once everything that was in the topics when reading began has been handled.
    """

    def __init__(
        self, kafka: KafkaSettings, topics: Sequence[str], handler: Handler, *, since_ns: int | None = None
    ) -> None:
        self._kafka = kafka
        self._topics = tuple(topics)
        self._handler = handler
        self._since_ns = since_ns
        self._positions: dict[TopicPartition, int] = {}
        self.caught_up = asyncio.Event()

    async def run(self) -> None:
        """Reads until cancelled; a broker that is away is asked again."""
        while True:
            try:
                await self._read()
            except (KafkaError, OSError) as error:
                _log.warning("reading %s: %s; trying again", ", ".join(self._topics), error)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _read(self) -> None:
        consumer = AIOKafkaConsumer(
            *self._topics,
            bootstrap_servers=self._kafka.bootstrap,
            group_id=None,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=_MAX_PARTITION_FETCH_BYTES,
            **aiokafka_security(self._kafka),
        )
        await consumer.start()
        try:
            await self._seek(consumer)
            goals = await consumer.end_offsets(consumer.assignment())
            while True:
                batches = await consumer.getmany(timeout_ms=_POLL_MS)
                for tp, records in batches.items():
                    for record in records:
                        self._handler(record)
                        self._positions[tp] = record.offset + 1
                if not self.caught_up.is_set():
                    reached = [await consumer.position(tp) >= goal for tp, goal in goals.items()]
                    if all(reached):
                        self.caught_up.set()
        finally:
            await consumer.stop()

    async def _seek(self, consumer: AIOKafkaConsumer) -> None:
        """Goes on where an earlier connection ended; else to the first record since the wanted time."""
        fresh = [tp for tp in consumer.assignment() if tp not in self._positions]
        for tp, offset in self._positions.items():
            consumer.seek(tp, offset)
        if self._since_ns is not None and fresh:
            found = await consumer.offsets_for_times(dict.fromkeys(fresh, self._since_ns // 1_000_000))
            for tp, position in found.items():
                if position is not None and position.offset >= 0:
                    consumer.seek(tp, position.offset)
