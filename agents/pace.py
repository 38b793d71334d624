"""Keeps the agent within its budget: measures now and then, asks the governor, and sets everybody's interval."""

import time
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Protocol

from pulsetrain.agents.background import BackgroundThread
from pulsetrain.agents.governor import Governor, Usage, slowed_by
from pulsetrain.agents.group import Group
from pulsetrain.agents.run_stats import RunStats

MEASURED_SECONDS = 10.0
"""Over how long processor time is averaged: long enough for a percent of a core to be many ticks."""


class DegradedListener(Protocol):
    """Who is told of degraded mode."""

    def degraded(self, level: int, usage: Usage, exceeded: list[str], slowed: dict[str, int]) -> None:
        """The level has changed to `level`; `slowed` has the factor by stream or collector."""


class Pace:
    """Applies the governor's levels. Intervals of blocks that have begun stay as they are until those are full.

    Args:
        governor: decides.
        usage: measures since its previous call.
        listener: is told of each change.
        stats: where the level is published.
        monotonic: seconds that only grow.
    """

    def __init__(
        self,
        governor: Governor,
        usage: Callable[[], Usage],
        listener: DegradedListener,
        stats: RunStats,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._governor = governor
        self._usage = usage
        self._listener = listener
        self._stats = stats
        self._monotonic = monotonic
        self._measured_at: float | None = None

    def keep(self, groups: Iterable[Group], threads: Iterable[BackgroundThread]) -> None:
        """Measure if it is time to; slow down or speed up what the level says. Call it at every tick."""
        now = self._monotonic()
        if self._measured_at is not None and now - self._measured_at < MEASURED_SECONDS:
            return
        usage = self._usage()
        is_first, self._measured_at = self._measured_at is None, now
        before = self._governor.level
        # What was measured up to the first tick is the cost of the start.
        if is_first or self._governor.judge(usage, now) == before:
            return
        level = self._stats.degraded_level = self._governor.level
        slowed = {}
        everyone: Iterable[Group | BackgroundThread] = chain(groups, threads)
        for paced in everyone:
            paced.slowed_by = slowed_by(level, paced.importance)
            if paced.slowed_by > 1:
                slowed[paced.name] = paced.slowed_by
        self._listener.degraded(level, usage, self._governor.exceeded(usage), slowed)
