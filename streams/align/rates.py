"""Counters become rates: only their growth means something, and only between neighbours.

A counter that went down has begun again at 0, either because it ran over (a wrap) or because what counts was started
anew (a reset). Across a wrap the growth is known; across a reset it is not, and nothing is made up for it. It is taken
for a wrap only where the catalogue says at which number the counter wraps, and the growth that follows from it is
small beside that number and of the size that the counter grows by before or after. After a reboot every counter was
reset, also one that has come further than it was before.
"""

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray

NEIGHBOUR_INTERVALS = 2.5
"""Samples further apart than this many intervals are no neighbours: what lies between them is a gap."""

WRAP_GROWTH_FACTOR = 10.0
"""Across a wrap a counter grows at most so many times as fast as in the nearest rates before and after."""

MAX_WRAP_SHARE = 1 / 8
"""Across a wrap a counter grows by at most this share of its range: a reset early in it is no wrap."""

_NS = 1_000_000_000


def rates(
    ticks_ns: IntArray, values: FloatArray, interval_ns: int, wraps_at: FloatArray, reboot_rows: IntArray
) -> FloatArray:
    """Growth per second up to each tick after the first, from real tick times.

    Takes counters (ticks, metrics) with NaN for a missing sample, the number at which each wraps (metrics,), infinite
    where it does not, and the rows whose samples are the first after a reboot. Gives (ticks - 1, metrics). A rate is
    missing where the counter's sample or every neighbour before it is, and where the counter was reset.
    """
    if len(ticks_ns) < 2:
        return np.empty((0, values.shape[1]))
    apart_ns = np.diff(ticks_ns)
    growth = np.diff(values, axis=0)
    growth /= (apart_ns / _NS)[:, None]
    with np.errstate(invalid="ignore"):
        uneven = np.flatnonzero(~(growth.min(axis=0) >= 0))
    growth[apart_ns > NEIGHBOUR_INTERVALS * interval_ns] = np.nan
    boots = np.zeros(len(ticks_ns), dtype=np.int64)
    if len(reboot_rows):
        boots[reboot_rows] = 1
        boots = np.cumsum(boots)
        growth[boots[1:] != boots[:-1]] = np.nan
    if len(uneven):
        growth[:, uneven] = _uneven_rates(ticks_ns, values[:, uneven], interval_ns, wraps_at[uneven], boots)
    return growth


def _uneven_rates(
    ticks_ns: IntArray, values: FloatArray, interval_ns: int, wraps_at: FloatArray, boots: IntArray
) -> FloatArray:
    """Rates of counters that miss samples or went down, each against the last sample before it that is not missing."""
    is_known = ~np.isnan(values)
    rows = np.arange(len(values))[:, None]
    before = np.maximum.accumulate(np.where(is_known, rows, -1), axis=0)[:-1]
    is_step = is_known[1:] & (before >= 0)
    before = np.maximum(before, 0)
    apart_ns = ticks_ns[1:, None] - ticks_ns[before]
    is_step &= (apart_ns <= NEIGHBOUR_INTERVALS * interval_ns) & (boots[1:, None] == boots[before])
    seconds = apart_ns / _NS
    steps = values[1:] - np.take_along_axis(values, before, axis=0)
    growth = np.where(is_step & (steps >= 0), steps / seconds, np.nan)
    wrapped = is_step & (steps < 0) & np.isfinite(wraps_at)
    if wrapped.any():
        across = steps + wraps_at
        usual = WRAP_GROWTH_FACTOR * np.fmax(_last_known(growth), _last_known(growth[::-1])[::-1])
        wrapped &= (across >= 0) & (across <= MAX_WRAP_SHARE * wraps_at) & (across <= usual * seconds)
        growth[wrapped] = (across / seconds)[wrapped]
    return growth


def _last_known(growth: FloatArray) -> FloatArray:
    """The last rate up to each row that is known, NaN before the first."""
    rows = np.arange(len(growth))[:, None]
    last = np.maximum.accumulate(np.where(np.isnan(growth), 0, rows), axis=0)
    return np.take_along_axis(growth, last, axis=0)
