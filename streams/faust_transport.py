"""Faust's aiokafka transport, with fewer and shorter fetches and a short way for messages that don't have to wait.

Faust lets the broker hold a fetch for 1.5 s, and aiokafka has one fetch under way per broker: while some partitions
have nothing new, the busy ones wait with them. Faust also takes whatever there is, if only one message, and a fetch
costs as much as some messages: at half load a worker spent a third of its time on fetches. Both are constants inside
Faust, so they are set on the consumer that Faust has just made and not started yet.

Faust hands each message over in a task of its own, beside three more that watch for a rebalance or an end meanwhile:
60 of the 140 microseconds that it costs for a message. They are needed only where the handler has to wait.
"""

from collections.abc import Coroutine
from typing import Any

from faust.transport.drivers import aiokafka
from faust.transport.producer import ProducerBuffer
from mode.services import WaitResults

from pulsetrain.streams.faust_seek import SettledSeekConsumer

FETCH_WAIT_MS = 50
"""A fetch is answered after this time, whatever there is."""

FETCH_BYTES = 256 * 1024
"""It is answered earlier where there is so much: some 30 blocks of a second, or 10 windows."""

_HANDED_OVER = WaitResults([], [], stopped=False)
"""Faust looks at nothing of it where it hands a message over."""


class _ConsumerThread(aiokafka.AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = FETCH_WAIT_MS
        consumer._fetch_min_bytes = FETCH_BYTES
        return consumer


class _Consumer(SettledSeekConsumer):
    def _new_consumer_thread(self) -> _ConsumerThread:
        return _ConsumerThread(self, loop=self.loop, beacon=self.beacon)


class ShortWaitTransport(aiokafka.Transport):
    """Answers to a fetch come with `FETCH_BYTES`, or after `FETCH_WAIT_MS`."""

    Consumer = _Consumer


class _DirectConsumer(_Consumer):
    async def wait_first(self, *coros: Any, timeout: Any = None) -> WaitResults:  # noqa: ASYNC109 (as in Faust)
        """Where Faust hands a message over (its handler, and the wait for a suspended flow), just calls the handler.

        The handler waits for the flow to be resumed, for room in the producer's buffer, and for room in the queue of
        the topic's agent: where one is missing, and in every other call, it is as in Faust.
        """
        if len(coros) != 2 or not self._has_room():
            return await super().wait_first(*coros, timeout=timeout)
        handler: Coroutine[Any, Any, None] = coros[0]
        suspended: Coroutine[Any, Any, None] = coros[1]
        suspended.close()
        await handler
        return _HANDED_OVER

    def _has_room(self) -> bool:
        buffer = self.app.producer.buffer
        return (
            self.app.flow_control.is_active()
            and buffer.size <= buffer.max_messages
            and not any(topic.queue.full() for topic in self.app.topics)
        )


class _Buffer(ProducerBuffer):
    """Faust looks into its settings before each message for whether the producer has a thread: ours has none."""

    @property
    def size(self) -> int:
        """Messages that are waiting to be sent."""
        return int(self.pending.qsize())


class _Producer(aiokafka.Producer):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.buffer = _Buffer(loop=self.loop, beacon=self.beacon)
        self.buffer.app = self.app


class DirectTransport(ShortWaitTransport):
    """Hands a message over without a task where nothing has to be waited for."""

    Consumer = _DirectConsumer
    Producer = _Producer
