"""A stream process whose work is timed: held still while its topic is filled, then let go.

Its start-up (imports, joining the group) is over by then, so none of it is in the time, and it finds the topic filled
as it would after a pause. The time runs from SIGCONT to the append time that the broker gave the last record it wrote.
"""

import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from pulsetrain.cli.topics import create_topics
from pulsetrain.schemas.kafka import KafkaSettings, admin_config, consumer_config
from pulsetrain.schemas.topics import TopicNames
from tests.bench.figures import BenchError
from tests.bench.process_cost import cpu_seconds
from tests.processes import wait_until
from tests.topic_log import produce

PARTITIONS = 4

_REQUEST_SECONDS = 20.0
_LIMIT_SECONDS = 60.0
_POLL_SECONDS = 0.02
# A reader that is silent for longer than its session timeout (10 s, heartbeats each 3 s) is put out of its group.
_STILL_LIMIT_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall time and CPU time of one round."""

    seconds: float
    cpu_seconds: float


class Topics:
    """Topics of its own under a prefix; the broker stamps what is written to `features` when it appends it."""

    def __init__(self, kafka: KafkaSettings, prefix: str) -> None:
        self.names = TopicNames(prefix)
        by_broker = {"message.timestamp.type": "LogAppendTime"}
        admin = AdminClient(admin_config(kafka))
        features = NewTopic(self.names.features, PARTITIONS, 1, config=by_broker)
        admin.create_topics([features])[self.names.features].result(_REQUEST_SECONDS)
        wait_until(f"{features.topic} on the broker", lambda: features.topic in admin.list_topics(timeout=20).topics)
        create_topics(kafka, prefix, PARTITIONS, replication_factor=1)
        self._kafka = kafka
        self._consumer = Consumer(consumer_config(kafka, None))

    def fill(self, records: Sequence[tuple[bytes, bytes]]) -> None:
        """Writes sample blocks by node; returns when the broker has them."""
        produce(self._kafka, self.names.samples, records)

    def written(self) -> list[int]:
        """How many records each partition of `features` has."""
        return [
            self._consumer.get_watermark_offsets(TopicPartition(self.names.features, number), _REQUEST_SECONDS)[1]
            for number in range(PARTITIONS)
        ]

    def last_append_seconds(self) -> float:
        """Unix time at which the newest record of `features` was appended."""
        ends = enumerate(self.written())
        last = [TopicPartition(self.names.features, number, end - 1) for number, end in ends if end > 0]
        self._consumer.assign(last)
        appended: list[float] = []
        while len(appended) < len(last):
            messages = self._consumer.consume(len(last) - len(appended), timeout=_REQUEST_SECONDS)
            if not messages:
                raise BenchError(f"the last records of {self.names.features} can't be read")
            appended += [message.timestamp()[1] / 1000 for message in messages]
        self._consumer.unassign()
        return max(appended)

    def close(self) -> None:
        """Leaves the broker."""
        self._consumer.close()


class PacedReader:
    """The process `pulsetrain worker features`, or one that stands beside it, and its topics."""

    def __init__(self, process: subprocess.Popen[bytes], topics: Topics, log: str) -> None:
        self._process = process
        self._topics = topics
        self._log = log
        self._written = 0

    def warm_up(self, records: Sequence[tuple[bytes, bytes]], outputs: int) -> None:
        """Waits until the process has joined its group and made these records into so many of its own."""
        self._topics.fill(records)
        self._wait_for(outputs)

    def take(self, records: Sequence[tuple[bytes, bytes]], outputs: int) -> Cost:
        """What it costs to make these records into so many of its own.

        Raises:
            BenchError: the process ended or was too slow, or it did not keep its partitions meanwhile.
        """
        self._process.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        self._topics.fill(records)
        still_seconds = time.monotonic() - stopped
        cpu_begin, begin = cpu_seconds(self._process.pid), time.time()
        self._process.send_signal(signal.SIGCONT)
        self._wait_for(outputs)
        if still_seconds > _STILL_LIMIT_SECONDS or sum(self._topics.written()) > self._written:
            raise BenchError(
                f"filling the topic took {still_seconds:.1f} s, so the reader may have lost its partitions: "
                "measure again when the machine is quieter"
            )
        return Cost(self._topics.last_append_seconds() - begin, cpu_seconds(self._process.pid) - cpu_begin)

    def _wait_for(self, outputs: int) -> None:
        self._written += outputs
        deadline = time.monotonic() + _LIMIT_SECONDS
        while (written := sum(self._topics.written())) < self._written:
            if self._process.poll() is not None:
                raise BenchError(f"a process ended with code {self._process.returncode}: see build/bench/{self._log}")
            if time.monotonic() > deadline:
                raise BenchError(
                    f"waited {_LIMIT_SECONDS:.0f} s in vain for {self._written} records in "
                    f"{self._topics.names.features}, {written} are there: see build/bench/{self._log}"
                )
            time.sleep(_POLL_SECONDS)
