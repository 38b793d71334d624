"""What a process sees of its topics on Apache Kafka before it starts."""

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.schemas.kafka import KafkaSettings, TopicsError, admin_config, wait_for_topics
from pulsetrain.schemas.topics import SAMPLES, STATUS


class LookedInVainError(Exception):
    """There is something to wait for."""


def stop(_: float) -> None:
    raise LookedInVainError


def test_a_topic_that_is_missing_is_not_created_by_looking(kafka: ApacheKafka, unique: str) -> None:
    settings = KafkaSettings(bootstrap=kafka.bootstrap)
    said: list[str] = []
    for _ in range(2):
        with pytest.raises(LookedInVainError):
            wait_for_topics(settings, (SAMPLES, STATUS), unique, None, said.append, sleep=stop)
    assert f"Waiting for {unique}samples, {unique}status on {kafka.bootstrap}" in said[1]


def test_samples_without_the_brokers_time_are_refused_and_with_it_taken(kafka: ApacheKafka, unique: str) -> None:
    settings = KafkaSettings(bootstrap=kafka.bootstrap)
    admin = AdminClient(admin_config(settings))
    good = NewTopic(f"{unique}good.samples", 2, 1, config=dict(SAMPLES.broker_settings()))
    for future in admin.create_topics([NewTopic(f"{unique}plain.samples", 2, 1), good]).values():
        future.result(30)
    said: list[str] = []

    def look(prefix: str) -> None:
        wait_for_topics(settings, (SAMPLES,), prefix, None, said.append, sleep=lambda _: None)

    look(f"{unique}good.")
    with pytest.raises(TopicsError, match=r"message\.timestamp\.type is CreateTime and should be LogAppendTime"):
        look(f"{unique}plain.")
