"""The Faust app of a stage: its settings, and what is changed inside Faust."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from faust.types import TP

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import ALL_TOPICS, TopicNames
from pulsetrain.streams.faust_app import BATCH_BYTES, make_app
from pulsetrain.streams.faust_transport import FETCH_BYTES, FETCH_WAIT_MS


@contextmanager
def consumer_of(app: Any) -> Iterator[Any]:
    """A consumer whose thread never starts, so that it doesn't close its loop either."""
    consumer = app._new_consumer()
    with closing(consumer._thread.thread_loop):
        yield consumer


def features_app() -> Any:
    return make_app("features", KafkaSettings(bootstrap="b:9092"), TopicNames("t."), 4, declare_topics=False)


def handing_over(scenario: Callable[[Any, Any], Awaitable[None]]) -> list[str]:
    """What happens when Faust hands a message over to a topic whose queue has room for one."""
    happened: list[str] = []

    async def run() -> None:
        app = features_app()
        app.conf.stream_buffer_maxsize = 1
        topic = app.topic("samples")
        app.topics.add(topic)
        app.flow_control.resume()
        caller = asyncio.current_task()

        async def handler() -> None:
            await app.flow_control.acquire()
            await topic.queue.put("message")
            happened.append("handled" if asyncio.current_task() is caller else "handled by a task of its own")

        with consumer_of(app) as consumer:
            await scenario(consumer, topic)
            await consumer.wait_first(handler(), consumer.suspend_flow.wait())

    asyncio.run(asyncio.wait_for(run(), 30))
    return happened


def test_a_message_that_need_not_wait_is_handled_without_a_task() -> None:
    async def scenario(*_: Any) -> None:
        pass

    assert handing_over(scenario) == ["handled"]


def test_a_message_that_waits_for_room_is_given_up_when_the_flow_is_suspended() -> None:
    async def scenario(consumer: Any, topic: Any) -> None:
        topic.queue.put_nowait("earlier")
        asyncio.get_running_loop().call_later(0.01, consumer.stop_flow)

    assert handing_over(scenario) == []


def test_a_message_that_waits_for_room_is_handled_once_there_is_some() -> None:
    async def scenario(consumer: Any, topic: Any) -> None:
        topic.queue.put_nowait("earlier")
        asyncio.get_running_loop().call_later(0.01, topic.queue.get_nowait)

    assert handing_over(scenario) == ["handled by a task of its own"]


def test_a_message_that_comes_while_the_flow_is_suspended_waits_for_the_end_of_that() -> None:
    async def scenario(consumer: Any, _topic: Any) -> None:
        consumer.app.flow_control.suspend()
        asyncio.get_running_loop().call_later(0.01, consumer.app.flow_control.resume)

    assert handing_over(scenario) == ["handled by a task of its own"]


def test_what_the_handler_of_a_message_raises_is_raised() -> None:
    async def fail() -> None:
        raise LookupError("no callback")

    async def run() -> None:
        app = features_app()
        app.flow_control.resume()
        with consumer_of(app) as consumer:
            await consumer.wait_first(fail(), consumer.suspend_flow.wait())

    with pytest.raises(LookupError, match="no callback"):
        asyncio.run(run())


def test_faust_still_knows_when_a_partition_last_made_progress() -> None:
    app, tp = features_app(), TP("samples", 1)
    app.sensors.add(app.monitor)
    app.sensors.on_stream_event_in(tp, 5, None, None)
    app.sensors.on_stream_event_out(tp, 5, None, None, None)
    assert list(app.monitor.stream_inbound_time) == [tp]


def test_the_consumer_that_faust_makes_waits_shortly_for_a_fetch_that_is_worth_it() -> None:
    async def fetch_wait_ms_and_bytes() -> tuple[int, int]:
        app = features_app()
        with consumer_of(app) as consumer:
            made = consumer._thread._create_worker_consumer(app.transport)
            await made.stop()
            return made._fetch_max_wait_ms, made._fetch_min_bytes

    assert asyncio.run(fetch_wait_ms_and_bytes()) == (FETCH_WAIT_MS, FETCH_BYTES)


def test_a_full_batch_fits_every_topic() -> None:
    assert all(int(topic.broker_settings()["max.message.bytes"]) > BATCH_BYTES for topic in ALL_TOPICS)


def test_credentials_reach_faust_and_the_password_stays_out_of_its_text() -> None:
    security = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "pulsetrain",
        "sasl.password": "secret",
    }
    kafka = KafkaSettings(bootstrap="a:9092,b:9093", security=security)
    app = make_app("detect", kafka, TopicNames("t."), 4, declare_topics=True)
    assert [str(url) for url in app.conf.broker] == ["kafka://a:9092", "kafka://b:9093"]
    credentials: Any = app.conf.broker_credentials
    assert (credentials.username, credentials.password) == ("pulsetrain", "secret")
    assert "secret" not in repr(credentials)
