"""Look before a process starts whether its topics are on the broker and fit; never create one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its types forget to export what it does
    AdminClient,
    ClusterMetadata,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from pulsetrain.schemas.errors import SchemaError
from pulsetrain.schemas.kafka.librdkafka import admin_config
from pulsetrain.schemas.kafka.settings import KafkaSettings
from pulsetrain.schemas.kafka.waiting import EMERGENCIES_ONLY, FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS
from pulsetrain.schemas.topics import Topic

_REQUEST_SECONDS = 10.0

_NOT_PERMITTED = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
_NOT_OFFERED = (KafkaError._UNSUPPORTED_FEATURE, KafkaError.UNSUPPORTED_VERSION)


class TopicsError(SchemaError):
    """A topic on the broker is set up so that its readers would go wrong; waiting would not help."""


def wait_for_topics(
    kafka: KafkaSettings,
    topics: Iterable[Topic],
    prefix: str,
    partitions: int | None,
    announce: Callable[[str], None],
    *,
    sleep: Callable[[float], None] = time.sleep,
    open_admin: Callable[[KafkaSettings], AdminClient] | None = None,
) -> None:
    """Return once every topic exists and fits; until then look again after 0.5 s, then twice as long, up to 30 s.

    Settings are compared where the broker tells them: the embedded one does not, and a user may lack the permission,
    which is announced.

    Args:
        kafka: where Kafka is.
        topics: which ones.
        prefix: of their names.
        partitions: how many the partitioned topics must have; None for a process that does not care.
        announce: called with one sentence a look that was in vain.
        sleep: waits for so many seconds.
        open_admin: makes the client that looks.

    Raises:
        TopicsError: a topic has another number of partitions, or a setting without which its readers go wrong.
    """
    admin = (open_admin or _open_admin)(kafka)
    wanted = {topic.full_name(prefix): topic for topic in topics}
    delay = FIRST_DELAY_SECONDS
    while (problem := _problem(admin, kafka, wanted, partitions, announce)) is not None:
        announce(f"{problem}; next look in {delay:g} s.")
        sleep(delay)
        delay = min(2 * delay, LONGEST_DELAY_SECONDS)


def settings_on_broker(
    admin: AdminClient, names: Sequence[str], timeout_seconds: float = _REQUEST_SECONDS
) -> dict[str, dict[str, str]]:
    """The settings of existing topics, by topic and by Apache Kafka's name of the setting.

    Raises:
        KafkaException: the broker does not tell.
    """
    if not names:
        return {}
    answers = admin.describe_configs(
        [ConfigResource(ResourceType.TOPIC, name) for name in names], request_timeout=timeout_seconds
    )
    return {resource.name: _values(answer) for resource, answer in answers.items()}


def different_settings(wanted: Mapping[str, str], found: Mapping[str, str]) -> tuple[str, ...]:
    """Which of the wanted settings the topic does not have, one sentence part each."""
    return tuple(
        f"{name} is {found.get(name, 'unknown')} and should be {value}"
        for name, value in wanted.items()
        if found.get(name) != value
    )


def _open_admin(kafka: KafkaSettings) -> AdminClient:
    return AdminClient(admin_config(kafka, log_level=EMERGENCIES_ONLY))


def _values(answer: Future[Mapping[str, ConfigEntry]]) -> dict[str, str]:
    return {name: entry.value for name, entry in answer.result().items() if entry.value is not None}


def _problem(
    admin: AdminClient,
    kafka: KafkaSettings,
    wanted: Mapping[str, Topic],
    partitions: int | None,
    announce: Callable[[str], None],
) -> str | None:
    """What has to be waited for."""
    missing = []
    for name, topic in wanted.items():
        try:
            cluster = admin.list_topics(name, timeout=_REQUEST_SECONDS)
        except KafkaException as error:
            return f"Kafka at {kafka.bootstrap} does not list its topics ({error.args[0].str()})"
        found = cluster.topics[name]
        if found.error is not None and found.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            missing.append(f"{name} ({found.error.str()})")
        elif not found.partitions:
            missing.append(name)
        elif partitions is not None and topic.partitions is None and len(found.partitions) != partitions:
            raise TopicsError(
                f"Topic {name} on {kafka.bootstrap} has {len(found.partitions)} partitions and this worker is "
                f"configured for {partitions}: set topics.partitions to {len(found.partitions)}."
            )
        elif topic.partitions not in (None, len(found.partitions)) and _answers_admin_requests(cluster):
            raise TopicsError(
                f"Topic {name} on {kafka.bootstrap} has {len(found.partitions)} partitions and must have "
                f"{topic.partitions}: its readers rely on one order. Delete it, and create the topics with "
                "`pulsetrain topics create`."
            )
    if missing:
        return (
            f"Waiting for {', '.join(missing)} on {kafka.bootstrap}: create the topics with `pulsetrain topics create`"
        )
    return _settings_problem(admin, kafka, wanted, announce) if _answers_admin_requests(cluster) else None


def _answers_admin_requests(cluster: ClusterMetadata) -> bool:
    """Whether there is a controller, for which every admin request waits; the embedded broker has none."""
    return cluster.controller_id in cluster.brokers


def _settings_problem(
    admin: AdminClient, kafka: KafkaSettings, wanted: Mapping[str, Topic], announce: Callable[[str], None]
) -> str | None:
    essential = {name: settings for name, topic in wanted.items() if (settings := topic.essential_settings())}
    try:
        found = settings_on_broker(admin, list(essential))
    except KafkaException as error:
        cause = error.args[0]
        if cause.code() in _NOT_PERMITTED:
            announce(f"The settings of the topics on {kafka.bootstrap} are not compared ({cause.str()}).")
        elif cause.code() not in _NOT_OFFERED:
            return f"Kafka at {kafka.bootstrap} does not describe its topics ({cause.str()})"
        return None
    for name, settings in essential.items():
        if different := different_settings(settings, found[name]):
            raise TopicsError(
                f"Topic {name} on {kafka.bootstrap} can't be used: {'; '.join(different)}. Alter it with Kafka's own "
                "tools, or choose another topics.prefix and run `pulsetrain topics create`."
            )
    return None
