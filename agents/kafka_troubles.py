"""What goes wrong on the way to Kafka: in the log once, for as long as it lasts."""

import logging
import math
from collections.abc import Callable

from confluent_kafka import KafkaError

_LOG = logging.getLogger(__name__)

_STEADY_SECONDS, _REOPEN_SECONDS = 60.0, 10.0
"""A producer that gives up so soon after the one before it is replaced so much later: Kafka may refuse each of them."""

_OUTAGES = (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION)


class KafkaTroubles:
    """What there is to say of one publisher's producers. `outage`: why no broker can be reached, None if one can.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.outage: str | None = None
        self._clock = clock
        self._of_a_broker = ""
        self._refusals: set[tuple[str, int]] = set()
        self._gave_up_at = self._reopen_at = -math.inf
        self._gave_up_because = ""

    @property
    def may_open(self) -> bool:
        """Whether it is time for another producer."""
        return self._clock() >= self._reopen_at

    def report(self, error: KafkaError) -> None:
        """What librdkafka says; only that no broker is there is an outage, one of several may be away unnoticed."""
        if error.code() not in _OUTAGES:
            self._of_a_broker = error.str()
        elif self.outage is None:
            self.outage = f"{error.str()} ({self._of_a_broker})" if self._of_a_broker else error.str()
            _LOG.warning("Kafka can't be reached: %s. Messages are held and sent when it returns.", self.outage)

    def took(self, topic: str) -> None:
        """Kafka has a message of this topic."""
        self._gave_up_because = ""
        self._refusals = {told for told in self._refusals if told[0] != topic}
        if self.outage is not None:
            self.outage = None
            _LOG.warning("Kafka takes messages again.")

    def refused(self, topic: str, error: KafkaError) -> None:
        """A message failed: told for the first error of each code until the topic takes a message again."""
        if (topic, error.code()) not in self._refusals:
            self._refusals.add((topic, error.code()))
            _LOG.error("Kafka does not take a message to %s: %s.", topic, error.str())

    def gave_up(self, error: KafkaError) -> None:
        """A producer takes nothing more, or there is none."""
        now = self._clock()
        pause = _REOPEN_SECONDS if now - self._gave_up_at < _STEADY_SECONDS else 0.0
        self._gave_up_at, self._reopen_at = now, now + pause
        if error.str() != self._gave_up_because:
            self._gave_up_because = error.str()
            _LOG.error("The Kafka producer gave up (%s); others are tried until one works.", error.str())
