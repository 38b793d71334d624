"""The samples of one entity: all its collectors, read tick by tick, until they are taken as one block."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pulsetrain.agents.collectors.base import Collector
from pulsetrain.agents.errors import failure_of
from pulsetrain.agents.run_stats import CollectorHealth, RunStats
from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.schemas.sample_block import MAX_BLOCK_BYTES

_DECODED_TOGETHER = 16
"""Ticks whose readings are kept until they are decoded: enough to make it cheap, few enough to hold."""

# The rest of a message is what names the metrics and says what is missing.
_SHARE_FOR_VALUES = 0.5
_FLOAT_BYTES = 8


@dataclass(frozen=True, slots=True)
class Samples:
    """What was read: `ticks_ns` (ticks,), `values` (ticks, metrics), NaN where missing.

    `missing` says by metric why values are missing, `failures` by collector why it failed.
    """

    ticks_ns: IntArray
    values: FloatArray
    missing: Mapping[str, str]
    failures: Mapping[str, str]


class Sampler:
    """Reads the collectors of one entity; together they make one message, which costs its readers least.

    `metrics` and `collectors` are their names.

    Args:
        collectors: supported ones, in the order of the metrics.
        ticks: how many ticks are taken together.
        stats: where the fate of each reading is noted.
        monotonic: seconds that only grow.
    """

    def __init__(
        self,
        collectors: Sequence[Collector[Any]],
        ticks: int,
        stats: RunStats,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.metrics = tuple(metric for collector in collectors for metric in collector.metrics())
        fitting = int(MAX_BLOCK_BYTES * _SHARE_FOR_VALUES) // (_FLOAT_BYTES * max(1, len(self.metrics)))
        self._capacity = max(1, min(ticks, fitting))
        self._ticks_ns = np.zeros(self._capacity, dtype=np.int64)
        self._values = np.empty((self._capacity, len(self.metrics)))
        self._read = 0
        self._decoded = 0
        self._tracks: list[_Track] = []
        for collector in collectors:
            begin = self._tracks[-1].columns.stop if self._tracks else 0
            columns = slice(begin, begin + len(collector.metrics()))
            self._tracks.append(_Track(collector, columns, stats.health(collector.name)))
        self.collectors = tuple(track.name for track in self._tracks)
        self._monotonic = monotonic

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read since the samples were taken."""
        return not self._read

    @property
    def is_full(self) -> bool:
        """Whether the samples have to be taken before the next tick."""
        return self._read == self._capacity

    def sample(self, time_ns: int) -> None:
        """Read every collector; one that fails leaves its own metrics missing, not the others'."""
        self._ticks_ns[self._read] = time_ns
        self._read += 1
        begin = self._monotonic()
        for track in self._tracks:
            try:
                reading = track.read()
            except Exception as error:  # a fault in one collector must not end the others
                reading = None
                track.failure = failure_of(error)
            track.readings.append(reading)
            end = self._monotonic()
            track.took(end - begin)
            begin = end
        if self._read - self._decoded == _DECODED_TOGETHER:
            self._decode()

    def take(self) -> Samples | None:
        """What was read since the last time; None if nothing was."""
        self._decode()
        if not self._read:
            return None
        values = self._values[: self._read].copy()
        # A sum is NaN as soon as one of its numbers is.
        missing = self._missing(values) if math.isnan(values.sum()) else {}
        failures = {track.name: track.failure for track in self._tracks if track.failure is not None}
        for track in self._tracks:
            track.failure = None
        samples = Samples(self._ticks_ns[: self._read].copy(), values, missing, failures)
        self._read = self._decoded = 0
        return samples

    def _missing(self, values: FloatArray) -> dict[str, str]:
        gaps = np.logical_or.reduce(np.isnan(values), axis=0)
        missing: dict[str, str] = {}
        for track in self._tracks:
            metrics, reason = self.metrics[track.columns], track.failure or f"no value in {track.source}"
            missing.update({metrics[index]: reason for index in np.flatnonzero(gaps[track.columns])})
        return missing

    def _decode(self) -> None:
        rows = self._values[self._decoded : self._read]
        for track in self._tracks:
            track.decode(rows[:, track.columns])
        self._decoded = self._read


class _Track:
    """One collector, its columns, what it has read and not yet decoded, and why it failed last."""

    def __init__(self, collector: Collector[Any], columns: slice, health: CollectorHealth) -> None:
        self.name = collector.name
        self.source = collector.source
        self.read = collector.read
        self.columns = columns
        self.took = health.took
        self.failure: str | None = None
        self.readings: list[Any] = []
        self._understand = collector.decode
        self._health = health

    def decode(self, rows: FloatArray) -> None:
        """Write all readings into `rows`, shape (readings, metrics of the collector)."""
        readings, self.readings = self.readings, []
        if None not in readings and self._write(rows, readings) is None:
            return
        for index, reading in enumerate(readings):
            problem = None if reading is None else self._write(rows[index : index + 1], [reading])
            self.failure = problem or self.failure
            if reading is None or problem is not None:
                rows[index] = np.nan
                self._health.failed()

    def _write(self, rows: FloatArray, readings: list[Any]) -> str | None:
        """Why the readings could not be understood; None where they all were."""
        try:
            rows[:] = self._understand(readings)
        except Exception as error:  # a fault in one collector must not end the others
            return failure_of(error)
        self._health.succeeded()
        return None
