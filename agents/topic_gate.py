"""No message leaves before Kafka and the topics have been looked at; that may take long and delays no sample."""

import logging
import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException, Producer

from pulsetrain.agents.errors import MORE_THREADS, AgentError
from pulsetrain.agents.linger import SHORTEST_MS
from pulsetrain.agents.spare_threads import has_threads
from pulsetrain.schemas.kafka import (
    KafkaSettings,
    SettingsError,
    producer_config,
    wait_for_broker,
    wait_for_topics,
)
from pulsetrain.schemas.kafka.waiting import broker_problem
from pulsetrain.schemas.topics import SAMPLES, STATUS, TopicNames

_LOG = logging.getLogger(__name__)

_CLOSE_SECONDS = 1.0
_CLIENT_THREADS = 4
"""Of a librdkafka client, beside one for each broker."""
_NO_THREAD_SECONDS = 10.0
_NO_THREAD = "Kafka can't be looked for: %s; %s. Next try in %g s."

_PRODUCER = {
    "compression.type": "lz4",
    # What waits longer than a moment waits in the publisher's queue and spool, where it can be dropped. The largest
    # block just fits.
    "queue.buffering.max.kbytes": 1024,
    # Nothing is given up because Kafka is away for long: those would be the oldest messages of all.
    "message.timeout.ms": 0,
    # A topic that is deleted meanwhile must not come back with the broker's default settings.
    "allow.auto.create.topics": False,
    # The publisher says once that Kafka is away; librdkafka's own log says it many times a second.
    "log_level": 2,
}


class _ClosedError(AgentError):
    """The agent ends before Kafka was found."""


class TopicGate:
    """Looks in a thread of its own for Kafka and the two topics, patiently; gives producers from then on.

    Args:
        kafka: where Kafka is.
        topics: names of the topics.
        refused: is called, in that thread, when waiting would not help.
        linger_ms: how long a producer gathers messages.
        monotonic: seconds that only grow.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        topics: TopicNames,
        refused: Callable[[], None],
        linger_ms: int = SHORTEST_MS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kafka = kafka
        self._topics = topics
        self._refused = refused
        self._linger_ms = linger_ms
        self._monotonic = monotonic
        self._start_again_at = 0.0
        self._closed = threading.Event()
        self._opened = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._look, name="look for topics", daemon=True)

    def start(self) -> None:
        """Begin to look; if the system has no thread for that now, `open_producer` begins later."""
        self._start_again_at = self._monotonic() + _NO_THREAD_SECONDS
        try:
            self._thread.start()
        except RuntimeError as error:
            _LOG.warning(_NO_THREAD, error, MORE_THREADS, _NO_THREAD_SECONDS)

    def open_producer(self, report: Callable[[KafkaError], None]) -> Producer | None:
        """A producer that calls `report` with its errors; None as long as the topics were not found.

        Raises:
            KafkaException: the system has no thread for it (`_CRIT_SYS_RESOURCE`).
        """
        if self._thread.ident is None and self._monotonic() >= self._start_again_at:
            self.start()
        if not self._opened.is_set():
            return None
        if not self._has_client_threads():
            raise KafkaException(KafkaError(KafkaError._CRIT_SYS_RESOURCE, f"no thread for it; {MORE_THREADS}"))
        config = {**_PRODUCER, "linger.ms": self._linger_ms}
        return Producer(producer_config(self._kafka, **config, error_cb=report))

    def close(self) -> None:
        """Look no more.

        Raises:
            SettingsError: the Kafka settings can't work.
            TopicsError: a topic is set up so that its readers would go wrong.
        """
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join(_CLOSE_SECONDS)
        if self._failure is not None:
            raise self._failure

    def _look(self) -> None:
        try:
            while not self._is_found():
                self._sleep(_NO_THREAD_SECONDS)
        except _ClosedError:
            return
        except Exception as error:  # told by the agent when it ends
            self._failure = error
            self._refused()
        else:
            self._opened.set()

    def _is_found(self) -> bool:
        """Wait for Kafka and the topics; False if librdkafka has no thread to look with."""
        try:
            wait_for_broker(self._kafka, _LOG.warning, sleep=self._sleep, problem=self._broker_problem)
            wait_for_topics(self._kafka, (SAMPLES, STATUS), self._topics.prefix, None, _LOG.warning, sleep=self._sleep)
        except (SettingsError, KafkaException) as error:
            cause = error if isinstance(error, KafkaException) else error.__cause__
            if not isinstance(cause, KafkaException) or cause.args[0].code() != KafkaError._CRIT_SYS_RESOURCE:
                raise
            _LOG.warning(_NO_THREAD, cause.args[0].str(), MORE_THREADS, _NO_THREAD_SECONDS)
            return False
        return True

    def _broker_problem(self, kafka: KafkaSettings) -> str | None:
        return broker_problem(kafka) if self._has_client_threads() else f"no thread for a client; {MORE_THREADS}"

    def _has_client_threads(self) -> bool:
        # Twice as many, since those that were tried may count for a moment longer.
        return has_threads(2 * (_CLIENT_THREADS + len(self._kafka.bootstrap.split(","))))

    def _sleep(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise _ClosedError
