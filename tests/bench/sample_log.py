"""The sample blocks of many nodes, second by second, as the samples topic holds them."""

import time
from collections.abc import Iterator, Sequence

from aiokafka.partitioner import murmur2

from pulsetrain.schemas.sample_block import SampleBlock, encode_sample_block
from tests.simulation import SECOND_NS, TICKS_A_BLOCK, SimulatedNode

METRICS = tuple(f"test.gauge.{number:03}" for number in range(100))
SAMPLES_PER_BLOCK = TICKS_A_BLOCK * len(METRICS)
BLOCKS_PER_WINDOW = 5
"""A hop of the default windows: 5 s, in blocks of a second."""

WARM_UP_SECONDS = 33
"""The first window of 30 s is complete 2 s late, with the block of second 32; from then on each fifth block of a node
completes one."""

Records = list[tuple[bytes, bytes]]


def node_names(count: int, partitions: int = 1) -> list[str]:
    """Names whose keys fall on the partitions in turn, so that none has two nodes more than another.

    The Java client's partitioner: murmur2 of the key, its sign bit off, modulo the number of partitions.
    """
    names: list[list[str]] = [[] for _ in range(partitions)]
    number = 0
    while min(len(several) for several in names) * partitions < count:
        name = f"node-{number:04}"
        names[(murmur2(name.encode()) & 0x7FFFFFFF) % partitions].append(name)
        number += 1
    return [name for turn in zip(*names, strict=False) for name in turn][:count]


class SampleLog:
    """Blocks of one second with 100 metrics at 10 Hz: 1,000 samples of noise around 50, none missing or late.

    Event time begins at a hop of the windows, `span_seconds` and more in the past; it runs as fast as blocks are taken.
    """

    def __init__(self, names: Sequence[str], span_seconds: int) -> None:
        start_seconds = time.time_ns() // SECOND_NS - 2 * span_seconds
        start_ns = start_seconds // BLOCKS_PER_WINDOW * BLOCKS_PER_WINDOW * SECOND_NS
        self._nodes = [SimulatedNode(name, number, start_ns, METRICS) for number, name in enumerate(names)]

    def blocks(self, seconds: int) -> Iterator[SampleBlock]:
        """The next seconds of all nodes, each second node by node."""
        for _ in range(seconds):
            for node in self._nodes:
                yield node.block()

    def records(self, seconds: int) -> Iterator[tuple[bytes, bytes]]:
        """The same as keys and values."""
        for block in self.blocks(seconds):
            yield block.node.encode(), encode_sample_block(block)

    def next_seconds(self, seconds: int) -> Records:
        """The same, all at once."""
        return list(self.records(seconds))
