"""The way to Kafka: a bounded queue in front of librdkafka, and an account of every message."""

import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pulsetrain.agents.run_stats import RunStats

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.05
_PURGED_SECONDS = 1.0

_OUTAGES = (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION)
_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
_FULL = "queue full"
_ENDED = "not delivered before the agent ended"


class _Waiting(NamedTuple):
    topic: str
    key: bytes
    value: bytes
    samples: int


class Publisher:
    """Sends messages in order; never blocks the caller, and never loses one without counting it.

    librdkafka's queue can't give up its oldest message, so it is kept short and the rest waits here, where the oldest
    is dropped when there is no room. Not safe to use from several threads.

    Args:
        open_producer: makes the producer, given what librdkafka shall call with its errors; called at the first
            message, in the process that sends it, since a producer does not survive a fork.
        stats: where messages are counted.
        queue_bytes: how many bytes of keys and values wait here at most.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        open_producer: Callable[[Callable[[KafkaError], None]], Producer],
        stats: RunStats,
        queue_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_producer = open_producer
        self._stats = stats
        self._queue_bytes = queue_bytes
        self._clock = clock
        self._producer: Producer | None = None
        self._queue: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._outage: str | None = None
        self._broker_trouble = ""
        self._told_failures: set[tuple[str, int]] = set()
        self._in_flight = _Tally()
        self._abandoned_because = ""

    def send(self, topic: str, key: bytes, value: bytes, samples: int = 0) -> None:
        """Take a message over; `samples` is how many are lost if it is."""
        message = _Waiting(topic, key, value, samples)
        self._stats.produced += 1
        self._queue.append(message)
        self._waiting_bytes += _size(message)
        while self._waiting_bytes > self._queue_bytes:
            self._drop_oldest()
        self.poll()

    def poll(self) -> None:
        """Hand over what librdkafka has room for, and take in what became of earlier messages. Call it often."""
        if self._producer is None:
            if not self._queue:
                return
            self._producer = self._open_producer(self._report)
        self._hand_over(self._producer)
        if self._producer is not None:
            self._producer.poll(0)

    def close(self, deadline_seconds: float) -> int:
        """Deliver what is held for so long, then give up the rest; returns how many messages were given up.

        Afterwards nothing is pending: sent + failed + dropped = produced.
        """
        end = self._clock() + deadline_seconds
        while self._stats.pending and self._clock() < end:
            self.poll()
            if self._producer is not None:
                self._producer.poll(_POLL_SECONDS)
        undelivered = self._stats.pending
        while self._queue:
            self._drop_oldest()
        if self._producer is not None:
            self._abandon(self._producer, _ENDED)
        return undelivered

    def _hand_over(self, producer: Producer) -> None:
        while self._queue:
            message = self._queue[0]
            try:
                producer.produce(
                    message.topic,
                    key=message.key,
                    value=message.value,
                    on_delivery=partial(self._delivered, message.topic, message.samples),
                )
            except BufferError:
                return
            except KafkaException as error:
                if error.args[0].fatal():
                    _LOG.error("The Kafka producer gave up (%s); a new one takes its place.", error.args[0].str())
                    self._abandon(producer, error.args[0].str())
                    return
                self._failed(message.topic, message.samples, error.args[0])
            else:
                self._in_flight.add(message.samples)
            self._queue.popleft()
            self._waiting_bytes -= _size(message)

    def _drop_oldest(self) -> None:
        message = self._queue.popleft()
        self._waiting_bytes -= _size(message)
        self._stats.dropped += 1
        cause = "Kafka takes messages too slowly" if self._outage is None else f"Kafka can't be reached: {self._outage}"
        self._stats.lose(message.samples, _FULL, f"no room was left for what waits ({cause})")

    def _delivered(self, topic: str, samples: int, error: KafkaError | None, _: Message) -> None:
        self._in_flight.remove(samples)
        if error is not None:
            self._failed(topic, samples, error)
            return
        self._stats.sent += 1
        self._told_failures = {told for told in self._told_failures if told[0] != topic}
        if self._outage is not None:
            self._outage = None
            _LOG.warning("Kafka takes messages again.")

    def _failed(self, topic: str, samples: int, error: KafkaError) -> None:
        """Count a message that failed; log the first error of each code until the topic takes a message again."""
        self._stats.failed += 1
        purged = error.code() in _PURGED
        self._stats.lose(samples, error.name(), self._abandoned_because if purged else error.str())
        if not purged and (topic, error.code()) not in self._told_failures:
            self._told_failures.add((topic, error.code()))
            _LOG.error("Kafka does not take a message to %s: %s.", topic, error.str())

    def _report(self, error: KafkaError) -> None:
        """Log the beginning of an outage; one broker of several may be away without anybody noticing."""
        if error.code() not in _OUTAGES:
            self._broker_trouble = error.str()
        elif self._outage is None:
            self._outage = f"{error.str()} ({self._broker_trouble})" if self._broker_trouble else error.str()
            _LOG.warning("Kafka can't be reached: %s. Messages are held and sent when it returns.", self._outage)

    def _abandon(self, producer: Producer, reason: str) -> None:
        """End a producer: what it still holds fails, and is counted by its delivery report or, without one, here."""
        self._producer = None
        self._abandoned_because = reason
        producer.purge()
        producer.flush(_PURGED_SECONDS)
        producer.close()
        self._stats.failed += self._in_flight.messages
        self._stats.lose(self._in_flight.samples, "abandoned", reason)
        self._in_flight = _Tally()


class _Tally:
    """How many messages librdkafka holds, and how many samples are in them."""

    def __init__(self) -> None:
        self.messages = 0
        self.samples = 0

    def add(self, samples: int) -> None:
        self.messages += 1
        self.samples += samples

    def remove(self, samples: int) -> None:
        self.messages -= 1
        self.samples -= samples


def _size(message: _Waiting) -> int:
    return len(message.key) + len(message.value)
