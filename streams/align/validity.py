"""Values that can't have been measured become missing, before anything is scaled or derived."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.catalogue import find
from pulsetrain.schemas.sentinels import sentinel_mask

BoolArray = npt.NDArray[np.bool_]

MAX_UNKNOWN_METRICS = 1_000
_MAX_REMEMBERED_NAMES = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The valid range of each metric, (metrics,); infinite where the catalogue names none."""

    metrics: tuple[str, ...]
    lowest: FloatArray
    highest: FloatArray


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
        return Limits(
            metrics,
            np.array([-np.inf if known is None else known.valid_min for known in found]),
            np.array([np.inf if known is None else known.valid_max for known in found]),
        )


def examine(values: FloatArray, limits: Limits) -> Examined | None:
    """Tell invalid samples by reason: infinite, a sentinel, outside the metric's range. None where all are valid.

    Takes values (ticks, metrics); NaN is missing, not invalid.
    """
    infinite = np.isinf(values)
    sentinel = sentinel_mask(values)
    outside = (values < limits.lowest) | (values > limits.highest)
    if not (infinite.any() or sentinel.any() or outside.any()):
        return None
    sentinel &= ~infinite
    outside &= ~(infinite | sentinel)
    return Examined(np.where(infinite | sentinel | outside, np.nan, values), infinite, sentinel, outside)
