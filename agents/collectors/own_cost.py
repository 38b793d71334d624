"""What the agent itself costs, and how well it keeps its schedule."""

import time
from collections.abc import Callable, Sequence

from pulsetrain.agents.collectors.base import HOST, Roots, Support
from pulsetrain.agents.collectors.own_process import OwnProcess
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


class OwnCostCollector:
    """CPU time and memory of this process and of those that it has started, and the runner's figures.

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
        self._process = OwnProcess(roots.proc, cpu_time_ns, monotonic_ns)
        self.source = self._process.source
        self._stats = stats

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
            self._process.cpu_share(),
            self._process.resident_bytes(),
            stats.collect_seconds,
            stats.tick_delay_seconds,
            stats.skipped_ticks,
            stats.lost_samples,
            stats.degraded_level,
        )

    def decode(self, readings: Sequence[tuple[float, ...]]) -> Sequence[tuple[float, ...]]:
        """The figures as they are."""
        return readings

    def close(self) -> None:
        """Close the file."""
        self._process.close()
