"""Counters become rates: only their growth means something, and only between neighbours."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.schemas.catalogue import MetricKind, find

NEIGHBOUR_INTERVALS = 2.5
"""Samples further apart than this many intervals are no neighbours: what lies between them is a gap."""

_NS = 1_000_000_000


@lru_cache(maxsize=1024)
def counter_columns(metrics: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    """Which metrics are counters, (metrics,); an unknown metric counts as a gauge. Read-only."""
    found = (find(metric) for metric in metrics)
    columns = np.array([known is not None and known.kind is MetricKind.COUNTER for known in found], dtype=np.bool_)
    columns.flags.writeable = False
    return columns


def rates(ticks_ns: IntArray, values: FloatArray, interval_ns: int) -> FloatArray:
    """Growth per second up to each tick after the first, from real tick times.

    Takes counters (ticks, metrics) with NaN for a missing sample, gives (ticks - 1, metrics). A rate is missing where
    the counter's sample or every neighbour before it is. A counter that went down was reset, or wrapped around; the
    two can't be told apart without knowing its width, so that rate is missing too.
    """
    if len(ticks_ns) < 2:
        return np.empty((0, values.shape[1]))
    seconds = np.diff(ticks_ns) / _NS
    growth = np.diff(values, axis=0) / seconds[:, None]
    growth[seconds * _NS > NEIGHBOUR_INTERVALS * interval_ns] = np.nan
    for column in np.flatnonzero(np.isnan(values).any(axis=0)):
        growth[:, column] = _rates_across_gaps(ticks_ns, values[:, column], interval_ns)
    growth[growth < 0] = np.nan
    return growth


def _rates_across_gaps(ticks_ns: IntArray, values: FloatArray, interval_ns: int) -> FloatArray:
    """Rates of one counter, each against the last sample before it that is not missing."""
    growth = np.full(len(values) - 1, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    if len(known) > 1:
        apart = np.diff(ticks_ns[known])
        near = apart <= NEIGHBOUR_INTERVALS * interval_ns
        growth[known[1:][near] - 1] = (np.diff(values[known]) / (apart / _NS))[near]
    return growth
