"""The floor: a bare loop that reads the files of our agent's collectors at its interval and does nothing with them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pulsetrain.agents.collector_list import scheduled_collectors
from pulsetrain.agents.collectors.base import Roots
from pulsetrain.agents.run_stats import RunStats
from tests.bench.children import child_process
from tests.bench.peers import bare_loop
from tests.bench.peers.peer import Peer
from tests.processes import wait_until

_START_SECONDS = 60.0


class Floor(Peer):
    """Its samples are the values that our collectors take out of the same bytes."""

    def __init__(self, pid: int, counter: Path, metrics: int) -> None:
        super().__init__(pid)
        self._counter = counter
        self._metrics = metrics
        self._begin = 0

    def begin(self) -> None:
        self._begin = self.ticks()

    def end(self) -> float:
        return float((self.ticks() - self._begin) * self._metrics)

    def series(self) -> int:
        return self._metrics

    def ticks(self) -> int:
        """How often it has read all files."""
        return int.from_bytes(self._counter.read_bytes(), "little")


@contextmanager
def floor(interval_ms: int, folder: Path) -> Iterator[Floor]:
    """The loop; it has begun to read."""
    files, metrics = _files_of_each_tick()
    counter = folder / "ticks"
    counter.write_bytes(bytes(8))
    command = [sys.executable, str(bare_loop.__file__), str(interval_ms), str(counter), *files]
    with child_process(command, "floor.log") as process:
        peer = Floor(process.pid, counter, metrics)
        wait_until("the bare loop's first tick", peer.ticks, _START_SECONDS)
        yield peer


def _files_of_each_tick() -> tuple[list[str], int]:
    """Paths that our agent reads at each tick here, and how many metrics it takes from them."""
    files, metrics = [], 0
    for entry in scheduled_collectors(Roots(), RunStats(), 1000):
        collector = entry.collector
        if entry.interval_ms is None and Path(collector.source).is_file() and collector.is_supported().supported:
            files.append(collector.source)
            metrics += len(collector.metrics())
        collector.close()
    return files, metrics
