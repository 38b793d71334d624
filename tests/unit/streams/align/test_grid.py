"""Samples onto the grid, worked out by hand. Intervals are 1 s, the tolerance 5 ms, the fill limit 5 intervals."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.align.grid import Grid, Gridded, align

SECOND = 1_000_000_000
EPOCH = 1_800_000_000 * SECOND
TOLERANCE = 5_000_000
NAN = np.nan


def aligned(
    seconds: list[float], values: list[float] | FloatArray, points: int, fill_limit: float = 5, holds: bool = False
) -> Gridded:
    """Samples at some seconds on a grid of whole seconds from 0."""
    ticks = EPOCH + np.round(np.array(seconds) * 1000).astype(np.int64) * 1_000_000
    table = np.asarray(values, dtype=np.float64).reshape(len(seconds), -1 if seconds else 2)
    grid = Grid.between(EPOCH, EPOCH + points * SECOND, SECOND)
    return align(ticks, table, grid, TOLERANCE, fill_limit, np.full(table.shape[1], holds))


def counts(gridded: Gridded, column: int = 0) -> tuple[int, int, int]:
    return int(gridded.measured[column]), int(gridded.resampled[column]), int(gridded.filled[column])


def test_samples_within_the_tolerance_are_taken_as_they_are() -> None:
    # grid     0       1       2
    # sample   0.005   0.995   2.000
    gridded = aligned([0.005, 0.995, 2.0], [10.0, 20.0, 30.0], 3)
    np.testing.assert_array_equal(gridded.values[:, 0], [10.0, 20.0, 30.0])
    assert counts(gridded) == (3, 0, 0)


def test_a_point_between_samples_off_the_grid_is_resampled() -> None:
    # grid     0      1      2      3
    # sample     0.25   1.25   2.25   3.25        values 0, 4, 8, 12: 4 a second
    # point 0 has no sample before it: held from point 1
    gridded = aligned([0.25, 1.25, 2.25, 3.25], [0.0, 4.0, 8.0, 12.0], 4)
    np.testing.assert_allclose(gridded.values[:, 0], [3.0, 3.0, 7.0, 11.0], rtol=1e-12)
    assert counts(gridded) == (0, 3, 1)


def test_one_neighbour_off_the_grid_is_enough_to_resample() -> None:
    # grid     0      1      2      3
    # sample   0        1.006  2.0    3.0         point 1 lies at 1/1.006 of the way
    gridded = aligned([0.0, 1.006, 2.0, 3.0], [0.0, 1.006, 2.0, 3.0], 4)
    np.testing.assert_allclose(gridded.values[:, 0], [0.0, 1.0, 2.0, 3.0], rtol=1e-12)
    assert counts(gridded) == (3, 1, 0)


def test_samples_more_than_two_and_a_half_intervals_apart_are_no_neighbours() -> None:
    # grid     0      1      2      3
    # sample   0               2.4     3.0        2 is resampled, 1 is not: the sample off the grid is too far from it
    # sample   0                 2.6   3.0        0 and 2.6 are no neighbours: 1 and 2 are filled between 0 and 3
    near = aligned([0.0, 2.4, 3.0], [0.0, 2.4, 9.0], 4)
    assert counts(near) == (2, 1, 1)
    np.testing.assert_allclose(near.values[:, 0], [0.0, 1.0, 2.0, 9.0], rtol=1e-12)
    far = aligned([0.0, 2.6, 3.0], [0.0, 2.6, 9.0], 4)
    assert counts(far) == (2, 0, 2)
    np.testing.assert_allclose(far.values[:, 0], [0.0, 3.0, 6.0, 9.0], rtol=1e-12)


def test_a_metric_that_holds_has_the_value_of_the_sample_before_it_unless_that_is_too_old() -> None:
    # grid     0      1      2      3      4      5
    # sample     0.25   1.25          3.5                values 7, 8, 9
    # point 1: of 0.25; 2: of 1.25, 0.75 s old; 3: of 1.25, for 3.5 is near; 4: of 3.5
    # point 5: 3.5 is more than an interval away, so held from point 4 as filled; 0: as every edge, from point 1
    held = aligned([0.25, 1.25, 3.5], [7.0, 8.0, 9.0], 6, holds=True)
    np.testing.assert_array_equal(held.values[:, 0], [7, 7, 8, 8, 9, 9])
    assert counts(held) == (0, 4, 2)
    # grid     0      1      2      3
    # sample     0.3                3.2                  3 is 2.7 s after 0.3: too old to be held
    old = aligned([0.3, 3.2], [7.0, 9.0], 4, fill_limit=1, holds=True)
    np.testing.assert_array_equal(old.values[:, 0], [7, 7, NAN, NAN])
    assert counts(old) == (0, 1, 1)


def test_a_gap_in_a_metric_that_holds_is_filled_with_the_value_before_it() -> None:
    held = aligned([0.0, 1.0, 4.0], [31.0, 45.0, 79.0], 5, holds=True)
    np.testing.assert_array_equal(held.values[:, 0], [31, 45, 45, 45, 79])
    assert counts(held) == (3, 0, 2)


def test_metrics_of_one_source_are_held_or_interpolated_each_by_its_kind() -> None:
    ticks = EPOCH + np.array([0.5, 1.5, 2.5]) * SECOND
    values = np.array([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]])
    grid = Grid.between(EPOCH + SECOND, EPOCH + 3 * SECOND, SECOND)
    gridded = align(ticks.astype(np.int64), values, grid, TOLERANCE, 5, np.array([False, True]))
    np.testing.assert_array_equal(gridded.values, [[1, 0], [3, 2]])
    assert gridded.resampled.tolist() == [2, 2]


def test_a_missing_tick_between_samples_on_the_grid_is_filled_not_resampled() -> None:
    gridded = aligned([0.0, 2.0, 3.0], [0.0, 4.0, 6.0], 4)
    np.testing.assert_array_equal(gridded.values[:, 0], [0.0, 2.0, 4.0, 6.0])
    assert counts(gridded) == (3, 0, 1)


def test_a_gap_of_the_fill_limit_is_filled_and_a_longer_one_stays_missing() -> None:
    # grid     0  1  2  3  4  5  6          five points missing
    # grid     0  1  2  3  4  5  6  7       six points missing
    filled = aligned([0.0, 6.0], [0.0, 12.0], 7)
    np.testing.assert_array_equal(filled.values[:, 0], [0, 2, 4, 6, 8, 10, 12])
    assert counts(filled) == (2, 0, 5)
    gap = aligned([0.0, 7.0], [0.0, 14.0], 8)
    np.testing.assert_array_equal(gap.values[:, 0], [0, NAN, NAN, NAN, NAN, NAN, NAN, 14])
    assert counts(gap) == (2, 0, 0)


def test_at_the_edges_the_nearest_value_is_held_within_the_limit() -> None:
    held = aligned([5.0, 6.0], [1.0, 2.0], 12)
    np.testing.assert_array_equal(held.values[:, 0], [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    assert counts(held) == (2, 0, 10)
    long = aligned([6.0, 7.0], [1.0, 2.0], 8)
    np.testing.assert_array_equal(long.values[:, 0], [NAN] * 6 + [1, 2])


def test_two_values_far_apart_in_time_do_not_pass_for_neighbours() -> None:
    # 9, 9, 9, 7 at 0, 1, 2, 3 s has a slope; at 0, 1, 2, 3600 s it is a gap that nothing may be made of.
    dense = aligned([0, 1, 2, 3], [9, 9, 9, 7], 4)
    np.testing.assert_array_equal(dense.values[:, 0], [9, 9, 9, 7])
    sparse = aligned([0, 1, 2, 3600], [9, 9, 9, 7], 3601)
    assert np.isnan(sparse.values[3:3600, 0]).all()


def test_of_two_samples_near_one_point_the_nearest_is_taken_and_the_earlier_of_equals() -> None:
    assert aligned([0.0, 0.997, 1.001], [1, 2, 3], 2).values[1, 0] == 3
    assert aligned([0.0, 0.998, 1.002], [1, 2, 3], 2).values[1, 0] == 2


def test_each_metric_has_its_own_gaps() -> None:
    values = np.array([[1, NAN, NAN], [NAN, 2, NAN], [3, NAN, NAN]])
    for seconds in ([0.0, 1.0, 2.0], [0.0, 1.2, 2.0]):  # on the grid, and with one sample beside it
        gridded = aligned(seconds, values, 3)
        np.testing.assert_array_equal(gridded.values[:, 0], [1, 2, 3])
        assert counts(gridded, 0) == (2, 0, 1)
        assert np.isnan(gridded.values[:, 2]).all()
        assert counts(gridded, 2) == (0, 0, 0)
    on_grid = aligned([0.0, 1.0, 2.0], values, 3)
    np.testing.assert_array_equal(on_grid.values[:, 1], [2, 2, 2])
    assert counts(on_grid, 1) == (1, 0, 2)


def test_no_samples_make_no_values() -> None:
    gridded = aligned([], np.empty((0, 2)), 4)
    assert np.isnan(gridded.values).all()
    assert gridded.values.shape == (4, 2)
    assert counts(gridded, 1) == (0, 0, 0)


def test_the_grid_of_a_slow_source_is_the_multiples_of_its_interval() -> None:
    # window [5, 35): the ticks of a 15 s scrape are 15 and 30
    grid = Grid.between(EPOCH + 5 * SECOND, EPOCH + 35 * SECOND, 15 * SECOND)
    assert (grid.first_ns, grid.points) == (EPOCH + 15 * SECOND, 2)
    assert Grid.between(EPOCH + 5 * SECOND, EPOCH + 35 * SECOND, 60 * SECOND).points == 0


def test_rates_have_no_point_at_the_start() -> None:
    grid = Grid.between(EPOCH, EPOCH + 30 * SECOND, SECOND).without_first()
    assert (grid.first_ns, grid.points) == (EPOCH + SECOND, 29)


def test_an_absurdly_short_interval_costs_no_memory() -> None:
    grid = Grid.between(EPOCH, EPOCH + 30 * SECOND, 1)
    tracemalloc.start()
    gridded = align(np.array([EPOCH, EPOCH + SECOND]), np.ones((2, 1000)), grid, TOLERANCE, 5)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 1_000_000
    assert gridded.values.shape == (0, 1000)
    assert counts(gridded) == (2, 0, 0)


def test_one_metric_whose_samples_cannot_cover_a_grid_of_a_million_points_has_no_values() -> None:
    grid = Grid.between(EPOCH, EPOCH + 30 * SECOND, 30_000)
    assert grid.points == 1_000_000
    gridded = align(np.array([EPOCH]), np.ones((1, 1)), grid, TOLERANCE, 5)
    assert gridded.values.shape == (0, 1)
    assert counts(gridded) == (1, 0, 0)


@pytest.mark.parametrize("interval_ns", [1, 7, 10**9, 10**18, 5 * 10**18, 2**63 - 1])
def test_any_interval_is_survived(interval_ns: int) -> None:
    grid = Grid.between(EPOCH + 5 * SECOND, EPOCH + 35 * SECOND, interval_ns)
    for some in (grid, grid.without_first()):
        align(EPOCH + np.array([6, 7, 34]) * SECOND, np.ones((3, 2)), some, TOLERANCE, 5)


seconds_lists = st.lists(st.integers(0, 9_999), min_size=1, max_size=30, unique=True).map(
    lambda milliseconds: [millisecond / 1000 for millisecond in sorted(milliseconds)]
)


@given(seconds_lists, st.data())
def test_every_point_is_accounted_for_and_no_value_leaves_the_range_of_its_neighbours(
    seconds: list[float], data: st.DataObject
) -> None:
    masks = st.lists(st.booleans(), min_size=len(seconds), max_size=len(seconds))
    values = np.array([[3 * second, 7.0] for second in seconds])
    values[data.draw(masks), 0] = NAN
    values[data.draw(masks), 1] = NAN
    gridded = aligned(seconds, values, 10)
    is_known = ~np.isnan(gridded.values)
    np.testing.assert_array_equal(is_known.sum(axis=0), gridded.measured + gridded.resampled + gridded.filled)
    assert np.all(np.diff(gridded.values[is_known[:, 0], 0]) >= -1e-9)
    np.testing.assert_array_equal(gridded.values[is_known[:, 1], 1], 7.0)
