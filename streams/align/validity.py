"""Values that can't have been measured become missing, before anything is scaled or derived."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.catalogue import find
from pulsetrain.schemas.sentinels import BELOW_SENTINELS, holds_no_sentinel, sentinel_mask
from pulsetrain.streams.align.plain import all_within

BoolArray = npt.NDArray[np.bool_]

MAX_UNKNOWN_METRICS = 1_000
_MAX_REMEMBERED_NAMES = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The valid range of each metric, (metrics,); where the catalogue names none, whatever is finite.

    `plain_highest` is the end of the part of it that lies below all sentinels.
    """

    metrics: tuple[str, ...]
    lowest: FloatArray
    highest: FloatArray
    plain_highest: FloatArray


@dataclass(frozen=True, slots=True)
class Examined:
    """Values with NaN in place of what is invalid, and which cells that were, by reason; each (ticks, metrics)."""

    values: FloatArray
    not_finite: BoolArray
    sentinel: BoolArray
    out_of_range: BoolArray

    @property
    def invalid(self) -> BoolArray:
        """Cells that are invalid for any reason; one cell has one reason."""
        return self.not_finite | self.sentinel | self.out_of_range


class Validity:
    """Examines blocks by the metric catalogue; remembers the limits of each tuple of metrics it has met.

    An unknown metric has no range. `unknown_metrics` names the first `MAX_UNKNOWN_METRICS` of them.
    """

    def __init__(self) -> None:
        self.unknown_metrics: set[str] = set()
        self._limits: dict[tuple[str, ...], Limits] = {}
        self._remembered_names = 0

    def limits(self, metrics: tuple[str, ...]) -> Limits:
        """The limits of some metrics; its `metrics` is the same object for equal tuples."""
        limits = self._limits.get(metrics)
        if limits is None:
            self._remembered_names += len(metrics)
            if self._remembered_names > _MAX_REMEMBERED_NAMES:
                self._limits.clear()
                self._remembered_names = len(metrics)
            limits = self._limits[metrics] = self._look_up(metrics)
        return limits

    def _look_up(self, metrics: tuple[str, ...]) -> Limits:
        found = [find(metric) for metric in metrics]
        for metric, known in zip(metrics, found, strict=True):
            if known is None and len(self.unknown_metrics) < MAX_UNKNOWN_METRICS:
                self.unknown_metrics.add(metric)
        largest = float(np.finfo(np.float64).max)
        lowest = np.array([-largest if known is None else max(known.valid_min, -largest) for known in found])
        highest = np.array([largest if known is None else min(known.valid_max, largest) for known in found])
        return Limits(metrics, lowest, highest, np.minimum(highest, BELOW_SENTINELS))


def are_plain(values: FloatArray, limits: Limits) -> bool:
    """Whether every cell of (ticks, metrics) is there, within its range and smaller than any sentinel."""
    return all_within(np.ascontiguousarray(values), limits.lowest, limits.plain_highest)


def examine(values: FloatArray, limits: Limits) -> Examined | None:
    """Tell invalid samples by reason: infinite, a sentinel, outside the metric's range. None where all are valid.

    Takes values (ticks, metrics); NaN is missing, not invalid.
    """
    lowest, highest = np.minimum.reduce(values), np.maximum.reduce(values)
    is_valid = (lowest >= limits.lowest) & (highest <= limits.highest) & holds_no_sentinel(lowest, highest)
    columns = np.flatnonzero(~is_valid)
    doubtful = values[:, columns]
    infinite = np.isinf(doubtful)
    sentinel = sentinel_mask(doubtful) & ~infinite
    outside = (doubtful < limits.lowest[columns]) | (doubtful > limits.highest[columns])
    outside &= ~(infinite | sentinel)
    invalid = infinite | sentinel | outside
    if not invalid.any():
        return None
    cleaned = values.copy()
    cleaned[:, columns] = np.where(invalid, np.nan, doubtful)
    by_reason = [np.zeros(values.shape, dtype=np.bool_) for _ in range(3)]
    for cells, some in zip(by_reason, (infinite, sentinel, outside), strict=True):
        cells[:, columns] = some
    return Examined(cleaned, *by_reason)
