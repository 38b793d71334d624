"""Samples of one source onto the grid of its interval; what was not measured is made up within stated limits.

The grid of a source is the multiples of its interval since the Unix epoch, as agents tick; so every window start is
on it where the interval divides the hop. A grid point is

- measured: a sample lies within the tolerance, and is taken as it is;
- resampled: of the samples before and after it at least one is off the grid and nearer than one interval. The point
  lies on the line between them where they are neighbours; a metric that holds its value has that of the sample before,
  where that one is a neighbour of the point;
- filled: a gap of at most the fill limit, on the line between the grid points around it or held from the one before,
  and at an edge of the window held from the nearest one;
- missing otherwise.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.align.gaps import gaps
from pulsetrain.streams.align.rates import NEIGHBOUR_INTERVALS

BoolArray = npt.NDArray[np.bool_]

_CACHED_GRIDS = 16

MAX_SPARSE_POINTS = 4_000
"""A grid of more points that its samples can't cover is not filled in at all."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The points `first_ns + k * interval_ns` for k from 0 to `points` - 1."""

    first_ns: int
    interval_ns: int
    points: int

    @classmethod
    def between(cls, start_ns: int, end_ns: int, interval_ns: int) -> "Grid":
        """The grid points in [start, end)."""
        first = -(-start_ns // interval_ns) * interval_ns
        return cls(first, interval_ns, max(0, -(-(end_ns - first) // interval_ns)))

    def without_first(self) -> "Grid":
        """The grid of a rate: it has none at the window's first point, which only a sample before it could give."""
        if not self.points:
            return self
        return Grid(self.first_ns + self.interval_ns, self.interval_ns, self.points - 1)

    def is_met_by(self, ticks_ns: IntArray, tolerance_ns: int) -> bool:
        """Whether each grid point has its own tick within the tolerance, in order, and no tick is left over."""
        if len(ticks_ns) != self.points or not self.points or 2 * tolerance_ns >= self.interval_ns:
            return False
        distance = ticks_ns - _multiples(self.points, self.interval_ns)
        distance -= self.first_ns
        return bool(distance.max() <= tolerance_ns and distance.min() >= -tolerance_ns)

    def nearest(self, ticks_ns: IntArray) -> tuple[IntArray, IntArray]:
        """The number of the nearest grid point of each tick, which may lie outside, and the distance to it."""
        points = np.floor_divide(ticks_ns - self.first_ns + self.interval_ns // 2, self.interval_ns)
        return points, np.abs(ticks_ns - (self.first_ns + points * self.interval_ns))


@lru_cache(maxsize=_CACHED_GRIDS)
def _multiples(points: int, interval_ns: int) -> IntArray:
    multiples: IntArray = np.arange(points, dtype=np.int64) * interval_ns
    multiples.flags.writeable = False
    return multiples


@dataclass(frozen=True, slots=True)
class Gridded:
    """Values (points, metrics), and how many points of each metric came about how, each (metrics,)."""

    values: FloatArray
    measured: IntArray
    resampled: IntArray
    filled: IntArray


def align(
    ticks_ns: IntArray,
    values: FloatArray,
    grid: Grid,
    tolerance_ns: int,
    fill_limit_intervals: float,
    holds: BoolArray | None = None,
) -> Gridded:
    """Bring samples (ticks, metrics), NaN for missing, onto the grid; ticks ascend.

    `holds` (metrics,) says which metrics stay what they were between two samples; without it all are interpolated.
    A large grid with so few samples that no metric can be without a gap (a source that claims a far too short
    interval) has no values, shape (0, metrics), and only what was measured is counted; so memory stays in proportion
    to what was sent.
    """
    if grid.is_met_by(ticks_ns, tolerance_ns) and not np.isnan(values).any():
        nothing = np.zeros(values.shape[1], dtype=np.int64)
        return Gridded(values, nothing + grid.points, nothing, nothing)
    if holds is None:
        holds = np.zeros(values.shape[1], dtype=np.bool_)
    nearest, distance = grid.nearest(ticks_ns)
    is_on_grid = (distance <= tolerance_ns) & (nearest >= 0) & (nearest < grid.points)
    coverable = (len(ticks_ns) + 1) * (fill_limit_intervals + 4)
    if grid.points > coverable and grid.points > MAX_SPARSE_POINTS:
        return _measured_only(values, is_on_grid)
    if is_on_grid.all() and (nearest[1:] > nearest[:-1]).all():
        aligned = values
        if len(ticks_ns) < grid.points:
            aligned = _missing(grid, values)
            aligned[nearest] = values
        measured = np.count_nonzero(~np.isnan(aligned), axis=0)
        resampled = np.zeros_like(measured)
    else:
        aligned = _missing(grid, values)
        measured = np.zeros(values.shape[1], dtype=np.int64)
        resampled = np.zeros_like(measured)
        for rows, columns in _alike(~np.isnan(values), holds):
            samples = _Samples(
                ticks_ns[rows],
                values.T[columns][:, rows] if len(rows) < len(values) else values.T[columns],
                nearest[rows],
                distance[rows],
                is_on_grid[rows],
                distance[rows] > tolerance_ns,
            )
            placed, measured[columns], resampled[columns] = _place(samples, grid, bool(holds[columns[0]]))
            aligned.T[columns] = placed
    aligned, filled = _fill(aligned, fill_limit_intervals, holds)
    return Gridded(aligned, measured, resampled, filled)


def _missing(grid: Grid, values: FloatArray) -> FloatArray:
    """All points missing, (points, metrics); each metric's points lie together."""
    return np.full((values.shape[1], grid.points), np.nan).T


def _measured_only(values: FloatArray, is_on_grid: BoolArray) -> Gridded:
    measured = np.count_nonzero(~np.isnan(values[is_on_grid]), axis=0)
    nothing = np.zeros_like(measured)
    return Gridded(np.empty((0, values.shape[1])), measured, nothing, nothing)


@dataclass(frozen=True, slots=True)
class _Samples:
    """Samples of metrics that all have a value at each tick: values (metrics, ticks), all else (ticks,)."""

    ticks_ns: IntArray
    values: FloatArray
    nearest: IntArray
    distance: IntArray
    is_on_grid: BoolArray
    is_off_grid: BoolArray


def _alike(present: BoolArray, holds: BoolArray) -> list[tuple[IntArray, IntArray]]:
    """Metrics of one kind with values at the same ticks: the rows of these ticks, the columns of the metrics."""
    if not present.size:
        return []
    if present.all():
        rows = np.arange(len(present))
        return [(rows, columns) for columns in (np.flatnonzero(~holds), np.flatnonzero(holds)) if len(columns)]
    bits = np.packbits(np.vstack((present, holds)), axis=0)
    patterns, group = np.unique(bits, axis=1, return_inverse=True)
    several = [np.flatnonzero(group.ravel() == index) for index in range(patterns.shape[1])]
    return [(np.flatnonzero(present[:, columns[0]]), columns) for columns in several if present[:, columns[0]].any()]


def _place(samples: _Samples, grid: Grid, holds: bool) -> tuple[FloatArray, int, int]:
    """Values at the grid points (metrics, points), how many of these were measured, how many resampled."""
    taken, points = _one_sample_per_point(samples)
    placed = np.full((len(samples.values), grid.points), np.nan)
    placed[:, points] = samples.values[:, taken]
    unknown = np.setdiff1d(np.arange(grid.points), points)
    times = grid.first_ns + unknown * grid.interval_ns
    after = np.searchsorted(samples.ticks_ns, times)
    has_after = after < len(samples.ticks_ns)
    inside = (after > 0) & (has_after | holds)
    unknown, times, after, has_after = unknown[inside], times[inside], after[inside], has_after[inside]
    before, after = after - 1, np.minimum(after, len(samples.ticks_ns) - 1)
    since, until = times - samples.ticks_ns[before], np.abs(samples.ticks_ns[after] - times)
    is_near = samples.is_off_grid[before] & (since < grid.interval_ns)
    is_near |= has_after & samples.is_off_grid[after] & (until < grid.interval_ns)
    chosen = is_near & ((since if holds else since + until) <= NEIGHBOUR_INTERVALS * grid.interval_ns)
    unknown, before, after = unknown[chosen], before[chosen], after[chosen]
    resampled = samples.values[:, before]
    if not holds:
        share = since[chosen] / (since + until)[chosen]
        resampled += (samples.values[:, after] - resampled) * share
    placed[:, unknown] = resampled
    return placed, len(points), len(unknown)


def _one_sample_per_point(samples: _Samples) -> tuple[IntArray, IntArray]:
    """The sample nearest to each grid point, the earlier one of two equally near; rows and their points."""
    rows = np.flatnonzero(samples.is_on_grid)
    points = samples.nearest[rows]
    order = np.lexsort((rows, samples.distance[rows], points))
    points, first = np.unique(points[order], return_index=True)
    return rows[order][first], points


def _fill(aligned: FloatArray, fill_limit_intervals: float, holds: BoolArray) -> tuple[FloatArray, IntArray]:
    """Fill gaps of at most the limit from the known points around them; how many points of each metric."""
    series = aligned.T
    n_points = series.shape[1]
    metric, first, after = gaps(np.isnan(series))
    lengths = after - first
    fillable = (lengths <= fill_limit_intervals) & (lengths < n_points)
    metric, first, after, lengths = metric[fillable], first[fillable], after[fillable], lengths[fillable]
    if not len(lengths):
        return aligned, np.zeros(len(series), dtype=np.int64)
    places = np.repeat(metric, lengths)
    points = np.arange(len(places)) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
    low, high = np.repeat(first - 1, lengths), np.repeat(after, lengths)
    low, high = np.where(low < 0, high, low), np.where(high == n_points, low, high)
    share = np.where(holds[places], 0.0, (points - low) / np.maximum(high - low, 1))
    filled = series.copy()
    filled[places, points] = series[places, low] + (series[places, high] - series[places, low]) * share
    return filled.T, np.bincount(places, minlength=len(series))
