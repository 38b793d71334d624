"""The features worker on Apache Kafka against empty Faust agents, round by round on the same records.

All read a topic that is filled before they are let go, with the same Faust settings and all partitions to themselves;
an empty agent writes as many records of the same content as the worker writes windows. Floors: the stage's functions
on the same records without Kafka and Faust, and a bare consumer.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from confluent_kafka import Consumer, TopicPartition

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.schemas.feature_window import encode_feature_window
from pulsetrain.schemas.kafka import KafkaSettings, consumer_config
from pulsetrain.schemas.sample_block import decode_sample_block
from pulsetrain.streams.extraction import feature_windows
from pulsetrain.streams.features import FeatureSets
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import WindowEngine
from tests.bench.children import features_worker, module_process
from tests.bench.figures import BenchError, Figure
from tests.bench.paced_reader import PARTITIONS, Cost, PacedReader, Topics
from tests.bench.sample_log import (
    BLOCKS_PER_WINDOW,
    SAMPLES_PER_BLOCK,
    WARM_UP_SECONDS,
    Records,
    SampleLog,
    node_names,
)

_NODES = 50
_ROUNDS = 5
_ROUND_SECONDS = 100
_BLOCKS_PER_ROUND = _NODES * _ROUND_SECONDS
_RAW_READS = 3
_WINDOWS_TO_REPEAT = 20

_MEDIAN = f"median of {_ROUNDS} rounds of {_BLOCKS_PER_ROUND:,} blocks"

FIGURES = (
    Figure(
        "worker_samples_per_s",
        "samples/s",
        f"`pulsetrain worker features`, bytes in Kafka to windows in Kafka; {_MEDIAN}",
    ),
    Figure("worker_blocks_per_s", "blocks/s", f"the same in Faust events: a block has {SAMPLES_PER_BLOCK:,} samples"),
    Figure("worker_cpu_us_per_block", "us", "CPU time of the worker's process; median"),
    Figure("empty_agent_blocks_per_s", "blocks/s", "empty agent of plain Faust on the same blocks, writing as much"),
    Figure("empty_agent_cpu_us_per_block", "us", "CPU time of its process; median"),
    Figure("worker_vs_empty_agent", "ratio", "worker_blocks_per_s / empty_agent_blocks_per_s"),
    Figure("lean_agent_blocks_per_s", "blocks/s", "the same with the worker's transport, monitor and iterator"),
    Figure("lean_agent_cpu_us_per_block", "us", "CPU time of its process; median"),
    Figure("worker_vs_lean_agent", "ratio", "worker_blocks_per_s / lean_agent_blocks_per_s"),
    Figure(
        "functions_cpu_us_per_block", "us", "floor: CPU time of the worker's functions, without Kafka and Faust; median"
    ),
    Figure(
        "raw_consumer_blocks_per_s", "blocks/s", f"floor: a bare consumer of the topic; median of {_RAW_READS} reads"
    ),
    Figure("block_bytes", "bytes", "one encoded block, before compression"),
    Figure("window_bytes", "bytes", "one encoded feature window, before compression"),
)


class _Functions:
    """What the stage computes, called on the records one after another."""

    def __init__(self) -> None:
        self._settings = WindowSettings()
        self._feature_sets = FeatureSets.from_fc_parameters()
        self._engine = WindowEngine(self._settings)
        self._offset = 0

    def windows(self, records: Records) -> Iterator[bytes]:
        for _, value in records:
            step = self._engine.process(decode_sample_block(value), self._offset, time.time_ns())
            self._offset += 1
            for closed in step.windows:
                for window in feature_windows(closed, self._feature_sets, self._settings):
                    yield encode_feature_window(window)

    def cpu_seconds(self, records: Records, outputs: int) -> float:
        begin = time.thread_time()
        made = sum(1 for _ in self.windows(records))
        seconds = time.thread_time() - begin
        if made != outputs:
            raise BenchError(f"{len(records)} blocks make {made} windows, not {outputs} as by the window rules")
        return seconds


def run() -> dict[str, float]:
    """Rounds that take turns, on one broker."""
    costs: dict[str, list[Cost]] = {"worker": [], "empty_agent": [], "lean_agent": []}
    functions_seconds = []
    with ExitStack() as stack:
        kafka = KafkaSettings(bootstrap=stack.enter_context(ApacheKafka()).bootstrap)
        log = SampleLog(node_names(_NODES), WARM_UP_SECONDS + _ROUNDS * _ROUND_SECONDS)
        functions = _Functions()
        warm_up = log.next_seconds(WARM_UP_SECONDS)
        windows = list(functions.windows(warm_up))
        topics = {name: Topics(kafka, f"{name}.") for name in costs}
        for several in topics.values():
            stack.callback(several.close)
        empty = _EmptyAgents(stack, kafka, windows[:_WINDOWS_TO_REPEAT])
        worker = stack.enter_context(features_worker(kafka, "worker.", PARTITIONS, "worker.log"))
        readers = {
            "worker": PacedReader([worker], topics["worker"], "worker.log"),
            "empty_agent": empty.start("plain", topics["empty_agent"]),
            "lean_agent": empty.start("lean", topics["lean_agent"]),
        }
        for name, reader in readers.items():
            reader.warm_up(warm_up, _NODES if name == "worker" else len(warm_up) // BLOCKS_PER_WINDOW)
        for _ in range(_ROUNDS):
            records = log.next_seconds(_ROUND_SECONDS)
            outputs = len(records) // BLOCKS_PER_WINDOW
            functions_seconds.append(functions.cpu_seconds(records, outputs))
            for name, reader in readers.items():
                costs[name].append(reader.take(records, outputs))
        raw_blocks = len(warm_up) + _ROUNDS * _BLOCKS_PER_ROUND
        raw_seconds = [_read_raw(kafka, topics["worker"].names.samples, raw_blocks) for _ in range(_RAW_READS)]
    rates = {name: _BLOCKS_PER_ROUND / median(cost.seconds for cost in several) for name, several in costs.items()}
    return {
        "worker_samples_per_s": rates["worker"] * SAMPLES_PER_BLOCK,
        **{f"{name}_blocks_per_s": rate for name, rate in rates.items()},
        **{f"{name}_cpu_us_per_block": _cpu_us_per_block(several) for name, several in costs.items()},
        "worker_vs_empty_agent": rates["worker"] / rates["empty_agent"],
        "worker_vs_lean_agent": rates["worker"] / rates["lean_agent"],
        "functions_cpu_us_per_block": median(functions_seconds) / _BLOCKS_PER_ROUND * 1e6,
        "raw_consumer_blocks_per_s": raw_blocks / median(raw_seconds),
        "block_bytes": float(len(warm_up[0][1])),
        "window_bytes": float(len(windows[0])),
    }


class _EmptyAgents:
    """Empty agents that write these windows again and again."""

    def __init__(self, stack: ExitStack, kafka: KafkaSettings, windows: Sequence[bytes]) -> None:
        self._stack = stack
        self._kafka = kafka
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pulsetrain-bench-")))
        for number, window in enumerate(windows):
            (self._folder / f"{number:03}").write_bytes(window)

    def start(self, kind: str, topics: Topics) -> PacedReader:
        place = [self._kafka.bootstrap, topics.names.prefix, str(PARTITIONS)]
        arguments = ["tests.bench.empty_agent", kind, *place, str(self._folder), str(BLOCKS_PER_WINDOW)]
        log = f"empty_agent_{kind}.log"
        return PacedReader([self._stack.enter_context(module_process(arguments, log))], topics, log)


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
