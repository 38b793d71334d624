"""The way to Kafka: a bounded queue and a spool in front of librdkafka, and an account of every message."""

import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pulsetrain.agents.kafka_troubles import KafkaTroubles
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.spool import Position, Spool, SpooledMessage

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.05
_PURGED_SECONDS = 1.0
_SPOOL_AFTER_SECONDS = 2.0
"""A message that Kafka has not confirmed by then is written to the spool, with all that wait behind it."""
_SPOOL_RETRY_SECONDS = 10.0
_REPLAY_BYTES = 64 * 1024
"""How much one poll takes from the spool: a long backlog neither holds up a tick nor costs more than the agent may."""
_MANY = 10_000
_NS_PER_MS = 1_000_000

_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
_FULL = "queue full"
_ENDED = "not delivered before the agent ended"


class Undelivered(NamedTuple):
    """Messages that a publisher held when it was closed: those that are lost, and those that stay in the spool."""

    lost: int
    spooled: int


class _Held:
    """A message in memory: when it came (monotonic), where it is in the spool, and whether its fate is settled."""

    __slots__ = ("message", "position", "settled", "since")

    def __init__(self, message: SpooledMessage, since: float, position: Position | None = None) -> None:
        self.message = message
        self.since = since
        self.position = position
        self.settled = False

    def settle(self) -> None:
        """Note that its fate is settled; its content is not needed any more."""
        self.settled = True
        self.message = self.message._replace(value=b"")


