"""Reads the topics that the demo watches, all by one consumer that belongs to no group."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self, cast

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from pulsetrain.cli.decoding import Record, decode
from pulsetrain.cli.demo.journal import Journal, Tone
from pulsetrain.cli.errors import CliError
from pulsetrain.cli.positions import position_of
from pulsetrain.cli.topic_reader import Received
from pulsetrain.schemas.errors import DecodeError
from pulsetrain.schemas.kafka import KafkaSettings, consumer_config
from pulsetrain.schemas.topics import ANOMALIES, DEAD_LETTER, FEATURES, SAMPLES, STATUS

WATCHED = (SAMPLES, FEATURES, ANOMALIES, STATUS, DEAD_LETTER)

_METADATA_SECONDS = 10.0
_MOST_MESSAGES = 500


class Feed:
    """The records of the watched topics from their beginning, as long as the context.

    Args:
        kafka: where Kafka is.
        prefix: of the topics, which exist.
        journal: is told of what can't be decoded.
    """

    def __init__(self, kafka: KafkaSettings, prefix: str, journal: Journal) -> None:
        self._kafka = kafka
        self._topics = {topic.full_name(prefix): topic for topic in WATCHED}
        self._journal = journal
        self._consumer = Consumer(consumer_config(kafka, None))

    def poll(self, seconds: float) -> Sequence[Record]:
        """What has come; waits for it at most so long.

        Raises:
            CliError: the broker refuses to have a topic read.
        """
        records = []
        for message in self._consumer.consume(_MOST_MESSAGES, timeout=seconds):
            if (error := message.error()) is not None:
                if error.retriable():
                    continue
                raise CliError(f"Kafka at {self._kafka.bootstrap} can't be read: {error.str()}.")
            try:
                records.append(decode(self._topics[cast(str, message.topic())], _received(message)))
            except DecodeError as problem:
                self._journal.write(Tone.PROBLEM, f"{position_of(message)}: {problem}")
        return records

    def __enter__(self) -> Self:
        try:
            partitions = [
                TopicPartition(name, number, OFFSET_BEGINNING)
                for name in self._topics
                for number in self._consumer.list_topics(name, timeout=_METADATA_SECONDS).topics[name].partitions
            ]
            self._consumer.assign(partitions)
        except KafkaException as error:
            self._consumer.close()
            raise CliError(f"Kafka at {self._kafka.bootstrap} can't be read: {error.args[0].str()}.") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()


def _received(message: Message) -> Received:
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return Received(
        position_of(message), None, (message.key() or b"").decode(errors="replace"), message.value(), dict(headers)
    )
