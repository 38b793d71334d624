"""The loop of the agent: read at every tick, hand over a block whenever its time is full."""

import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Protocol

from pulsetrain.agents.collectors.base import Collector
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.sampler import Sampler
from pulsetrain.agents.schedule import Tick, ticks
from pulsetrain.agents.session import Node, Session
from pulsetrain.schemas.sample_block import SampleBlock


class Outlet(Protocol):
    """Where the runner's work goes."""

    def block(self, block: SampleBlock) -> None:
        """Take a block; they come in the order in which they have to be sent."""

    def collector_read(self, collector: str, failure: str | None) -> None:
        """How a collector fared during a block: None, or why it failed."""

    def tick_done(self, time_ns: int) -> None:
        """A tick is over; there is time until the next one."""


class Runner:
    """Reads all collectors on one schedule.

    Args:
        node: the machine.
        collectors: supported ones.
        interval_ns: distance of two ticks.
        block_ns: how much time a block holds; blocks end at wall-clock multiples of it.
        outlet: where everything goes.
        stats: where ticks are counted.
        monotonic: seconds that only grow.
    """

    def __init__(
        self,
        node: Node,
        collectors: Sequence[Collector[Any]],
        interval_ns: int,
        block_ns: int,
        outlet: Outlet,
        stats: RunStats,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._interval_ns = interval_ns
        self._block_ns = block_ns
        self._outlet = outlet
        self._stats = stats
        self._monotonic = monotonic
        self._session = Session(node, interval_ns)
        ticks_per_block = -(-block_ns // interval_ns)
        by_entity = groupby(sorted(collectors, key=_entity), key=_entity)
        self._samplers = [Sampler(entity, list(group), ticks_per_block) for entity, group in by_entity]

    def run(self, time_ns: Callable[[], int], wait: Callable[[float], bool]) -> None:
        """Read until `wait` says to stop; then hand over what was read.

        Args:
            time_ns: the wall clock, Unix nanoseconds.
            wait: sleeps for so many seconds, or less when it has to stop; true means stop.
        """
        self._read_once_for_nothing(time_ns())
        block = None
        for tick in ticks(self._interval_ns, time_ns, wait):
            if block not in (None, tick.grid_ns // self._block_ns):
                self._hand_over()
            if tick.clock_went_back:
                # The times sent so far lie ahead; to the readers of a new session they mean nothing.
                self._hand_over()
                self._session = Session(self._node, self._interval_ns)
            block = tick.grid_ns // self._block_ns
            self._sample(tick)
            if (tick.grid_ns + self._interval_ns) // self._block_ns != block:
                self._hand_over()
            self._outlet.tick_done(tick.time_ns)
        self._hand_over()

    def _read_once_for_nothing(self, time_ns: int) -> None:
        """Give collectors that compute increments their first reading."""
        for sampler in self._samplers:
            sampler.sample(time_ns)
            sampler.take()

    def _sample(self, tick: Tick) -> None:
        stats = self._stats
        stats.ticks += 1
        stats.skipped_ticks += tick.skipped
        stats.tick_delay_seconds = (tick.time_ns - tick.grid_ns) * 1e-9
        begin = self._monotonic()
        for sampler in self._samplers:
            sampler.sample(tick.time_ns)
        stats.collect_seconds = self._monotonic() - begin
        if any(sampler.is_full for sampler in self._samplers):
            self._hand_over()

    def _hand_over(self) -> None:
        for sampler in self._samplers:
            samples = sampler.take()
            if samples is None:
                continue
            self._outlet.block(self._session.block(sampler.entity, sampler.metrics, samples))
            for collector in sampler.collectors:
                self._outlet.collector_read(collector, samples.failures.get(collector))


def _entity(collector: Collector[Any]) -> str:
    return collector.entity
