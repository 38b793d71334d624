"""Counters become rates: only their growth means something, and only between neighbours.

A counter that went down has begun again at 0, either because it ran over (a wrap) or because what counts was started
anew (a reset). It is taken for a wrap where the catalogue says at which number the counter wraps, and the growth that
follows from it is small beside that number and of the size by which the counter grows before or after. Otherwise it
was reset, and its growth since then is its value, where that is of this size; what was counted between the sample
before and the reset is lost. A counter that merely went back a little has no rate. After a reboot nothing is known,
also where a counter has come further than it was before: some begin again at 0 and some do not.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.align.gaps import gaps

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
    boots = np.zeros(len(ticks_ns), dtype=np.int64)
    boots[reboot_rows] = 1
    steps = _Steps.of(ticks_ns, values.T, interval_ns, np.cumsum(boots))
    growth = steps.growth / steps.seconds
    uneven = np.flatnonzero(~(steps.growth.min(axis=1) >= 0))
    growth[:, ~steps.are_known] = np.nan
    if len(uneven):
        growth[uneven] = _uneven_rates(steps, uneven, values.T[uneven], wraps_at[uneven])
    return growth.T


@dataclass(frozen=True, slots=True)
class _Steps:
    """From each tick to the next one: growth (metrics, steps), seconds (steps,), and whether these are neighbours."""

    ticks_ns: IntArray
    boots: IntArray
    longest_ns: float
    growth: FloatArray
    seconds: FloatArray
    are_known: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, ticks_ns: IntArray, values: FloatArray, interval_ns: int, boots: IntArray) -> "_Steps":
        longest_ns = NEIGHBOUR_INTERVALS * interval_ns
        apart_ns = np.diff(ticks_ns)
        are_known = (apart_ns <= longest_ns) & (boots[1:] == boots[:-1])
        return cls(ticks_ns, boots, longest_ns, np.diff(values, axis=1), apart_ns / _NS, are_known)


def _uneven_rates(steps: _Steps, uneven: IntArray, values: FloatArray, wraps_at: FloatArray) -> FloatArray:
    """Rates (metrics, steps) of counters that miss samples or went down."""
    growth = steps.growth[uneven]
    growth[:, ~steps.are_known] = np.nan
    seconds = np.broadcast_to(steps.seconds, growth.shape)
    metric, first, after = gaps(np.isnan(values))
    is_between = (first > 0) & (after < values.shape[1])
    metric, before, after = metric[is_between], first[is_between] - 1, after[is_between]
    apart_ns = steps.ticks_ns[after] - steps.ticks_ns[before]
    is_step = (apart_ns <= steps.longest_ns) & (steps.boots[after] == steps.boots[before])
    if is_step.any():
        metric, before, after, apart_ns = metric[is_step], before[is_step], after[is_step], apart_ns[is_step]
        growth[metric, after - 1] = values[metric, after] - values[metric, before]
        seconds = seconds.copy()
        seconds[metric, after - 1] = apart_ns / _NS
    went_down = growth < 0
    growth_per_second = np.where(went_down, np.nan, growth / seconds)
    if went_down.any():
        nearest = np.fmax(_last_known(growth_per_second), _last_known(growth_per_second[:, ::-1])[:, ::-1])
        likely = LIKELY_GROWTH_FACTOR * nearest * seconds
        span = wraps_at[:, None]
        across = growth + span
        is_wrap = (across >= 0) & (across <= np.minimum(likely, MAX_WRAP_SHARE * span))
        since_reset = np.where(values[:, 1:] <= likely, values[:, 1:], np.nan)
        growth_per_second[went_down] = (np.where(is_wrap, across, since_reset) / seconds)[went_down]
    return growth_per_second


def _last_known(rates_of_metrics: FloatArray) -> FloatArray:
    """The last rate up to each step that is known, NaN before the first; (metrics, steps)."""
    steps = np.arange(rates_of_metrics.shape[1])
    last = np.maximum.accumulate(np.where(np.isnan(rates_of_metrics), 0, steps), axis=1)
    return np.take_along_axis(rates_of_metrics, last, axis=1)
