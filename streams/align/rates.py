"""Counters become rates: only their growth means something, and only between neighbours.

A counter that went down has begun again at 0, either because it ran over (a wrap) or because what counts was started
anew (a reset). It is taken for a wrap where the catalogue says at which number the counter wraps, and the growth that
follows from it is small beside that number and of the size by which the counter grows before or after. Otherwise it
was reset, and its growth since then is its value, where that is of this size; what was counted between the sample
before and the reset is lost. A counter that merely went back a little has no rate. After a reboot nothing is known,
also where a counter has come further than it was before: some begin again at 0 and some do not.
"""

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray

NEIGHBOUR_INTERVALS = 2.5
"""Samples further apart than this many intervals are no neighbours: what lies between them is a gap."""

LIKELY_GROWTH_FACTOR = 10.0
"""Across a wrap or since a reset a counter grows at most so many times as fast as in the nearest rates beside it."""

MAX_WRAP_SHARE = 1 / 8
"""Across a wrap a counter grows by at most this share of its range: a reset early in it is no wrap."""

_NS = 1_000_000_000


def rates(
    ticks_ns: IntArray, values: FloatArray, interval_ns: int, wraps_at: FloatArray, reboot_rows: IntArray
) -> FloatArray:
    """Growth per second up to each tick after the first, from real tick times.

    Takes counters (ticks, metrics) with NaN for a missing sample, the number at which each wraps (metrics,), infinite
    where it does not, and the rows whose samples are the first after a reboot. Gives (ticks - 1, metrics). A rate is
    missing where the counter's sample or every neighbour before it is, and where its growth is not known.
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
    went_down = is_step & (steps < 0)
    if went_down.any():
        nearest = np.fmax(_last_known(growth), _last_known(growth[::-1])[::-1])
        likely = LIKELY_GROWTH_FACTOR * nearest * seconds
        across = steps + wraps_at
        is_wrap = (across >= 0) & (across <= np.minimum(likely, MAX_WRAP_SHARE * wraps_at))
        since_reset = np.where(values[1:] <= likely, values[1:], np.nan)
        growth[went_down] = (np.where(is_wrap, across, since_reset) / seconds)[went_down]
    return growth


def _last_known(growth: FloatArray) -> FloatArray:
    """The last rate up to each row that is known, NaN before the first."""
    rows = np.arange(len(growth))[:, None]
    last = np.maximum.accumulate(np.where(np.isnan(growth), 0, rows), axis=0)
    return np.take_along_axis(growth, last, axis=0)
