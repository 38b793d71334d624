"""The features worker on Apache Kafka against an empty Faust agent, round by round on the same records.

Both read a topic that is filled before they are let go, with the same Faust settings and all partitions to themselves;
the empty agent writes as many records of the same content as the worker writes windows. Floors: the stage's functions
on the same records without Kafka and Faust, and a bare consumer.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from confluent_kafka import Consumer, TopicPartition

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.schemas.feature_window import encode_feature_window
from pulsetrain.schemas.kafka import KafkaSettings, consumer_config
from pulsetrain.schemas.sample_block import decode_sample_block, encode_sample_block
from pulsetrain.streams.extraction import feature_windows
from pulsetrain.streams.features import DEFAULT_FEATURE_SET
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import WindowEngine
from tests.bench.children import module_process
from tests.bench.figures import BenchError, Figure
from tests.bench.paced_reader import PARTITIONS, Cost, PacedReader, Topics
from tests.simulation import SECOND_NS, TICKS_A_BLOCK, SimulatedNode

_NODES = 50
_METRICS = tuple(f"test.gauge.{number:03}" for number in range(100))
_ROUNDS = 5
_BLOCKS_PER_WINDOW = 5
"""A hop of the default windows: 5 s, in blocks of a second."""

# The first window of 30 s is complete 2 s late, with the block of second 32; from then on each fifth block of a node
# completes one. So each part of the log ends with a block of each node that does.
_WARM_UP_SECONDS = 33
_ROUND_SECONDS = 100
_SAMPLES_PER_BLOCK = TICKS_A_BLOCK * len(_METRICS)
_BLOCKS_PER_ROUND = _NODES * _ROUND_SECONDS
_RAW_READS = 3

_MEDIAN = f"median of {_ROUNDS} rounds of {_BLOCKS_PER_ROUND:,} blocks"

FIGURES = (
    Figure(
        "worker_samples_per_s",
        "samples/s",
        f"`pulsetrain worker features`, bytes in Kafka to windows in Kafka; {_MEDIAN}",
    ),
    Figure("worker_blocks_per_s", "blocks/s", f"the same in Faust events: a block has {_SAMPLES_PER_BLOCK:,} samples"),
    Figure("worker_cpu_us_per_block", "us", "CPU time of the worker's process; median"),
    Figure(
        "empty_agent_blocks_per_s", "blocks/s", "empty Faust agent on the same blocks, which writes as much; median"
    ),
    Figure("empty_agent_cpu_us_per_block", "us", "CPU time of the empty agent's process; median"),
    Figure("worker_vs_empty_agent", "ratio", "worker_blocks_per_s / empty_agent_blocks_per_s"),
    Figure(
        "functions_cpu_us_per_block", "us", "floor: CPU time of the worker's functions, without Kafka and Faust; median"
    ),
    Figure(
        "raw_consumer_blocks_per_s", "blocks/s", f"floor: a bare consumer of the topic; median of {_RAW_READS} reads"
    ),
    Figure("block_bytes", "bytes", "one encoded block, before compression"),
    Figure("window_bytes", "bytes", "one encoded feature window, before compression"),
)

_Records = list[tuple[bytes, bytes]]


class _Log:
    """The sample blocks of all nodes, second by second; event time runs faster than the clock, in the past."""

    def __init__(self) -> None:
        span_seconds = _WARM_UP_SECONDS + _ROUNDS * _ROUND_SECONDS
        start_seconds = time.time_ns() // SECOND_NS - 2 * span_seconds
        start_ns = start_seconds // _BLOCKS_PER_WINDOW * _BLOCKS_PER_WINDOW * SECOND_NS
        self._nodes = [SimulatedNode(f"node-{number:03}", number, start_ns, _METRICS) for number in range(_NODES)]

    def next_seconds(self, seconds: int) -> _Records:
        return [(node.name.encode(), encode_sample_block(node.block())) for _ in range(seconds) for node in self._nodes]


class _Functions:
    """What the stage computes, called on the records one after another."""

    def __init__(self) -> None:
        self._settings = WindowSettings()
        self._engine = WindowEngine(self._settings)
        self._offset = 0

    def windows(self, records: _Records) -> Iterator[bytes]:
        for _, value in records:
            step = self._engine.process(decode_sample_block(value), self._offset, time.time_ns())
            self._offset += 1
            for closed in step.windows:
                for window in feature_windows(closed, DEFAULT_FEATURE_SET, self._settings):
                    yield encode_feature_window(window)

    def cpu_seconds(self, records: _Records, outputs: int) -> float:
        begin = time.thread_time()
        made = sum(1 for _ in self.windows(records))
        seconds = time.thread_time() - begin
        if made != outputs:
            raise BenchError(f"{len(records)} blocks make {made} windows, not {outputs} as by the window rules")
        return seconds


@dataclass(frozen=True)
class _Rounds:
    functions_cpu_seconds: list[float] = field(default_factory=list)
    worker: list[Cost] = field(default_factory=list)
    empty_agent: list[Cost] = field(default_factory=list)


def run() -> dict[str, float]:
    """Rounds that take turns, on one broker."""
    with ExitStack() as stack:
        kafka = KafkaSettings(bootstrap=stack.enter_context(ApacheKafka()).bootstrap)
        log, functions = _Log(), _Functions()
        warm_up = log.next_seconds(_WARM_UP_SECONDS)
        windows = list(functions.windows(warm_up))
        worker_topics, empty_topics = Topics(kafka, "worker."), Topics(kafka, "empty.")
        stack.callback(worker_topics.close)
        stack.callback(empty_topics.close)
        worker = _start_worker(stack, kafka, worker_topics)
        empty_agent = _start_empty_agent(stack, kafka, empty_topics, windows[0])
        worker.warm_up(warm_up, _NODES)
        empty_agent.warm_up(warm_up, len(warm_up) // _BLOCKS_PER_WINDOW)

        rounds = _Rounds()
        for _ in range(_ROUNDS):
            records = log.next_seconds(_ROUND_SECONDS)
            outputs = len(records) // _BLOCKS_PER_WINDOW
            rounds.functions_cpu_seconds.append(functions.cpu_seconds(records, outputs))
            rounds.worker.append(worker.take(records, outputs))
            rounds.empty_agent.append(empty_agent.take(records, outputs))
        raw_blocks = len(warm_up) + _ROUNDS * _BLOCKS_PER_ROUND
        raw_seconds = [_read_raw(kafka, worker_topics.names.samples, raw_blocks) for _ in range(_RAW_READS)]
    worker_rate = _BLOCKS_PER_ROUND / median(cost.seconds for cost in rounds.worker)
    empty_agent_rate = _BLOCKS_PER_ROUND / median(cost.seconds for cost in rounds.empty_agent)
    return {
        "worker_samples_per_s": worker_rate * _SAMPLES_PER_BLOCK,
        "worker_blocks_per_s": worker_rate,
        "worker_cpu_us_per_block": _cpu_us_per_block(rounds.worker),
        "empty_agent_blocks_per_s": empty_agent_rate,
        "empty_agent_cpu_us_per_block": _cpu_us_per_block(rounds.empty_agent),
        "worker_vs_empty_agent": worker_rate / empty_agent_rate,
        "functions_cpu_us_per_block": median(rounds.functions_cpu_seconds) / _BLOCKS_PER_ROUND * 1e6,
        "raw_consumer_blocks_per_s": raw_blocks / median(raw_seconds),
        "block_bytes": float(len(warm_up[0][1])),
        "window_bytes": float(len(windows[0])),
    }


def _start_worker(stack: ExitStack, kafka: KafkaSettings, topics: Topics) -> PacedReader:
    flags = ["--bootstrap", kafka.bootstrap, "--prefix", topics.names.prefix, "--partitions", str(PARTITIONS)]
    arguments = ["pulsetrain.cli.main", "worker", "features", *flags]
    return PacedReader(stack.enter_context(module_process(arguments, "worker.log")), topics, "worker.log")


def _start_empty_agent(stack: ExitStack, kafka: KafkaSettings, topics: Topics, window: bytes) -> PacedReader:
    record = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pulsetrain-bench-"))) / "window"
    record.write_bytes(window)
    place = [kafka.bootstrap, topics.names.prefix, str(PARTITIONS)]
    arguments = ["tests.bench.empty_agent", *place, str(record), str(_BLOCKS_PER_WINDOW)]
    return PacedReader(stack.enter_context(module_process(arguments, "empty_agent.log")), topics, "empty_agent.log")


def _read_raw(kafka: KafkaSettings, topic: str, blocks: int) -> float:
    """Seconds for a bare consumer to read the whole topic."""
    consumer = Consumer(consumer_config(kafka, None))
    try:
        consumer.list_topics(topic, timeout=20)  # connected before the time runs
        begin = time.perf_counter()
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        read = 0
        while read < blocks:
            messages = consumer.consume(min(1000, blocks - read), timeout=20)  # it waits for as many
            if not messages:
                raise BenchError(f"{topic} has {read} readable records, not {blocks}")
            read += sum(1 for message in messages if message.value())
        return time.perf_counter() - begin
    finally:
        consumer.close()


def _cpu_us_per_block(costs: Sequence[Cost]) -> float:
    return median(cost.cpu_seconds for cost in costs) / _BLOCKS_PER_ROUND * 1e6
