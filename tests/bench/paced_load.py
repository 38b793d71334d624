"""The features worker at half load: how soon a window's features are there, and whether the number of nodes matters.

Blocks come one by one at an even rate, each node's in turn. A window of every node ends at the same event time, so the
worker has nothing to close for most of a hop and then one window of every node.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

import numpy as np
from confluent_kafka import Producer

from pulsetrain.cli.brokers.apache_kafka import ApacheKafka
from pulsetrain.schemas.feature_window import decode_feature_window
from pulsetrain.schemas.kafka import KafkaSettings, producer_config
from pulsetrain.schemas.sample_block import decode_sample_block
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows.times import WindowTimes
from tests.bench.children import features_worker
from tests.bench.figures import BenchError, Figure
from tests.bench.paced_reader import PARTITIONS, PacedReader, Topics
from tests.bench.sample_log import BLOCKS_PER_WINDOW, WARM_UP_SECONDS, Records, SampleLog, node_names
from tests.topic_log import whole_topic

_MANY_NODES = 1000
_FEW_NODES = 10
_SECONDS = 20
_FLUSH_SECONDS = 30.0

FIGURES = (
    Figure("paced_blocks_per_s", "blocks/s", "the rate at which blocks of 1,000 nodes come, half of what a worker can"),
    Figure(
        "window_to_features_p50_ms", "ms", "from the append of the block that closes a window to that of its features"
    ),
    Figure("window_to_features_p99_ms", "ms", "the same, 99th percentile"),
    Figure("cpu_us_per_block_1000_nodes", "us", "CPU time of the worker's process at this rate"),
    Figure("cpu_us_per_block_10_nodes", "us", "the same with blocks of 10 nodes at the same rate"),
    Figure("cpu_per_block_1000_nodes_vs_10", "ratio", "of the last two"),
)


@dataclass(frozen=True, slots=True)
class _Load:
    cpu_us_per_block: float
    delays_ms: list[int]


def run(blocks_per_s: float) -> dict[str, float]:
    """Paced rounds of many and of few nodes, one after the other on one broker."""
    with ApacheKafka() as broker:
        kafka = KafkaSettings(bootstrap=broker.bootstrap)
        many = _paced(kafka, _MANY_NODES, blocks_per_s)
        few = _paced(kafka, _FEW_NODES, blocks_per_s)
    return {
        "paced_blocks_per_s": blocks_per_s,
        "window_to_features_p50_ms": median(many.delays_ms),
        "window_to_features_p99_ms": float(np.percentile(many.delays_ms, 99)),
        "cpu_us_per_block_1000_nodes": many.cpu_us_per_block,
        "cpu_us_per_block_10_nodes": few.cpu_us_per_block,
        "cpu_per_block_1000_nodes_vs_10": many.cpu_us_per_block / few.cpu_us_per_block,
    }


def _paced(kafka: KafkaSettings, nodes: int, blocks_per_s: float) -> _Load:
    seconds = max(1, round(blocks_per_s * _SECONDS / nodes / BLOCKS_PER_WINDOW)) * BLOCKS_PER_WINDOW
    prefix, logfile = f"of{nodes}.", f"worker_{nodes}_nodes.log"
    with ExitStack() as stack:
        topics = Topics(kafka, prefix)
        stack.callback(topics.close)
        worker = stack.enter_context(features_worker(kafka, prefix, PARTITIONS, logfile))
        reader = PacedReader([worker], topics, logfile)
        log = SampleLog(node_names(nodes, PARTITIONS), WARM_UP_SECONDS + seconds)
        reader.warm_up(log.records(WARM_UP_SECONDS), nodes)
        records = log.next_seconds(seconds)
        begin_ms, cpu_begin = time.time_ns() // 1_000_000, reader.cpu_seconds()
        _send(kafka, topics.names.samples, records, blocks_per_s)
        reader.wait_for(len(records) // BLOCKS_PER_WINDOW)
        cpu_seconds = reader.cpu_seconds() - cpu_begin
        return _Load(cpu_seconds / len(records) * 1e6, list(_delays_ms(kafka, topics, begin_ms)))


def _send(kafka: KafkaSettings, topic: str, records: Records, blocks_per_s: float) -> None:
    producer = Producer(producer_config(kafka))
    begin = time.monotonic()
    for number, (key, value) in enumerate(records):
        wait = begin + number / blocks_per_s - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        producer.produce(topic, key=key, value=value)
        producer.poll(0)
    if producer.flush(_FLUSH_SECONDS):
        raise BenchError(f"blocks for {topic} were not confirmed within {_FLUSH_SECONDS:.0f} s")
    late = time.monotonic() - begin - len(records) / blocks_per_s
    if late > 1.0:
        raise BenchError(f"the blocks came {late:.1f} s later than planned: measure again when the machine is quieter")


def _delays_ms(kafka: KafkaSettings, topics: Topics, begin_ms: int) -> Iterator[int]:
    """Append time of a window's features less that of the block that closed it, for blocks since `begin_ms`."""
    times = WindowTimes.of(WindowSettings())
    next_end: dict[str, int] = {}
    closed_ms: dict[tuple[str, int], int] = {}
    for record in whole_topic(kafka, topics.names.samples):
        block = decode_sample_block(record.value)
        first, last = (int(block.ticks_ns[row]) + times.tolerance_ns for row in (0, -1))
        end = next_end.get(block.node) or times.first_start(first - 2 * times.tolerance_ns) + times.length_ns
        while last - times.lateness_ns >= end:
            closed_ms[block.node, end] = record.timestamp_ms
            end += times.hop_ns
        next_end[block.node] = end
    for record in whole_topic(kafka, topics.names.features):
        window = decode_feature_window(record.value)
        appended_ms = closed_ms[window.node, window.end_ns]
        if appended_ms >= begin_ms:
            yield record.timestamp_ms - appended_ms
