"""Looking for topics on a broker that creates those that a client asks for, as Apache Kafka does by default."""

import pytest
from confluent_kafka.admin import AdminClient

from pulsetrain.cli.brokers.embedded import EMBEDDED_PARTITIONS, EmbeddedBroker
from pulsetrain.schemas.kafka import KafkaSettings, TopicsError, admin_config, wait_for_topics
from pulsetrain.schemas.topics import ALL_TOPICS


def test_an_admin_that_asks_for_a_topic_does_not_create_it(broker: EmbeddedBroker, unique: str) -> None:
    admin = AdminClient(admin_config(KafkaSettings(bootstrap=broker.bootstrap)))
    for _ in range(2):
        assert admin.list_topics(unique + "samples", timeout=10).topics[unique + "samples"].error is not None
    assert admin.list_topics(timeout=10).topics == {}


def test_topics_are_waited_for_until_they_are_all_there(broker: EmbeddedBroker, unique: str) -> None:
    names = [topic.full_name(unique) for topic in ALL_TOPICS]
    said: list[str] = []
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        broker.declare(names[: 3 * len(slept)])

    wait_for_topics(
        KafkaSettings(bootstrap=broker.bootstrap), ALL_TOPICS, unique, EMBEDDED_PARTITIONS, said.append, sleep=sleep
    )
    assert slept == [0.5, 1.0, 2.0]
    assert said == [
        f"Waiting for {', '.join(names[missing:])} on {broker.bootstrap}: create the topics with "
        f"`pulsetrain topics create`; next look in {delay} s."
        for missing, delay in ((0, "0.5"), (3, "1"), (6, "2"))
    ]


def test_another_number_of_partitions_ends_the_waiting_with_what_to_set(broker: EmbeddedBroker, unique: str) -> None:
    broker.declare([topic.full_name(unique) for topic in ALL_TOPICS])
    with pytest.raises(TopicsError, match=r"has 4 partitions .* configured for 7: set topics\.partitions to 4"):
        wait_for_topics(KafkaSettings(bootstrap=broker.bootstrap), ALL_TOPICS, unique, 7, print)
