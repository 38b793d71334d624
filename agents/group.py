"""The collectors of one entity that are read at one interval, and their block as far as it is filled."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from pulsetrain.agents.collectors.scheduled import Scheduled
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.sampler import Sampler
from pulsetrain.agents.schedule import block_time_ns
from pulsetrain.agents.session import Batch

_NS_PER_MS = 1_000_000


class Group:
    """One stream of blocks.

    Args:
        entity: whom all of the collectors describe.
        scheduled: supported collectors.
        interval_ns: distance of two readings while the agent keeps its full pace.
        base_ns: the agent's interval.
        block_ns: how much time a block of the agent's interval holds.
        stats: where the fate of each reading is noted.
    """

    def __init__(
        self,
        entity: str,
        scheduled: Sequence[Scheduled],
        interval_ns: int,
        base_ns: int,
        block_ns: int,
        stats: RunStats,
    ) -> None:
        self.name = entity if interval_ns == base_ns else f"{entity}:{interval_ns // _NS_PER_MS}ms"
        self.entity = entity
        self.importance = max(entry.importance for entry in scheduled)
        self.interval_ns = interval_ns
        self._slowed_by = 1
        self._full_pace_ns = interval_ns
        self._agents_block_ns = block_ns
        self._block_ns = block_time_ns(interval_ns, block_ns)
        ticks = -(-self._block_ns // interval_ns)
        self._sampler = Sampler([entry.collector for entry in scheduled], ticks, stats)
        self._grid_ns = self._due_ns = 0

    @property
    def metrics(self) -> int:
        """How many metrics are read."""
        return len(self._sampler.metrics)

    def begin(self, time_ns: int) -> None:
        """Give collectors that compute increments their first reading."""
        self.read(time_ns, time_ns)
        self._sampler.take()

    def is_due(self, grid_ns: int) -> bool:
        """Whether a grid point of this group has come since its last reading, or the clock was set back."""
        return grid_ns >= self._due_ns or grid_ns < self._grid_ns

    def missed(self, grid_ns: int) -> int:
        """How many grid points were left out between the last reading and this one."""
        return max(0, grid_ns - self._due_ns) // self.interval_ns

    def read(self, grid_ns: int, time_ns: int) -> None:
        """Read every collector."""
        self._grid_ns = grid_ns
        self._due_ns = (grid_ns // self.interval_ns + 1) * self.interval_ns
        self._sampler.sample(time_ns)

    def is_over(self, grid_ns: int) -> bool:
        """Whether a grid point lies beyond the block that is being filled."""
        return not self._sampler.is_empty and self._grid_ns // self._block_ns != grid_ns // self._block_ns

    @property
    def block_ns(self) -> int:
        """How much time the block holds that is being filled."""
        return self._block_ns

    @property
    def is_full(self) -> bool:
        """Whether the block takes no further reading."""
        return self._sampler.is_full or self.is_over(self._grid_ns + self.interval_ns)

    @property
    def slowed_by(self) -> int:
        """By which factor the interval is longer than at full pace, at the latest from the next block on."""
        return self._slowed_by

    @slowed_by.setter
    def slowed_by(self, factor: int) -> None:
        self._slowed_by = factor
        if self._sampler.is_empty:
            self._set_interval()

    def take(self) -> tuple[Batch | None, Mapping[str, str | None]]:
        """What was read since the last time, and by collector why it failed (None: it did not)."""
        samples = self._sampler.take()
        batch, fates = None, {}
        if samples is not None:
            batch = Batch(self.name, self.entity, self.interval_ns, self._sampler.metrics, samples, {})
            fates = {collector: samples.failures.get(collector) for collector in self._sampler.collectors}
        self._set_interval()
        return batch, fates

    def _set_interval(self) -> None:
        """Between two blocks, since each has one interval."""
        self.interval_ns = self._full_pace_ns * self._slowed_by
        self._due_ns = -(-self._due_ns // self.interval_ns) * self.interval_ns
        self._block_ns = block_time_ns(self.interval_ns, self._agents_block_ns)


def groups_of(scheduled: Sequence[Scheduled], base_ns: int, block_ns: int, stats: RunStats) -> list[Group]:
    """One group for each entity and interval; intervals are rounded up to a multiple of the agent's, `base_ns`."""

    def key(entry: Scheduled) -> tuple[str, int]:
        wanted_ns = base_ns if entry.interval_ms is None else entry.interval_ms * _NS_PER_MS
        return entry.collector.entity, -(-wanted_ns // base_ns) * base_ns

    return [
        Group(entity, list(entries), interval_ns, base_ns, block_ns, stats)
        for (entity, interval_ns), entries in groupby(sorted(scheduled, key=key), key=key)
    ]
