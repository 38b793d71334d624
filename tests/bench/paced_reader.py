"""Stream processes whose work is timed: held still while their topic is filled, then let go.

Their start-up (imports, joining the group) is over by then, so none of it is in the time, and they find the topic
filled as after a pause. The time runs from SIGCONT to the append time that the broker gave the last record written.
"""

import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
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
    """Wall time, and CPU time of all processes, of one round."""

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

    def fill(self, records: Iterable[tuple[bytes, bytes]]) -> None:
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
    """Processes that read one topic in one group, `pulsetrain worker features` or what stands beside it."""

    def __init__(self, processes: Sequence[subprocess.Popen[bytes]], topics: Topics, log: str) -> None:
        self._processes = tuple(processes)
        self._topics = topics
        self._log = log
        self._written = 0

    def warm_up(self, records: Iterable[tuple[bytes, bytes]], outputs: int) -> None:
        """Waits until the processes have joined their group and made these records into so many of their own."""
        self._topics.fill(records)
        self.wait_for(outputs)

    def take(self, records: Iterable[tuple[bytes, bytes]], outputs: int) -> Cost:
        """What it costs to make these records into so many of their own.

        Raises:
            BenchError: a process ended or was too slow, or they did not keep their partitions meanwhile.
        """
        self._signal(signal.SIGSTOP)
        stopped = time.monotonic()
        self._topics.fill(records)
        still_seconds = time.monotonic() - stopped
        cpu_begin, begin = self.cpu_seconds(), time.time()
        self._signal(signal.SIGCONT)
        self.wait_for(outputs)
        if still_seconds > _STILL_LIMIT_SECONDS or sum(self._topics.written()) > self._written:
            raise BenchError(
                f"filling the topic took {still_seconds:.1f} s, so the reader may have lost its partitions: "
                "measure again when the machine is quieter"
            )
        return Cost(self._topics.last_append_seconds() - begin, self.cpu_seconds() - cpu_begin)

    def cpu_seconds(self) -> float:
        """CPU time of all processes so far."""
        return sum(cpu_seconds(process.pid) for process in self._processes)

    def wait_for(self, outputs: int) -> None:
        """Waits until so many records have been written beyond those waited for earlier."""
        self._written += outputs
        deadline = time.monotonic() + _LIMIT_SECONDS
        while (written := sum(self._topics.written())) < self._written:
            for process in self._processes:
                if process.poll() is not None:
                    raise BenchError(f"a process ended with code {process.returncode}: see build/bench/{self._log}")
            if time.monotonic() > deadline:
                raise BenchError(
                    f"waited {_LIMIT_SECONDS:.0f} s in vain for {self._written} records in "
                    f"{self._topics.names.features}, {written} are there: see build/bench/{self._log}"
                )
            time.sleep(_POLL_SECONDS)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes:
            process.send_signal(number)
