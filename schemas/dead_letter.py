"""Dead letters: the original bytes, with headers that say where they came from and what was wrong."""

from typing import NamedTuple


class Position(NamedTuple):
    """Where a message stands in the log."""

    topic: str
    partition: int
    offset: int


_MAX_REASON_CHARACTERS = 1000


def dead_letter_headers(position: Position, reason: str) -> list[tuple[str, bytes]]:
    """Kafka headers of a dead letter."""
    return [
        ("topic", position.topic.encode()),
        ("partition", str(position.partition).encode()),
        ("offset", str(position.offset).encode()),
        ("reason", reason[:_MAX_REASON_CHARACTERS].encode(errors="replace")),
    ]
