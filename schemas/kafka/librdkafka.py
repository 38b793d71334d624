"""What librdkafka's clients are configured with; a key lands in the partition where aiokafka puts it."""

from __future__ import annotations

import logging
from typing import Any

from pulsetrain.schemas.errors import EncodeError
from pulsetrain.schemas.kafka.settings import KafkaSettings, SettingsError
from pulsetrain.schemas.topics import ALL_TOPICS, MAX_RECORD_BYTES

PARTITIONER = "murmur2_random"
"""The partitioner of Java and aiokafka. librdkafka's own default sends most keys to other partitions."""

# librdkafka reports here instead of writing to stderr; without a handler of the program's own it is silent.
LIBRDKAFKA_LOG = logging.getLogger(__name__)
LIBRDKAFKA_LOG.addHandler(logging.NullHandler())


def producer_config(settings: KafkaSettings, **overrides: Any) -> dict[str, Any]:
    """Configuration of a producer: idempotent, compressed, with the one partitioner.

    Args:
        settings: where Kafka is.
        overrides: further librdkafka properties (`**{"linger.ms": 20}`), which win.

    Raises:
        SettingsError: another partitioner is asked for.
    """
    if overrides.get("partitioner", PARTITIONER) != PARTITIONER:
        raise SettingsError(
            f"partitioner {overrides['partitioner']!r} would send a key to another partition than the stream "
            f"workers do: every producer uses {PARTITIONER}."
        )
    return {
        **_common_config(settings),
        "partitioner": PARTITIONER,
        "enable.idempotence": True,
        "compression.type": "lz4",
        # librdkafka's default is less than a full block with its key; each topic has a limit of its own.
        "message.max.bytes": MAX_RECORD_BYTES,
        # A broker holds a whole batch against its topic's limit, so none may exceed the smallest of them.
        "batch.size": min(topic.max_message_bytes for topic in ALL_TOPICS),
        **overrides,
    }


def consumer_config(settings: KafkaSettings, group: str | None, **overrides: Any) -> dict[str, Any]:
    """Configuration of a consumer that starts at the oldest record and commits only when told to.

    Args:
        settings: where Kafka is.
        group: consumer group; None for a consumer that is assigned its partitions and never commits.
        overrides: further librdkafka properties, which win.
    """
    return {
        **_common_config(settings),
        # librdkafka wants a group id also from a consumer that never joins a group.
        "group.id": group or "pulsetrain-no-group",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        **overrides,
    }


def admin_config(settings: KafkaSettings, **overrides: Any) -> dict[str, Any]:
    """Configuration of an admin client, which never creates a topic by asking for it.

    A broker that creates topics on demand would give it settings of its own: one partition, the wrong time stamps.

    Args:
        settings: where Kafka is.
        overrides: further librdkafka properties, which win.
    """
    return {**_common_config(settings), "allow.auto.create.topics": False, **overrides}


def _common_config(settings: KafkaSettings) -> dict[str, Any]:
    return {"bootstrap.servers": settings.bootstrap, "logger": LIBRDKAFKA_LOG, **settings.security}


def checked_key(key: str) -> bytes:
    """A record's key as bytes.

    Raises:
        EncodeError: it is empty, which clients place differently, or no text that UTF-8 can carry.
    """
    if not key:
        raise EncodeError("A record needs a key: an empty one belongs to no partition for certain.")
    try:
        return key.encode()
    except UnicodeEncodeError as error:
        raise EncodeError(f"The record key {key!r} can't be written as UTF-8: {error}.") from error
