"""A stand-in for librdkafka's producer, and for a clock."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException


class FakeProducer:
    """librdkafka's behaviour as far as the publisher sees it: a queue with room for a few, reports on poll."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.held: list[tuple[bytes, Callable[[Any, Any], None]]] = []
        self.delivered: list[bytes] = []
        self.timestamps: list[int] = []
        self.refusal: KafkaError | None = None
        self.closed = False

    def produce(
        self, topic: str, *, key: bytes, value: bytes, on_delivery: Callable[[Any, Any], None], timestamp: int
    ) -> None:
        if self.refusal is not None:
            raise KafkaException(self.refusal)
        if len(self.held) >= self.room:
            raise BufferError
        self.held.append((value, on_delivery))
        self.timestamps.append(timestamp)

    def poll(self, timeout: float) -> None:
        """Nothing is delivered unless the test says so."""

    def report(self, count: int, error: KafkaError | None = None) -> None:
        done, self.held = self.held[:count], self.held[count:]
        for value, on_delivery in done:
            if error is None:
                self.delivered.append(value)
            on_delivery(error, None)

    def purge(self) -> None:
        self.report(len(self.held), KafkaError(KafkaError._PURGE_QUEUE))

    def flush(self, timeout: float) -> int:
        return len(self.held)

    def close(self) -> None:
        self.closed = True


class Clock:
    """Moves on by a tenth of a second each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.1
        return self.now
