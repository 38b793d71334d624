"""The samples of one entity: all its collectors, read tick by tick, until they are taken as one block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pulsetrain.agents.collectors.base import Collector
from pulsetrain.agents.errors import CollectError
from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.schemas.sample_block import MAX_BLOCK_BYTES

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

    Args:
        entity: the entity's name without the node.
        collectors: supported ones, in the order of the metrics.
        ticks: how many ticks are taken together.
    """

    def __init__(self, entity: str, collectors: Sequence[Collector], ticks: int) -> None:
        self.entity = entity
        self.collectors = tuple(collectors)
        self.metrics = tuple(metric for collector in collectors for metric in collector.metrics())
        fitting = int(MAX_BLOCK_BYTES * _SHARE_FOR_VALUES) // (_FLOAT_BYTES * max(1, len(self.metrics)))
        self._capacity = max(1, min(ticks, fitting))
        self._ticks_ns = np.zeros(self._capacity, dtype=np.int64)
        self._values = np.empty((self._capacity, len(self.metrics)))
        self._filled = 0
        self._failures: dict[str, str] = {}
        self._columns: list[slice] = []
        for collector in collectors:
            begin = self._columns[-1].stop if self._columns else 0
            self._columns.append(slice(begin, begin + len(collector.metrics())))

    @property
    def is_full(self) -> bool:
        """Whether the samples have to be taken before the next tick."""
        return self._filled == self._capacity

    def sample(self, time_ns: int) -> None:
        """Read every collector; one that fails leaves its metrics missing and the others alone."""
        row = self._values[self._filled]
        self._ticks_ns[self._filled] = time_ns
        self._filled += 1
        for collector, columns in zip(self.collectors, self._columns, strict=True):
            try:
                collector.collect(row[columns])
            except CollectError as error:
                row[columns] = np.nan
                self._failures[collector.name] = str(error)
            except Exception as error:  # a fault of one collector must not end the others
                row[columns] = np.nan
                self._failures[collector.name] = f"{type(error).__name__}: {error}"

    def take(self) -> Samples | None:
        """What was read since the last time; None if nothing was."""
        if not self._filled:
            return None
        values = self._values[: self._filled].copy()
        gaps: npt.NDArray[np.bool_] = np.isnan(values).any(axis=0)
        missing: dict[str, str] = {}
        for collector, columns in zip(self.collectors, self._columns, strict=True):
            reason = self._failures.get(collector.name, f"no value in {collector.source}")
            missing.update({self.metrics[columns][index]: reason for index in np.flatnonzero(gaps[columns])})
        samples = Samples(self._ticks_ns[: self._filled].copy(), values, missing, self._failures)
        self._filled = 0
        self._failures = {}
        return samples
