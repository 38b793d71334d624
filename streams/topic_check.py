"""Looks before a worker starts whether the topics are there and fit each other."""

import time
from collections.abc import Callable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from pulsetrain.schemas.kafka import KafkaSettings, admin_config
from pulsetrain.schemas.topics import ALL_TOPICS, TopicNames
from pulsetrain.streams.errors import TopicsMissingError

_METADATA_TIMEOUT_SECONDS = 10.0
_RETRY_SECONDS = 5.0


def wait_for_topics(
    kafka: KafkaSettings,
    topics: TopicNames,
    partitions: int,
    announce: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Returns once every topic exists with the expected number of partitions; says what is missing until then.

    Raises:
        TopicsMissingError: a topic has another number of partitions than this worker is configured for.
    """
    admin = AdminClient(admin_config(kafka))
    said = None
    while True:
        missing = _missing_topics(admin, topics, partitions)
        if not missing:
            return
        text = (
            f"waiting for {', '.join(missing)} on {kafka.bootstrap}: create the topics with "
            f"`pulsetrain topics create`; next look in {_RETRY_SECONDS:.0f} s"
        )
        if text != said:
            announce(text)
            said = text
        sleep(_RETRY_SECONDS)


def _missing_topics(admin: AdminClient, topics: TopicNames, partitions: int) -> list[str]:
    missing = []
    for topic in ALL_TOPICS:
        name = topic.full_name(topics.prefix)
        try:
            # Asking for one topic by name lets the embedded broker create it.
            found = admin.list_topics(name, timeout=_METADATA_TIMEOUT_SECONDS).topics[name]
        except KafkaException:
            missing.append(name)
            continue
        if found.error is not None or not found.partitions:
            missing.append(name)
        elif topic.partitions is None and len(found.partitions) != partitions:
            raise TopicsMissingError(
                f"topic {name} on the broker has {len(found.partitions)} partitions and this worker is configured "
                f"for {partitions}: set topics.partitions to {len(found.partitions)}"
            )
    return missing
