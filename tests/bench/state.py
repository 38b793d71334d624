"""Memory that the window engine takes for a node in steady state, against the samples of one window."""

import time
import tracemalloc

from pulsetrain.schemas.sample_block import decode_sample_block
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows import WindowEngine
from tests.bench.figures import Figure
from tests.bench.sample_log import BLOCKS_PER_WINDOW, METRICS, WARM_UP_SECONDS, SampleLog, node_names

_NODES = 50
_HOPS = 6
_RAW_WINDOW_BYTES = 300 * len(METRICS) * 8

FIGURES = (
    Figure("state_kb_per_node", "kB", f"all that the engine allocates for a node, at its most; mean of {_NODES} nodes"),
    Figure("state_vs_raw_window", "ratio", f"that over the samples of one window, {_RAW_WINDOW_BYTES // 1000} kB"),
)


def run() -> dict[str, float]:
    """Python's own count of allocated bytes, before and after each second of blocks of all nodes."""
    log = SampleLog(node_names(_NODES), 100)
    seconds = [log.next_seconds(1) for _ in range(WARM_UP_SECONDS + _HOPS * BLOCKS_PER_WINDOW)]
    _Engine().take(seconds[0])  # whatever is made once for all nodes
    tracemalloc.start()
    try:
        engine, before = _Engine(), tracemalloc.get_traced_memory()[0]
        taken = []
        for records in seconds:
            engine.take(records)
            taken.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    per_node = max(taken[WARM_UP_SECONDS:]) / _NODES
    return {"state_kb_per_node": per_node / 1000, "state_vs_raw_window": per_node / _RAW_WINDOW_BYTES}


class _Engine:
    """The engine as the stage holds it, but for the messages that are not acknowledged yet: they keep no bytes."""

    def __init__(self) -> None:
        self._engine = WindowEngine(WindowSettings())
        self._offset = 0

    def take(self, records: list[tuple[bytes, bytes]]) -> None:
        for _, value in records:
            self._engine.process(decode_sample_block(value), self._offset, time.time_ns())
            self._offset += 1
