"""Declares the topics on a broker, and compares those that are there with what they should be."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its types forget to export what it does
    AdminClient,
    NewTopic,
)

from pulsetrain.cli.errors import CliError
from pulsetrain.schemas.kafka import KafkaSettings, admin_config
from pulsetrain.schemas.kafka.topic_check import different_settings, settings_on_broker
from pulsetrain.schemas.topics import ALL_TOPICS, Topic

BROKER_DEFAULT_REPLICATION = -1

_REQUEST_SECONDS = 20.0


class TopicState(StrEnum):
    """What `create_topics` found and did."""

    CREATED = "created"
    AS_WANTED = "exists"
    DIFFERENT = "differs"


@dataclass(frozen=True, slots=True)
class TopicOutcome:
    """One topic after `create_topics`; `differences` is empty unless the state says that it differs."""

    topic: Topic
    name: str
    partitions: int
    state: TopicState
    differences: tuple[str, ...] = ()


def create_topics(
    kafka: KafkaSettings, prefix: str, partitions: int, replication_factor: int = BROKER_DEFAULT_REPLICATION
) -> list[TopicOutcome]:
    """Create the topics that are missing; those that exist are compared and left as they are.

    Raises:
        CliError: the broker refuses, or does not answer (the embedded broker has no admin requests).
    """
    admin = AdminClient(admin_config(kafka))
    wanted = {topic.full_name(prefix): topic for topic in ALL_TOPICS}
    counts = {name: topic.partitions or partitions for name, topic in wanted.items()}
    created = _create(
        admin,
        kafka,
        [
            NewTopic(name, counts[name], replication_factor, config=dict(topic.broker_settings()))
            for name, topic in wanted.items()
        ],
    )
    existing = [name for name in wanted if name not in created]
    settings = _broker_settings(admin, kafka, existing)
    outcomes = []
    for name, topic in wanted.items():
        if name in created:
            outcomes.append(TopicOutcome(topic, name, counts[name], TopicState.CREATED))
            continue
        found = _partition_count(admin, kafka, name)
        different = differences(topic, counts[name], found, settings[name])
        state = TopicState.DIFFERENT if different else TopicState.AS_WANTED
        outcomes.append(TopicOutcome(topic, name, found, state, different))
    return outcomes


def differences(topic: Topic, partitions: int, found_partitions: int, found: Mapping[str, str]) -> tuple[str, ...]:
    """What is not as wanted about a topic on the broker, one sentence part each."""
    different = []
    if found_partitions != partitions:
        different.append(f"partitions is {found_partitions} and should be {partitions}")
    return (*different, *different_settings(topic.broker_settings(), found))


def existing_partitions(kafka: KafkaSettings, prefix: str) -> dict[Topic, int]:
    """How many partitions each topic has on the broker; 0 where it does not exist.

    Raises:
        CliError: the broker does not answer.
    """
    admin = AdminClient(admin_config(kafka))
    try:
        found = admin.list_topics(timeout=_REQUEST_SECONDS).topics
    except KafkaException as error:
        raise _refused(kafka, "list its topics", error.args[0]) from error
    return {
        topic: len(found[name].partitions) if (name := topic.full_name(prefix)) in found else 0 for topic in ALL_TOPICS
    }


def _create(admin: AdminClient, kafka: KafkaSettings, topics: list[NewTopic]) -> set[str]:
    """The names of those that did not exist before."""
    futures = admin.create_topics(topics, request_timeout=_REQUEST_SECONDS, operation_timeout=_REQUEST_SECONDS)
    created = set()
    for name, future in futures.items():
        error = _error_of(future)
        if error is None:
            created.add(name)
        elif error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise _refused(kafka, f"create the topic {name}", error)
    return created


def _broker_settings(admin: AdminClient, kafka: KafkaSettings, names: list[str]) -> dict[str, dict[str, str]]:
    try:
        return settings_on_broker(admin, names, _REQUEST_SECONDS)
    except KafkaException as error:
        raise _refused(kafka, f"describe the topics {', '.join(names)}", error.args[0]) from error


def _partition_count(admin: AdminClient, kafka: KafkaSettings, name: str) -> int:
    try:
        return len(admin.list_topics(name, timeout=_REQUEST_SECONDS).topics[name].partitions)
    except KafkaException as error:
        raise _refused(kafka, f"describe the topic {name}", error.args[0]) from error


def _error_of(future: "Future[object]") -> KafkaError | None:
    failure = future.exception()
    if failure is None:
        return None
    if not isinstance(failure, KafkaException):
        raise failure
    error: KafkaError = failure.args[0]
    return error


def _refused(kafka: KafkaSettings, what: str, error: KafkaError) -> CliError:
    hint = ""
    if error.code() == KafkaError._TIMED_OUT:
        hint = " Is it Pulsetrain's embedded broker? That one needs no topics created."
    return CliError(f"Kafka at {kafka.bootstrap} did not {what}: {error.str()}.{hint}")