class Publisher:
    """Sends messages in order; never blocks the caller, and never loses one without counting it.

    librdkafka's queue can't give up its oldest message, so it is kept short and the rest waits here. What Kafka does
    not confirm soon is written to the spool, and deleted there when it is confirmed. Without a spool, or while it can't
    be written, messages wait in memory, where the oldest is dropped when there is no room. Not safe to use from several
    threads.

    Args:
        open_producer: makes the producer, given what librdkafka shall call with its errors; called at the first
            message, in the process that sends it, since a producer does not survive a fork. None: not yet.
        stats: where messages are counted.
        queue_bytes: how many bytes of keys and values wait in memory at most.
        clock: seconds that only grow.
        spool: where messages outlive the process; what it holds already is sent first.
        time_ns: the wall clock, Unix nanoseconds.
    """

    def __init__(
        self,
        open_producer: Callable[[Callable[[KafkaError], None]], Producer | None],
        stats: RunStats,
        queue_bytes: int,
        clock: Callable[[], float] = time.monotonic,
        spool: Spool | None = None,
        time_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._open_producer = open_producer
        self._stats = stats
        self._queue_bytes = queue_bytes
        self._clock = clock
        self._spool = spool
        self._time_ns = time_ns
        self._producer: Producer | None = None
        # In the order of sending: with librdkafka; before the spool; (unread in the spool); behind the spool.
        self._in_flight: deque[_Held] = deque()
        self._front: deque[_Held] = deque()
        self._queue: deque[_Held] = deque()
        self._waiting_bytes = 0
        self._troubles = KafkaTroubles(clock)
        self._spool_retry_at: float | None = None
        if spool is not None:
            stats.recovered += spool.unread_messages

    def send(self, topic: str, key: bytes, value: bytes, samples: int = 0) -> None:
        """Take a message over; `samples` is how many are lost if it is."""
        held = _Held(SpooledMessage(topic, key, value, samples, self._time_ns()), self._clock())
        self._stats.produced += 1
        self._queue.append(held)
        self._waiting_bytes += _size(held)
        self.poll()

    def poll(self) -> None:
        """Hand over what librdkafka has room for, and take in what became of earlier messages. Call it often."""
        if not (self._in_flight or self._has_waiting()):
            return
        if self._producer is None and self._troubles.may_open and self._has_waiting():
            self._producer = self._new_producer()
        if self._producer is not None:
            self._hand_over(self._producer)
        if self._producer is not None:
            self._producer.poll(0)
        self._forget_settled()
        self._keep_safe()

    def close(self, deadline_seconds: float) -> Undelivered:
        """Deliver what is held for so long; what is left then stays in the spool, or is lost.

        Afterwards only what stays in the spool is pending.
        """
        end = self._clock() + deadline_seconds
        while self._stats.pending and self._clock() < end:
            self.poll()
            if self._producer is None:
                break
            self._producer.poll(_POLL_SECONDS)
        self._forget_settled()
        if self._spool is not None:
            self._spool_retry_at = None
            self._write_to(self._spool)
        return self._end()

    def _has_waiting(self) -> bool:
        return bool(self._front or self._queue or (self._spool is not None and self._spool.unread_messages))

    def _new_producer(self) -> Producer | None:
        try:
            return self._open_producer(self._troubles.report)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._CRIT_SYS_RESOURCE:
                raise
            self._troubles.gave_up(error.args[0])
            return None

    def _hand_over(self, producer: Producer) -> None:
        replayed_bytes = 0
        while (source := self._next_source()) is not None:
            held = source[0]
            message, size = held.message, _size(held)
            try:
                producer.produce(
                    message.topic,
                    key=message.key,
                    value=message.value,
                    on_delivery=partial(self._settle, held),
                    timestamp=message.time_ns // _NS_PER_MS,
                )
            except BufferError:
                return
            except KafkaException as error:
                if error.args[0].fatal():
                    self._troubles.gave_up(error.args[0])
                    self._front.extendleft(reversed(self._abandon(producer)))
                    return
                self._failed(held, error.args[0])
            source.popleft()
            self._in_flight.append(held)
            if source is self._queue:
                self._waiting_bytes -= size
            elif (replayed_bytes := replayed_bytes + size) > _REPLAY_BYTES:
                return

    def _next_source(self) -> deque[_Held] | None:
        """The queue that begins with the next message; what is in the spool goes through the front."""
        if not self._front and self._spool is not None:
            if (taken := self._spool.take()) is not None:
                message, position = taken
                self._front.append(_Held(message, self._clock(), position))
            elif self._spool.unread_messages:
                return None
        return self._front or self._queue or None

    def _settle(self, held: _Held, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            if error.code() not in _PURGED:
                self._failed(held, error)
            return
        held.settle()
        self._stats.sent += 1
        self._troubles.took(held.message.topic)

    def _failed(self, held: _Held, error: KafkaError) -> None:
        """Count a message that failed."""
        held.settle()
        self._stats.failed += 1
        self._stats.lose(held.message.samples, error.name(), error.str())
        self._troubles.refused(held.message.topic, error)

    def _forget_settled(self) -> None:
        """Let go of the oldest messages whose fate is settled, in the spool too."""
        position = None
        while self._in_flight and self._in_flight[0].settled:
            position = self._in_flight.popleft().position or position
        if position is not None and self._spool is not None:
            self._spool.delivered(position)
        if len(self._in_flight) > _MANY:
            # One topic stands still while another goes on: of neighbours that are settled, the last one will do.
            followers = chain(islice(self._in_flight, 1, None), [None])
            self._in_flight = deque(
                held
                for held, follower in zip(self._in_flight, followers, strict=True)
                if not held.settled or follower is None or not follower.settled
            )

    def _keep_safe(self) -> None:
        """Write to the spool what has to wait, or drop the oldest of what has no room in memory."""
        spool = self._spool
        if spool is not None:
            spool.expire(self._time_ns())
            has_to_wait = self._troubles.outage is not None or spool.unread_messages or self._is_stalled()
            if has_to_wait and (self._spool_retry_at is None or self._clock() >= self._spool_retry_at):
                self._write_to(spool)
        while self._waiting_bytes > self._queue_bytes and self._queue:
            self._drop_oldest()

    def _is_stalled(self) -> bool:
        oldest = next((queue[0] for queue in (self._in_flight, self._front, self._queue) if queue), None)
        return oldest is not None and self._clock() - oldest.since > _SPOOL_AFTER_SECONDS

    def _write_to(self, spool: Spool) -> None:
        """Write everything that is not in the spool yet, in order.

        While messages lie unread in the spool, all that was handed over before them is in it too, since what waits in
        memory is handed over only when nothing lies unread.
        """
        try:
            for held in chain(self._in_flight, self._front):
                if held.position is None and not held.settled:
                    held.position = spool.append_taken(held.message)
            while self._queue:
                spool.append(self._queue[0].message)
                self._waiting_bytes -= _size(self._queue.popleft())
        except OSError as error:
            self._stats.spool_failures += 1
            if self._spool_retry_at is None:
                _LOG.warning("The spool can't be written (%s); messages wait in memory.", error.strerror or error)
            self._spool_retry_at = self._clock() + _SPOOL_RETRY_SECONDS
        else:
            if self._spool_retry_at is not None:
                _LOG.warning("The spool can be written again.")
            self._spool_retry_at = None

    def _drop_oldest(self) -> None:
        held = self._queue.popleft()
        self._waiting_bytes -= _size(held)
        outage = self._troubles.outage
        cause = "Kafka takes messages too slowly" if outage is None else f"Kafka can't be reached: {outage}"
        self._stats.drop(1, held.message.samples, _FULL, f"no room was left for what waits ({cause})")

    def _abandon(self, producer: Producer) -> list[_Held]:
        """End a producer; returns what it still held, oldest first."""
        self._producer = None
        producer.purge()
        producer.flush(_PURGED_SECONDS)
        producer.close()
        self._forget_settled()
        unsettled = [held for held in self._in_flight if not held.settled]
        self._in_flight.clear()
        return unsettled

    def _end(self) -> Undelivered:
        """Give up what is not in the spool."""
        in_flight = [] if self._producer is None else self._abandon(self._producer)
        spooled = sum(map(self._is_spooled, chain(in_flight, self._front)))
        failed = [held for held in in_flight if not self._is_spooled(held)]
        dropped = [held for held in chain(self._front, self._queue) if not self._is_spooled(held)]
        self._stats.failed += len(failed)
        self._stats.dropped += len(dropped)
        self._stats.lose(sum(held.message.samples for held in chain(failed, dropped)), _ENDED, _ENDED)
        self._front.clear()
        self._queue.clear()
        self._waiting_bytes = 0
        if self._spool is not None:
            spooled += self._spool.unread_messages
            self._spool.close()
        return Undelivered(len(failed) + len(dropped), spooled)

    def _is_spooled(self, held: _Held) -> bool:
        """Whether a message outlives the process: the spool may have dropped it while it was with the producer."""
        return self._spool is not None and held.position is not None and self._spool.holds(held.position)


def _size(held: _Held) -> int:
    return len(held.message.key) + len(held.message.value)
