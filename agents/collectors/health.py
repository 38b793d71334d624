"""How every collector fares, as metrics: how long it takes, how often it failed, whether it works now."""

import math
from collections.abc import Sequence

from pulsetrain.agents.collectors.base import HOST, Support
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.schemas.catalogue import metric_id

_NAMES = (
    "pulsetrain.agent.collector.duration",
    "pulsetrain.agent.collector.failures",
    "pulsetrain.agent.collector.up",
)


class HealthCollector:
    """Reads what the runner notes of each collector that is known when this one is asked for its support.

    Args:
        stats: the runner's notes.
    """

    def __init__(self, stats: RunStats) -> None:
        self.name = "collector_health"
        self.entity = HOST
        self.source = "the agent's own notes"
        self._stats = stats
        self._collectors: tuple[str, ...] = ()

    def is_supported(self) -> Support:
        """Always; settles the collectors."""
        self._stats.health(self.name)
        self._collectors = tuple(self._stats.collectors)
        return Support(True)

    def metrics(self) -> tuple[str, ...]:
        """Metric ids in the order of the values."""
        return tuple(
            metric_id(name, **{"agent.collector": collector}) for collector in self._collectors for name in _NAMES
        )

    def read(self) -> tuple[float, ...]:
        """Slowest answer since the previous reading in seconds, failures so far, 1 or 0; NaN where none was read."""
        healths = [self._stats.health(collector) for collector in self._collectors]
        return tuple(
            value
            for health in healths
            for value in (
                health.take_longest_seconds(),
                float(health.failures),
                math.nan if health.is_up is None else float(health.is_up),
            )
        )

    def decode(self, readings: Sequence[tuple[float, ...]]) -> Sequence[tuple[float, ...]]:
        """The figures as they are."""
        return readings

    def close(self) -> None:
        """Nothing is open."""
