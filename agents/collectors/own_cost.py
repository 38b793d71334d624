"""What the agent itself costs, and how well it keeps its schedule."""

import math
import os
import time
from collections.abc import Callable

from pulsetrain.agents.collectors.base import HOST, Roots, Support
from pulsetrain.agents.collectors.kernel_file import KernelFile
from pulsetrain.agents.errors import CollectError
from pulsetrain.agents.run_stats import RunStats

_METRICS = (
    "pulsetrain.agent.cpu.utilization",
    "pulsetrain.agent.memory.usage",
    "pulsetrain.agent.collect.duration",
    "pulsetrain.agent.tick.delay",
    "pulsetrain.agent.ticks.skipped",
    "pulsetrain.agent.samples.lost",
    "pulsetrain.agent.degraded.level",
)
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class OwnCostCollector:
    """CPU time of all threads of this process since the previous tick, resident memory, and the runner's figures.

    Args:
        roots: where /proc is.
        stats: the runner's figures.
        cpu_time_ns: CPU time of this process, all threads.
        monotonic_ns: a clock that is never set.
    """

    def __init__(
        self,
        roots: Roots,
        stats: RunStats,
        cpu_time_ns: Callable[[], int] = time.process_time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.name = "agent"
        self.entity = HOST
        self._file = KernelFile(roots.proc / "self/statm")
        self.source = str(self._file.path)
        self._stats = stats
        self._cpu_time_ns = cpu_time_ns
        self._monotonic_ns = monotonic_ns
        self._previous: tuple[int, int] | None = None

    def is_supported(self) -> Support:
        """Always: what can't be read is missing."""
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        """Metric ids in the order of the values."""
        return _METRICS

    def read(self) -> tuple[float, ...]:
        """The figures; memory is NaN where it can't be read."""
        stats = self._stats
        return (
            self._cpu_share(),
            self._resident_bytes(),
            stats.collect_seconds,
            stats.tick_delay_seconds,
            stats.skipped_ticks,
            stats.lost_samples,
            stats.degraded_level,
        )

    def decode(self, reading: tuple[float, ...]) -> tuple[float, ...]:
        """The figures as they are."""
        return reading

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _cpu_share(self) -> float:
        previous, now = self._previous, (self._cpu_time_ns(), self._monotonic_ns())
        self._previous = now
        if previous is None or now[1] <= previous[1]:
            return math.nan
        return (now[0] - previous[0]) / (now[1] - previous[1])

    def _resident_bytes(self) -> float:
        try:
            return float(self._file.read().split()[1]) * _PAGE_BYTES
        except (CollectError, ValueError, IndexError):
            return math.nan
