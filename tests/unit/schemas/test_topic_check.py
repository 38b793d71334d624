"""Topics whose settings the broker tells, told by a stand-in for librdkafka's admin client."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from pulsetrain.schemas.errors import SchemaError
from pulsetrain.schemas.kafka import KafkaSettings, wait_for_topics
from pulsetrain.schemas.topics import ALL_TOPICS, LABELS, SAMPLES, STATUS, Topic

KAFKA = KafkaSettings(bootstrap="kafka-0:9092")


class FakeAdmin:
    """A cluster of one broker with all topics that are asked for, and the settings that `pulsetrain` wants."""

    def __init__(self, controller_id: int = 1, **changed: dict[str, str]) -> None:
        self.controller_id = controller_id
        self.settings = {
            topic.name: {**topic.broker_settings(), **changed.get(topic.name, {}), "segment.bytes": "1073741824"}
            for topic in ALL_TOPICS
        }
        self.listing: list[Exception] = []
        self.describing: list[KafkaError] = []
        self.topic_error: KafkaError | None = None
        self.partitions = 1
        self.described: list[str] = []

    def list_topics(self, name: str, timeout: float) -> Any:
        if self.listing:
            raise self.listing.pop()
        topic = SimpleNamespace(
            error=self.topic_error, partitions={} if self.topic_error else dict.fromkeys(range(self.partitions))
        )
        self.topic_error = None
        return SimpleNamespace(topics={name: topic}, brokers={1: None}, controller_id=self.controller_id)

    def describe_configs(self, resources: list[Any], request_timeout: float) -> dict[Any, Future[Any]]:
        answers = {}
        failure = self.describing.pop() if self.describing else None
        for resource in resources:
            self.described.append(resource.name)
            answers[resource] = future = Future[Any]()
            if failure is not None:
                future.set_exception(KafkaException(failure))
            else:
                settings = self.settings[resource.name]
                future.set_result({name: SimpleNamespace(value=value) for name, value in settings.items()})
        return answers


def wait(admin: FakeAdmin, *topics: Topic) -> tuple[list[str], list[float]]:
    """What was announced, and how long was slept."""
    said: list[str] = []
    slept: list[float] = []
    opened: Any = lambda _: admin  # noqa: E731
    wait_for_topics(KAFKA, topics or ALL_TOPICS, "", 1, said.append, sleep=slept.append, open_admin=opened)
    return said, slept


def test_topics_as_they_should_be_need_no_word() -> None:
    assert wait(FakeAdmin()) == ([], [])


@pytest.mark.parametrize(
    ("topic", "setting", "wrong", "wanted"),
    [
        ("samples", "message.timestamp.type", "CreateTime", "LogAppendTime"),
        ("labels", "cleanup.policy", "delete", "compact"),
        ("models", "cleanup.policy", "compact,delete", "compact"),
    ],
)
def test_a_setting_that_misleads_readers_ends_the_waiting(topic: str, setting: str, wrong: str, wanted: str) -> None:
    with pytest.raises(SchemaError) as caught:
        wait(FakeAdmin(1, **{topic: {setting: wrong}}))
    assert str(caught.value).startswith(
        f"Topic {topic} on kafka-0:9092 can't be used: {setting} is {wrong} and should be {wanted}."
    )
    assert "\n" not in str(caught.value)


def test_a_topic_whose_order_counts_must_have_its_one_partition() -> None:
    admin = FakeAdmin()
    admin.partitions = 3
    with pytest.raises(SchemaError, match="Topic labels on kafka-0:9092 has 3 partitions and must have 1"):
        wait(admin, LABELS)
    embedded = FakeAdmin(controller_id=-1)  # librdkafka gives every topic of its mock cluster four
    embedded.partitions = 4
    assert wait(embedded, LABELS) == ([], [])


def test_a_setting_that_is_the_operators_choice_is_left_alone() -> None:
    admin = FakeAdmin(samples={"retention.ms": "1"}, status={"cleanup.policy": "compact"}, labels={"retention.ms": "1"})
    assert wait(admin) == ([], [])


def test_a_process_is_not_stopped_by_a_topic_that_it_does_not_use() -> None:
    assert wait(FakeAdmin(labels={"cleanup.policy": "delete"}), SAMPLES, STATUS) == ([], [])


def test_a_cluster_without_a_controller_is_not_asked_for_settings() -> None:
    admin = FakeAdmin(controller_id=0, labels={"cleanup.policy": "delete"})
    assert wait(admin) == ([], [])
    assert admin.described == []


@pytest.mark.parametrize("code", [KafkaError._UNSUPPORTED_FEATURE, KafkaError.UNSUPPORTED_VERSION])
def test_a_broker_that_does_not_know_the_question_is_passed_over_quietly(code: int) -> None:
    admin = FakeAdmin()
    admin.describing = [KafkaError(code)]
    assert wait(admin, LABELS) == ([], [])


def test_a_user_that_may_not_see_the_settings_goes_on_and_is_told() -> None:
    admin = FakeAdmin()
    admin.describing = [KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed")]
    said, slept = wait(admin, LABELS)
    assert said == ["The settings of the topics on kafka-0:9092 are not compared (Topic authorization failed)."]
    assert slept == []


def test_a_broker_that_does_not_answer_is_asked_again() -> None:
    admin = FakeAdmin()
    admin.listing = [KafkaException(KafkaError(KafkaError._TRANSPORT, "Connection refused"))]
    admin.describing = [KafkaError(KafkaError._TIMED_OUT, "Timed out")]
    said, slept = wait(admin, LABELS)
    assert said == [
        "Kafka at kafka-0:9092 does not list its topics (Connection refused); next look in 0.5 s.",
        "Kafka at kafka-0:9092 does not describe its topics (Timed out); next look in 1 s.",
    ]
    assert slept == [0.5, 1.0]


def test_a_topic_that_may_not_be_seen_is_waited_for_with_the_reason() -> None:
    admin = FakeAdmin()
    admin.topic_error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed")
    said, _ = wait(admin, LABELS)
    assert said[0].startswith("Waiting for labels (Topic authorization failed) on kafka-0:9092")
