"""The events of a Faust topic, taken from its queue."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import TopicNames
from pulsetrain.streams.direct_events import EVENTS_A_TURN, direct_events
from pulsetrain.streams.faust_app import make_app

SAMPLES = TP("t.samples", 2)
GENERATION = 7
_LIMIT_SECONDS = 30


class _Event:
    """A delivered message of a generation of the consumer group."""

    def __init__(self, offset: int, generation: int = GENERATION) -> None:
        self.message = SimpleNamespace(tp=SAMPLES, offset=offset, generation_id=generation)

    def ack(self) -> bool:
        pytest.fail("only the stage acknowledges")


class _Topic:
    """The samples topic of an app whose flow is on, and a stream of it."""

    def __init__(self) -> None:
        self.app: Any = make_app("x", KafkaSettings(bootstrap="b:9092"), TopicNames("t."), 4, declare_topics=False)
        self.app.consumer_generation_id = GENERATION
        self.app.flow_control.resume()
        topic = self.app.topic(SAMPLES.topic)
        self.stream: Any = self.app.stream(topic)
        channel: Any = self.stream.channel
        self.queue = channel.queue

    def put(self, events: Sequence[_Event]) -> None:
        for event in events:
            self.queue.force_put_nowait(event)


def _run(scenario: Callable[[_Topic, AsyncIterator[Any]], Awaitable[None]]) -> None:
    async def run() -> None:
        topic = _Topic()
        await scenario(topic, direct_events(topic.stream))

    asyncio.run(asyncio.wait_for(run(), _LIMIT_SECONDS))


async def _offsets(events: AsyncIterator[Any], count: int) -> list[int]:
    return [(await anext(events)).message.offset for _ in range(count)]


def test_what_waits_comes_in_order_and_what_comes_later_is_waited_for() -> None:
    async def scenario(topic: _Topic, events: AsyncIterator[Any]) -> None:
        topic.put([_Event(offset) for offset in range(40)])
        assert await _offsets(events, 40) == list(range(40))
        later = asyncio.ensure_future(_offsets(events, 2))
        await asyncio.sleep(0)
        assert not later.done()
        topic.put([_Event(40), _Event(41)])
        assert await later == [40, 41]

    _run(scenario)


def test_another_task_has_its_turn_after_so_many_events_and_not_before_each() -> None:
    async def scenario(topic: _Topic, events: AsyncIterator[Any]) -> None:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        topic.put([_Event(offset) for offset in range(10 * EVENTS_A_TURN + 1)])
        task = asyncio.ensure_future(other())
        await _offsets(events, 10 * EVENTS_A_TURN + 1)
        task.cancel()
        assert turns in {9, 10}  # whether the other task's first turn is before or within its first sleep

    _run(scenario)


@settings(deadline=None)
@given(st.lists(st.sampled_from([GENERATION - 1, GENERATION, GENERATION + 1]), max_size=60))
def test_an_event_of_another_assignment_is_neither_given_nor_acknowledged(generations: list[int]) -> None:
    async def scenario(topic: _Topic, events: AsyncIterator[Any]) -> None:
        topic.put([_Event(offset, generation) for offset, generation in enumerate(generations)])
        topic.put([_Event(1000)])
        expected = [offset for offset, generation in enumerate(generations) if generation == GENERATION]
        assert await _offsets(events, len(expected) + 1) == [*expected, 1000]

    _run(scenario)


def test_what_is_left_in_the_queue_while_partitions_are_moved_is_not_given() -> None:
    async def scenario(topic: _Topic, events: AsyncIterator[Any]) -> None:
        topic.put([_Event(0), _Event(1)])
        assert await _offsets(events, 1) == [0]
        topic.app.flow_control.suspend()
        waiting = asyncio.ensure_future(_offsets(events, 1))
        await asyncio.sleep(0)
        assert topic.queue.empty()
        assert not waiting.done()
        topic.app.flow_control.resume()
        topic.put([_Event(1)])
        assert await waiting == [1]

    _run(scenario)


def test_what_faust_throws_at_the_readers_of_a_topic_is_raised() -> None:
    async def scenario(topic: _Topic, events: AsyncIterator[Any]) -> None:
        topic.queue._throw(LookupError("no schema"))
        with pytest.raises(LookupError, match="no schema"):
            await anext(events)

    _run(scenario)


def test_what_faust_throws_at_a_reader_who_waits_is_raised() -> None:
    async def scenario(topic: _Topic, events: AsyncIterator[Any]) -> None:
        waiting = asyncio.ensure_future(_offsets(events, 1))
        await asyncio.sleep(0)
        topic.queue._throw(LookupError("no schema"))
        with pytest.raises(LookupError, match="no schema"):
            await waiting

    _run(scenario)


def test_a_stream_that_was_stopped_gives_nothing_more() -> None:
    async def scenario(topic: _Topic, events: AsyncIterator[Any]) -> None:
        topic.put([_Event(0), _Event(1)])
        assert await _offsets(events, 1) == [0]
        topic.stream._stopped.set()
        with pytest.raises(StopAsyncIteration):
            await anext(events)

    _run(scenario)


def test_faust_knows_when_the_partition_last_made_progress() -> None:
    async def scenario(topic: _Topic, events: AsyncIterator[Any]) -> None:
        topic.put([_Event(0)])
        await _offsets(events, 1)
        assert list(topic.app.monitor.stream_inbound_time) == [SAMPLES]

    _run(scenario)
