"""The Faust app of a stage: its settings, and what is changed inside Faust."""

import asyncio
from typing import Any

from pulsetrain.schemas.kafka import KafkaSettings
from pulsetrain.schemas.topics import ALL_TOPICS, TopicNames
from pulsetrain.streams.faust_app import BATCH_BYTES, make_app
from pulsetrain.streams.faust_transport import FETCH_WAIT_MS


def test_the_consumer_that_faust_makes_waits_only_shortly_for_a_fetch() -> None:
    async def fetch_wait_ms() -> int:
        app = make_app("features", KafkaSettings(bootstrap="b:9092"), TopicNames("t."), 4, declare_topics=False)
        consumer: Any = app._new_consumer()
        thread = consumer._new_consumer_thread()
        made = thread._create_worker_consumer(app.transport)
        await made.stop()
        return int(made._fetch_max_wait_ms)

    assert asyncio.run(fetch_wait_ms()) == FETCH_WAIT_MS


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
