"""What the catalogue says about the metrics of a source, as columns of its samples."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.schemas.catalogue import BetweenSamples, MetricKind, find

MAX_REMEMBERED_METRICS = 2_000
"""What is worked out once for so many metrics or fewer is worked out anew each time for more: a sender chooses them."""

_CACHED_LAYOUTS = 1024


@dataclass(frozen=True, slots=True)
class MetricColumns:
    """Columns of the gauges (gauges,) and of the counters (counters,) of a source, and their names.

    `holds` (gauges,): whether a gauge stays what it was between two samples. `wraps_at` (counters,): the number at
    which a counter begins again at 0, infinite where it does not. Arrays are read-only.
    """

    gauges: IntArray
    gauge_names: tuple[str, ...]
    holds: npt.NDArray[np.bool_]
    counters: IntArray
    counter_names: tuple[str, ...]
    wraps_at: FloatArray


def metric_columns(metrics: tuple[str, ...]) -> MetricColumns:
    """Looks the metrics up; an unknown one is a gauge that is interpolated."""
    return _look_up(metrics) if len(metrics) > MAX_REMEMBERED_METRICS else _remembered(metrics)


def _look_up(metrics: tuple[str, ...]) -> MetricColumns:
    found = [find(metric) for metric in metrics]
    is_counter = np.array([known is not None and known.kind is MetricKind.COUNTER for known in found], dtype=np.bool_)
    holds = np.array([known is not None and known.between_samples is BetweenSamples.HOLD for known in found], np.bool_)
    wraps_at = np.array([np.inf if known is None or known.wraps_at is None else known.wraps_at for known in found])
    gauges, counters = np.flatnonzero(~is_counter), np.flatnonzero(is_counter)
    columns = MetricColumns(
        gauges=gauges,
        gauge_names=tuple(metrics[column] for column in gauges),
        holds=holds[gauges],
        counters=counters,
        counter_names=tuple(metrics[column] for column in counters),
        wraps_at=wraps_at[counters],
    )
    for array in (columns.gauges, columns.holds, columns.counters, columns.wraps_at):
        array.flags.writeable = False
    return columns


_remembered = lru_cache(maxsize=_CACHED_LAYOUTS)(_look_up)
