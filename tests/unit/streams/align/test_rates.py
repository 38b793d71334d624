"""Counters to rates, worked out by hand."""

import numpy as np

from pulsetrain.streams.align.rates import counter_columns, rates

SECOND = 1_000_000_000


def test_a_rate_is_the_growth_over_the_real_time_between_two_ticks() -> None:
    # tick      0     0.1    0.202   0.3 s
    # counter   10    25     25.51   31
    ticks = np.array([0, 100, 202, 300]) * 1_000_000
    found = rates(ticks, np.array([[10.0], [25.0], [25.51], [31.0]]), SECOND // 10)
    np.testing.assert_allclose(found[:, 0], [150.0, 5.0, 56.02040816326531], rtol=1e-12)


def test_a_counter_that_goes_down_was_reset_and_has_no_rate_there() -> None:
    # 2^32 - 1 to 5 could be a wrap of 32 bits or a reset: neither -4294967290 nor 6 is measured.
    found = rates(np.arange(4) * SECOND, np.array([[1.0], [4294967295.0], [5.0], [8.0]]), SECOND)
    np.testing.assert_array_equal(found[:, 0], [4294967294.0, np.nan, 3.0])


def test_no_rate_reaches_across_more_than_two_and_a_half_intervals() -> None:
    ticks = np.array([0.0, 2.5, 5.1, 6.1]) * SECOND
    found = rates(ticks.astype(np.int64), np.array([[0.0], [5.0], [10.0], [11.0]]), SECOND)
    np.testing.assert_allclose(found[:, 0], [2.0, np.nan, 1.0], rtol=1e-12)


def test_a_missing_sample_is_stepped_over_where_the_next_is_near_enough() -> None:
    # tick   0    1    2    3    4    5    6
    # a      0    -    4    5    -    -    8      4 over 2 s; nothing over 3 s
    # b      0    1    2    3    4    5    6
    values = np.array([[0, 0], [np.nan, 1], [4, 2], [5, 3], [np.nan, 4], [np.nan, 5], [8, 6]], dtype=np.float64)
    found = rates(np.arange(7) * SECOND, values, SECOND)
    np.testing.assert_array_equal(found[:, 0], [np.nan, 2, 1, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(found[:, 1], np.ones(6))


def test_one_sample_gives_no_rate() -> None:
    assert rates(np.array([0]), np.array([[5.0, 6.0]]), SECOND).shape == (0, 2)
    assert rates(np.empty(0, dtype=np.int64), np.empty((0, 2)), SECOND).shape == (0, 2)


def test_a_counter_that_is_missing_throughout_has_no_rate() -> None:
    assert np.isnan(rates(np.arange(3) * SECOND, np.full((3, 1), np.nan), SECOND)).all()


def test_counters_are_told_by_the_catalogue_and_unknown_metrics_are_gauges() -> None:
    metrics = ("system.linux.context_switches", "system.memory.usage{system.memory.state=used}", "acme.flux")
    assert counter_columns(metrics).tolist() == [True, False, False]
