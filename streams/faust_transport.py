"""Faust's aiokafka transport with a short fetch wait.

Faust lets the broker hold a fetch for 1.5 s, and aiokafka has one fetch under way per broker: while some partitions
have nothing new, the busy ones wait with them. The wait is a constant inside Faust, so it is set on the consumer that
Faust has just made and not started yet.
"""

from typing import Any

from faust.transport.drivers import aiokafka

FETCH_WAIT_MS = 100


class _ConsumerThread(aiokafka.AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = FETCH_WAIT_MS
        return consumer


class _Consumer(aiokafka.Consumer):
    def _new_consumer_thread(self) -> _ConsumerThread:
        return _ConsumerThread(self, loop=self.loop, beacon=self.beacon)


class ShortWaitTransport(aiokafka.Transport):
    """Answers to a fetch come after `FETCH_WAIT_MS` at the latest, also where only some partitions have records."""

    Consumer = _Consumer
