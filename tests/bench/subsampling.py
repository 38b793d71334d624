"""Blocks as an agent with a longer interval would have sent them, from those of one with a shorter interval."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.sample_block import SampleBlock

SHARES = "system.cpu.utilization"
"""Metrics of this name are shares of the time since the previous tick: over a longer interval, their mean."""


def at_interval(blocks: Sequence[SampleBlock], interval_ns: int) -> Iterator[SampleBlock]:
    """Only the ticks on the longer interval's grid; blocks whose own interval is as long already stay as they are.

    Counters and momentary values are those of the tick. `interval_ns` is a multiple of the shorter intervals.
    """
    before: dict[tuple[str, str], FloatArray] = {}
    sent_until_ns = None
    for block in blocks:
        kept = block
        if block.interval_ns < interval_ns:
            source = (block.entity, block.collector)
            kept = _thinned(block, interval_ns, before.get(source, block.values[:0]))
            before[source] = block.values[1 - interval_ns // block.interval_ns :]
        if kept.ticks_ns.size:
            yield msgspec.structs.replace(kept, sent_until_ns=sent_until_ns)
            sent_until_ns = max(sent_until_ns or 0, int(kept.ticks_ns[-1]))


def _thinned(block: SampleBlock, interval_ns: int, before: FloatArray) -> SampleBlock:
    """`before`: the last rows of the source's previous block, at most one fewer than go into a mean."""
    grid = np.rint(block.ticks_ns / block.interval_ns).astype(np.int64)
    together = interval_ns // block.interval_ns
    rows = np.flatnonzero(grid % together == 0)
    values = block.values[rows]
    shares = [column for column, metric in enumerate(block.metrics) if metric.startswith(SHARES)]
    history = np.concatenate([before[:, shares], block.values[:, shares]]) if before.size else block.values[:, shares]
    ends = rows + len(history) - len(block.values) + 1
    for row, end in enumerate(ends):
        values[row, shares] = history[max(0, end - together) : end].mean(axis=0)
    return msgspec.structs.replace(block, interval_ns=interval_ns, ticks_ns=block.ticks_ns[rows], values=values)
