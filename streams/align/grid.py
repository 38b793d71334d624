"""Samples of one source onto the grid of its interval; what was not measured is made up within stated limits.

The grid of a source is the multiples of its interval since the Unix epoch, as agents tick. A grid point is

- measured: a sample lies within the tolerance, and is taken as it is;
- resampled: it lies on the line between the samples before and after it, which are neighbours, and at least one of
  them is a sample off the grid nearer than one interval;
- filled: a gap of at most the fill limit, on the line between the grid points around it, or at an edge of the window
  held from the nearest one;
- missing otherwise.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.align.rates import NEIGHBOUR_INTERVALS

BoolArray = npt.NDArray[np.bool_]

MAX_SPARSE_CELLS = 1_000_000
"""Above this many points x metrics, a grid that its samples can't cover is not filled in at all."""


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
        return Grid(self.first_ns + self.interval_ns, self.interval_ns, max(0, self.points - 1))

    def nearest(self, ticks_ns: IntArray) -> tuple[IntArray, IntArray]:
        """The number of the nearest grid point of each tick, which may lie outside, and the distance to it."""
        points = np.floor_divide(ticks_ns - self.first_ns + self.interval_ns // 2, self.interval_ns)
        return points, np.abs(ticks_ns - (self.first_ns + points * self.interval_ns))


@dataclass(frozen=True, slots=True)
class Gridded:
    """Values (points, metrics), and how many points of each metric came about how, each (metrics,)."""

    values: FloatArray
    measured: IntArray
    resampled: IntArray
    filled: IntArray


def align(
    ticks_ns: IntArray, values: FloatArray, grid: Grid, tolerance_ns: int, fill_limit_intervals: float
) -> Gridded:
    """Bring samples (ticks, metrics), NaN for missing, onto the grid; ticks ascend.

    Metrics with samples at the same ticks are aligned together. A large grid with so few samples that no metric can
    be without a gap (a source that claims a far too short interval) has no values, shape (0, metrics), and only what
    was measured is counted; so memory stays in proportion to what was sent.
    """
    n_metrics = values.shape[1]
    coverable = (len(ticks_ns) + 1) * (fill_limit_intervals + 4)
    if grid.points > coverable and grid.points * n_metrics > MAX_SPARSE_CELLS:
        return _measured_only(ticks_ns, values, grid, tolerance_ns)
    gridded = Gridded(
        np.full((grid.points, n_metrics), np.nan),
        np.zeros(n_metrics, dtype=np.int64),
        np.zeros(n_metrics, dtype=np.int64),
        np.zeros(n_metrics, dtype=np.int64),
    )
    if not grid.points or not len(ticks_ns):
        return gridded
    present = ~np.isnan(values)
    for rows, columns in _alike(present):
        _align_alike(
            ticks_ns[rows], values[rows][:, columns], grid, tolerance_ns, fill_limit_intervals, gridded, columns
        )
    return gridded


def _measured_only(ticks_ns: IntArray, values: FloatArray, grid: Grid, tolerance_ns: int) -> Gridded:
    _, distance = grid.nearest(ticks_ns)
    measured = np.count_nonzero(~np.isnan(values[distance <= tolerance_ns]), axis=0)
    nothing = np.zeros(values.shape[1], dtype=np.int64)
    return Gridded(np.empty((0, values.shape[1])), measured, nothing, nothing)


def _alike(present: BoolArray) -> list[tuple[BoolArray, IntArray]]:
    """Metrics that have samples at the same ticks: which rows, which columns."""
    if present.all():
        return [(present[:, 0], np.arange(present.shape[1]))]
    patterns, group = np.unique(np.packbits(present, axis=0), axis=1, return_inverse=True)
    columns_of = [np.flatnonzero(group.ravel() == index) for index in range(patterns.shape[1])]
    return [(present[:, columns[0]], columns) for columns in columns_of if present[:, columns[0]].any()]


def _align_alike(
    ticks_ns: IntArray,
    values: FloatArray,
    grid: Grid,
    tolerance_ns: int,
    fill_limit_intervals: float,
    out: Gridded,
    columns: IntArray,
) -> None:
    nearest, distance = grid.nearest(ticks_ns)
    on_grid = (distance <= tolerance_ns) & (nearest >= 0) & (nearest < grid.points)
    taken, points = _one_sample_per_point(nearest, distance, np.flatnonzero(on_grid))
    aligned = np.full((grid.points, values.shape[1]), np.nan)
    aligned[points] = values[taken]
    known = np.zeros(grid.points, dtype=np.bool_)
    known[points] = True
    out.measured[columns] = len(points)
    if len(points) < grid.points:
        between = _resample(ticks_ns, values, grid, distance > tolerance_ns, aligned, known)
        out.resampled[columns] = between
        out.filled[columns] = _fill(aligned, known, fill_limit_intervals)
    out.values[:, columns] = aligned


def _one_sample_per_point(nearest: IntArray, distance: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """The sample nearest to each grid point, the earlier one of two equally near; rows and their points."""
    points = nearest[rows]
    if len(points) > 1 and bool((points[1:] == points[:-1]).any()):
        order = np.lexsort((rows, distance[rows], points))
        points, first = np.unique(points[order], return_index=True)
        rows = rows[order][first]
    return rows, points


def _resample(
    ticks_ns: IntArray, values: FloatArray, grid: Grid, off_grid: BoolArray, aligned: FloatArray, known: BoolArray
) -> int:
    """Interpolate unknown points between neighbouring samples; how many."""
    points = np.flatnonzero(~known)
    times = grid.first_ns + points * grid.interval_ns
    after = np.searchsorted(ticks_ns, times)
    inside = (after > 0) & (after < len(ticks_ns))
    points, times, after = points[inside], times[inside], after[inside]
    before = after - 1
    since, until = times - ticks_ns[before], ticks_ns[after] - times
    near = (off_grid[before] & (since < grid.interval_ns)) | (off_grid[after] & (until < grid.interval_ns))
    chosen = near & (since + until <= NEIGHBOUR_INTERVALS * grid.interval_ns)
    points, before, after = points[chosen], before[chosen], after[chosen]
    share = (since[chosen] / (since + until)[chosen])[:, None]
    aligned[points] = values[before] + (values[after] - values[before]) * share
    known[points] = True
    return len(points)


def _fill(aligned: FloatArray, known: BoolArray, fill_limit_intervals: float) -> int:
    """Fill gaps of at most the limit from the known points around them; how many points."""
    points = np.arange(len(known))
    before = np.maximum.accumulate(np.where(known, points, -1))
    after = np.minimum.accumulate(np.where(known, points, len(known))[::-1])[::-1]
    fillable = ~known & (after - before - 1 <= fill_limit_intervals) & known.any()
    points, before, after = points[fillable], before[fillable], after[fillable]
    before = np.where(before < 0, after, before)
    after = np.where(after == len(known), before, after)
    share = ((points - before) / np.maximum(after - before, 1))[:, None]
    aligned[points] = aligned[before] + (aligned[after] - aligned[before]) * share
    return len(points)
