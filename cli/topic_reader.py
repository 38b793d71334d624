"""Reads one topic without a group: nothing is committed, no worker loses a partition to a reader."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self, cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from pulsetrain.cli.errors import CliError
from pulsetrain.cli.positions import position_of
from pulsetrain.schemas.dead_letter import Position
from pulsetrain.schemas.kafka import KafkaSettings, consumer_config
from pulsetrain.schemas.times import utc_time

_METADATA_SECONDS = 10.0
_TOPIC_SECONDS = 5.0
_POLL_SECONDS = 0.2
_REPEAT_SECONDS = 30.0
_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Received:
    """One message as it came; `value` None is a tombstone, which deletes its key.

    `at` is None for a message without a timestamp, or with one that no calendar has (CreateTime in microseconds).
    """

    position: Position
    at: datetime | None
    key: str
    value: bytes | None
    headers: dict[str, bytes | None]


class TopicReader:
    """All partitions of a topic, from their beginning or from now on, as long as the context.

    Args:
        kafka: where Kafka is.
        topic: full name.
        from_beginning: whether what is there already is read too.
        announce: called with a sentence when reading begins and when Kafka does not answer.

    Raises:
        CliError: there is no such topic, or the broker refuses to have it read.
    """

    def __init__(self, kafka: KafkaSettings, topic: str, from_beginning: bool, announce: Callable[[str], None]) -> None:
        self._kafka = kafka
        self._topic = topic
        self._from_beginning = from_beginning
        self._announce = announce
        self._quiet_until = 0.0
        self._consumer: Consumer | None = None

    def __enter__(self) -> Self:
        self._consumer = Consumer(consumer_config(self._kafka, None, error_cb=self._client_error))
        try:
            self._assign(self._consumer)
        except KafkaException as error:
            self._consumer.close()
            raise CliError(f"{self._topic} on {self._kafka.bootstrap} can't be read: {error.args[0].str()}.") from error
        except BaseException:
            self._consumer.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def __iter__(self) -> Iterator[Received]:
        """Messages without end, partition by partition in order."""
        consumer = self._consumer
        if consumer is None:
            raise RuntimeError("a TopicReader is read inside its with block")
        while True:
            message = consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            if (error := message.error()) is None:
                yield _received(message)
            elif error.retriable():
                self._client_error(error)
            else:
                raise CliError(f"{self._topic} on {self._kafka.bootstrap} can't be read: {error.str()}.")

    def _assign(self, consumer: Consumer) -> None:
        found = self._found_partitions(consumer)
        partitions = [TopicPartition(self._topic, partition, OFFSET_BEGINNING) for partition in found]
        if not self._from_beginning:
            for partition in partitions:
                _, partition.offset = consumer.get_watermark_offsets(partition, timeout=_METADATA_SECONDS)
        consumer.assign(partitions)
        since = "from the beginning" if self._from_beginning else "from now on"
        self._announce(f"Reading {self._topic} on {self._kafka.bootstrap} {since}; Ctrl-C ends.")

    def _found_partitions(self, consumer: Consumer) -> list[int]:
        """The topic's partitions; a topic that is only just being made is waited for."""
        deadline = time.monotonic() + _TOPIC_SECONDS
        while True:
            found = consumer.list_topics(self._topic, timeout=_METADATA_SECONDS).topics[self._topic]
            if found.error is None and found.partitions:
                return list(found.partitions)
            if time.monotonic() > deadline:
                raise CliError(
                    f"There is no topic {self._topic} on {self._kafka.bootstrap}: create the topics with "
                    "`pulsetrain topics create`, or name another --prefix."
                )
            time.sleep(_POLL_SECONDS)

    def _client_error(self, error: KafkaError) -> None:
        """Tell a trouble that librdkafka goes on with by itself, at most once in a while."""
        if time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + _REPEAT_SECONDS
            self._announce(f"Kafka at {self._kafka.bootstrap} has trouble ({error.str()}); trying on.")


def _received(message: Message) -> Received:
    kind, timestamp_ms = message.timestamp()
    return Received(
        position_of(message),
        None if kind == TIMESTAMP_NOT_AVAILABLE else _time(timestamp_ms),
        (message.key() or b"").decode(errors="replace"),
        message.value(),
        dict(cast("list[tuple[str, bytes | None]]", message.headers() or [])),
    )


def _time(timestamp_ms: int) -> datetime | None:
    try:
        return utc_time(timestamp_ms * _NS_PER_MS)
    except (ValueError, OverflowError, OSError):  # the producer sets it, to whatever it likes
        return None
