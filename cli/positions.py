"""Where a message of librdkafka's client stands."""

from typing import cast

from confluent_kafka import Message

from pulsetrain.schemas.dead_letter import Position


def position_of(message: Message) -> Position:
    """The position of a message that the broker delivered or confirmed, which always has one."""
    return Position(cast(str, message.topic()), cast(int, message.partition()), cast(int, message.offset()))
