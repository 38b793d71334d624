"""The loop of the agent: read at every tick, hand over a block whenever its time is full.

Only this loop makes blocks and talks to the outlet; threads of background collectors leave what they bring in queues
that are emptied here.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from pulsetrain.agents.collectors.base import Notice
from pulsetrain.agents.collectors.scheduled import Scheduled
from pulsetrain.agents.feed import BackgroundFeed
from pulsetrain.agents.group import Group, groups_of
from pulsetrain.agents.pace import Pace
from pulsetrain.agents.run_stats import RunStats
from pulsetrain.agents.schedule import Tick, tick_interval_ns, ticks
from pulsetrain.agents.session import Batch, Node, Session
from pulsetrain.schemas.sample_block import SampleBlock

_LONGEST_TICK_NS = 500_000_000

_LONGEST_WAIT_NS = 2_000_000_000
"""How long what is ready waits for the end of the fastest block, so that one wake-up and one request bring them all."""


class Outlet(Protocol):
    """Where the runner's work goes."""

    def block(self, block: SampleBlock) -> None:
        """Take a block; they come in the order in which they have to be sent."""

    def collector_read(self, collector: str, failure: str | None) -> None:
        """How a collector fared lately: None, or why it failed."""

    def collector_unsupported(self, collector: str, reason: str) -> None:
        """This machine has not what a background collector reads; it is tried again later."""

    def notice(self, notice: Notice) -> None:
        """Something happened to what a collector watches."""

    def tick_done(self, time_ns: int) -> None:
        """A tick is over; there is time until the next one."""


class Runner:
    """Reads all collectors on one schedule.

    Args:
        node: the machine.
        scheduled: supported collectors.
        interval_ns: distance of two ticks.
        block_ns: how much time a block holds; blocks end at wall-clock multiples of it.
        outlet: where everything goes.
        stats: where ticks are counted.
        feed: what background collectors bring.
        pace: what slows everything down when it costs too much.
        monotonic: seconds that only grow.
    """

    def __init__(
        self,
        node: Node,
        scheduled: Sequence[Scheduled],
        interval_ns: int,
        block_ns: int,
        outlet: Outlet,
        stats: RunStats,
        feed: BackgroundFeed | None = None,
        pace: Pace | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._interval_ns = interval_ns
        self._outlet = outlet
        self._stats = stats
        self._feed = feed or BackgroundFeed([], outlet, stats)
        self._pace = pace
        self._monotonic = monotonic
        self._session = Session(node)
        self._groups = groups_of(scheduled, interval_ns, block_ns, stats)
        self._ready: list[Batch] = []

    def run(self, time_ns: Callable[[], int], wait: Callable[[float], bool]) -> None:
        """Read until `wait` says to stop; then hand over what was read.

        Args:
            time_ns: the wall clock, Unix nanoseconds.
            wait: sleeps for so many seconds, or less when it has to stop; true means stop.
        """
        begin_ns = time_ns()
        for group in self._groups:
            group.begin(begin_ns)
        for tick in ticks(self._tick_interval_ns, time_ns, wait):
            if tick.clock_went_back:
                # The times sent so far lie ahead; to the readers of a new session they mean nothing.
                self._hand_over_all(self._feed.begin_anew())
                self._session = Session(self._node)
            self._read(tick)
            self._ready += self._feed.due(tick.time_ns, self._tick_interval_ns())
            if self._is_time_to_send():
                self._hand_over_full()
            if self._pace is not None:
                self._pace.keep(self._groups, self._feed.threads)
            self._outlet.tick_done(tick.time_ns)
        self._hand_over_all(self._feed.finish(time_ns()))

    def _tick_interval_ns(self) -> int:
        """The shortest interval, or a part of it that is short enough for what background collectors bring."""
        shortest_ns = min((group.interval_ns for group in self._groups), default=self._interval_ns)
        return tick_interval_ns(shortest_ns, _LONGEST_TICK_NS) if self._feed.threads else shortest_ns

    def _read(self, tick: Tick) -> None:
        stats = self._stats
        due = [group for group in self._groups if group.is_due(tick.grid_ns)]
        if not due:
            return
        stats.ticks += 1
        stats.skipped_ticks += max(group.missed(tick.grid_ns) for group in due)
        stats.tick_delay_seconds = (tick.time_ns - tick.grid_ns) * 1e-9
        if any(group.is_over(tick.grid_ns) for group in due):
            self._hand_over_full(tick.grid_ns)
        begin = self._monotonic()
        for group in due:
            group.read(tick.grid_ns, tick.time_ns)
        stats.collect_seconds = self._monotonic() - begin

    def _is_time_to_send(self) -> bool:
        """Whether the block that ends most often does now, or none ends soon: what else is ready goes with it."""
        fastest = min(self._groups, key=_interval_ns, default=None)
        return fastest is None or fastest.is_full or fastest.block_ns > _LONGEST_WAIT_NS

    def _hand_over_full(self, grid_ns: int | None = None) -> None:
        """Send all that is ready, and the blocks that are full, or over at a grid point: the newest last."""
        for group in sorted(self._groups, key=_interval_ns, reverse=True):
            if group.is_full or (grid_ns is not None and group.is_over(grid_ns)):
                self._take(group)
        self._send_ready()

    def _take(self, group: Group) -> None:
        batch, fates = group.take()
        if batch is not None:
            self._ready.append(batch)
        for collector, failure in fates.items():
            self._outlet.collector_read(collector, failure)

    def _send_ready(self) -> None:
        ready, self._ready = self._ready, []
        for batch in ready:
            self._outlet.block(self._session.block(batch))

    def _hand_over_all(self, batches: Iterator[Batch]) -> None:
        for group in self._groups:
            self._take(group)
        self._ready += batches
        self._send_ready()


def _interval_ns(group: Group) -> int:
    return group.interval_ns
