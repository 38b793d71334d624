"""A Kafka broker inside this process: librdkafka's mock cluster, reachable by other processes too.

It needs no Java and starts in milliseconds. It has no admin API (a topic appears when it is first used), keeps
at most 5 MB a partition in memory, loses everything when it ends, and does not rebalance reliably between
workers: one worker process a stage.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException, Producer

from pulsetrain.cli.brokers.errors import BrokerError

EMBEDDED_PARTITIONS = 4
"""Partitions of every topic of the embedded broker; librdkafka fixes the number."""

_START_SECONDS = 10.0


class EmbeddedBroker:
    """A one-node mock cluster on a free port of the loopback interface, alive as long as the context.

    Raises:
        BrokerError: it does not answer.
    """

    def __init__(self) -> None:
        self._host_client: Producer | None = None
        self._bootstrap = ""

    @property
    def bootstrap(self) -> str:
        """Address (host:port) for the clients of this and of other processes, known once it has started."""
        if not self._bootstrap:
            raise BrokerError("The embedded broker has no address before it has started: use it in a with block.")
        return self._bootstrap

    def declare(self, topics: Iterable[str]) -> None:
        """Make topics exist, so that a consumer may subscribe to them before anybody has produced.

        Raises:
            BrokerError: the broker is not running.
        """
        if self._host_client is None:
            raise BrokerError("The embedded broker is not running: declare topics inside its with block.")
        for topic in topics:
            self._host_client.list_topics(topic, timeout=_START_SECONDS)

    def __enter__(self) -> Self:
        # The mock cluster lives in the client that asked for it; 0 keeps librdkafka from writing to stderr.
        client = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        try:
            brokers = client.list_topics(timeout=_START_SECONDS).brokers.values()
        except KafkaException as error:
            raise BrokerError(
                f"The embedded broker did not answer within {_START_SECONDS:.0f} s: {error.args[0].str()}. "
                "Check that this machine allows listening on 127.0.0.1."
            ) from error
        self._host_client = client
        self._bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._host_client is not None:
            self._host_client.close()
        self._host_client = None
        self._bootstrap = ""
