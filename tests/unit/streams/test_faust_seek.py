"""After the restoring of tables each message from the committed offset on reaches its stream, once and in order."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from faust.transport.drivers import aiokafka
from faust.types import TP

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.faust_app import make_app
from pulsetrain.streams.faust_transport import ShortWaitTransport

FEATURES = TP("t.features", 0)
MESSAGES = 30
DELIVERED_BEFORE_SEEK = 5


class _Worker:
    """A consumer on a log of `MESSAGES` messages of which none is committed, and the queue that it fills."""

    def __init__(self, transport: type[aiokafka.Transport]) -> None:
        app: Any = make_app("detect", KafkaSettings(bootstrap="127.0.0.1:1"), TopicNames("t."), 1, declare_topics=False)
        app.transport = transport(app.conf.broker_consumer, app)
        self.app = app
        self.consumer = app._new_consumer()
        self.consumer._wait_next_records = self._wait_next_records
        self.consumer._to_message = lambda tp, offset: SimpleNamespace(
            topic=tp.topic, tp=tp, offset=offset, key=None, value=None
        )
        self.consumer.highwater = lambda tp: MESSAGES
        self.consumer.seek_to_committed = self._seek_to_committed
        self.consumer.callback = self._deliver
        self.consumer.resume_flow()
        app.topics.acks_enabled_for = lambda topic: True
        app.flow_control.resume()
        self.queue: list[int] = []
        self.some_delivered = asyncio.Event()
        self._position = 0
        self._fetcher = SimpleNamespace(_stopped=asyncio.Event())

    async def _wait_next_records(self, timeout: float) -> tuple[Any, None]:  # noqa: ASYNC109 (as in Faust)
        if not self.consumer.flow_active:
            await self.consumer.can_resume_flow.wait()
        await asyncio.sleep(0)
        first, self._position = self._position, MESSAGES
        return {FEATURES: self._offsets(first)}, None

    @staticmethod
    def _offsets(first: int) -> Iterator[int]:
        yield from range(first, MESSAGES)

    async def _seek_to_committed(self) -> dict[TP, int]:
        await asyncio.sleep(0)
        self._position = 0
        return {FEATURES: 0}

    async def _deliver(self, message: Any) -> None:
        await asyncio.sleep(0)
        self.queue.append(message.offset)
        if len(self.queue) == DELIVERED_BEFORE_SEEK:
            self.some_delivered.set()

    async def restore_and_resume(self) -> list[int]:
        """What reaches the stream after Faust has restored its tables, as in `Recovery.on_recovery_completed`."""
        draining = asyncio.ensure_future(self.consumer._drain_messages(self._fetcher))
        await self.some_delivered.wait()
        await self.consumer.perform_seek()
        self.queue.clear()
        self.app.flow_control.resume()
        self.consumer.resume_flow()
        for _ in range(100 * MESSAGES):
            await asyncio.sleep(0)
        self._fetcher._stopped.set()
        await draining
        return self.queue

    def close(self) -> None:
        """Closes the loop of the consumer's thread, which never starts and so doesn't do it."""
        self.consumer._thread.thread_loop.close()


def _delivered(transport: type[aiokafka.Transport]) -> tuple[list[int], int]:
    async def scenario() -> tuple[list[int], int]:
        with closing(_Worker(transport)) as worker:
            return await worker.restore_and_resume(), len(worker.consumer._gap[FEATURES])

    return asyncio.run(scenario())


def test_no_message_is_left_out_after_a_seek_that_came_between_two_of_them() -> None:
    assert _delivered(ShortWaitTransport) == (list(range(MESSAGES)), 0)


def test_faust_by_itself_leaves_messages_out() -> None:
    offsets, _ = _delivered(aiokafka.Transport)
    assert 1 not in offsets


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_seek_does_not_wait_for_a_fetch_that_waits_for_the_flow(is_stopped: bool) -> None:
    async def scenario() -> None:
        with closing(_Worker(ShortWaitTransport)) as worker:
            draining = asyncio.ensure_future(worker.consumer._drain_messages(worker._fetcher))
            if is_stopped:
                worker.consumer.stop_flow()
            await asyncio.wait_for(worker.consumer.perform_seek(), 30)
            draining.cancel()
            await asyncio.gather(draining, return_exceptions=True)

    asyncio.run(scenario())
