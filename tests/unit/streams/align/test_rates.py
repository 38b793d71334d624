"""Counters to rates, worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.align.columns import metric_columns
from pulsetrain.streams.align.rates import rates

SECOND = 1_000_000_000
EACH_SECOND = np.arange(6) * SECOND
NAN = np.nan


def rates_of(
    ticks_ns: IntArray,
    values: FloatArray,
    interval_ns: int,
    wraps_at: float = np.inf,
    reboot_rows: tuple[int, ...] = (),
) -> FloatArray:
    several = np.full(values.shape[1], wraps_at)
    return rates(ticks_ns, values, interval_ns, several, np.array(reboot_rows, dtype=np.int64))


def rates_each_second(*counter: float, wraps_at: float = np.inf, reboot_rows: tuple[int, ...] = ()) -> list[float]:
    """The rates of one counter that is read each second."""
    values = np.array(counter, dtype=np.float64)[:, None]
    return list(rates_of(EACH_SECOND[: len(counter)], values, SECOND, wraps_at, reboot_rows)[:, 0])


def test_a_rate_is_the_growth_over_the_real_time_between_two_ticks() -> None:
    # tick      0     0.1    0.202   0.3 s
    # counter   10    25     25.51   31
    ticks = np.array([0, 100, 202, 300]) * 1_000_000
    found = rates_of(ticks, np.array([[10.0], [25.0], [25.51], [31.0]]), SECOND // 10)
    np.testing.assert_allclose(found[:, 0], [150.0, 5.0, 56.02040816326531], rtol=1e-12)


def test_a_counter_that_wraps_has_a_rate_across_the_wrap() -> None:
    # 4,294,967,000 + 296 = 2^32, and 14 more: 310 in the second in which it wraps
    found = rates_each_second(4294966400, 4294966700, 4294967000, 14, 314, 614, wraps_at=2.0**32)
    assert found == [300, 300, 310, 300, 300]


def test_an_energy_counter_wraps_at_the_range_that_its_machine_states() -> None:
    # max_energy_range_uj 262143328850; 262143000000, then 150000: (262143328850 - 262143000000) + 150000 = 478850 uJ
    found = rates_each_second(262142.52, 262143.0, 0.15, 0.63, wraps_at=262143.32885)
    np.testing.assert_allclose(found, [0.48, 0.47885, 0.48], rtol=1e-9)


def test_a_sum_of_counters_goes_down_by_the_range_of_the_one_that_wraps() -> None:
    # three of 32 bits that stand at 4294967200, 10^9 and 2 * 10^9, and grow by 100, 0 and 0 a second
    total = 4294967200 + 3e9
    found = rates_each_second(total - 100, total, total + 100 - 2.0**32, total + 200 - 2.0**32, wraps_at=2.0**32)
    assert found == [100, 100, 100]


def test_a_counter_that_goes_down_far_from_its_range_was_reset_and_has_grown_by_its_value_since() -> None:
    # as a wrap it would have grown by 4,294,965,716
    assert rates_each_second(1000, 1300, 1600, 20, 320, wraps_at=2.0**32) == [300, 300, 20, 300]
    # grows by a quarter of its range a second: across a wrap it would be 2.3e9, which is too much to tell
    assert rates_each_second(1e9, 2e9, 3e9, 1e9, 2e9, wraps_at=2.0**32) == [1e9, 1e9, 1e9, 1e9]


@pytest.mark.parametrize(
    "counter",
    [
        (4294966400, 4294966700, 4294967000, 8000, 8300),  # 8,296 or 8,000 in a second, where it grows by 300
        (4294966400, 4294966400, 4294966400, 14, 14),  # it stands still before and after
        (999_980, 999_990, 1_000_000, 999_990, 1_000_000),  # went back a little; from 0 it would be 999,990
    ],
)
def test_a_counter_whose_growth_would_be_out_of_proportion_has_no_rate_there(counter: tuple[float, ...]) -> None:
    found = rates_each_second(*counter, wraps_at=2.0**32)
    assert np.isnan(found[2])
    assert not np.isnan(found[:2] + found[3:]).any()


def test_a_counter_of_unknown_range_never_wraps() -> None:
    # 2^32 - 1 to 5 looks like a wrap of 32 bits, but nothing says so: it has grown by 5 since it was reset.
    assert rates_each_second(4294967289, 4294967295, 5, 8) == [6, 5, 3]


def test_with_no_rate_beside_it_nothing_tells_a_wrap() -> None:
    assert np.isnan(rates_each_second(4294967290, 5, wraps_at=2.0**32)).all()


def test_a_wrap_is_seen_across_a_missing_sample_too() -> None:
    found = rates_each_second(4294967000, 4294967200, NAN, 104, 304, wraps_at=2.0**32)
    np.testing.assert_array_equal(found, [200, NAN, 100, 200])


def test_after_a_reboot_there_is_no_rate_even_where_the_counter_has_come_further() -> None:
    assert np.isnan(rates_each_second(10, 20, 500, 510, reboot_rows=(2,))[1])
    found = rates_each_second(10, 20, NAN, 500, 510, 520, reboot_rows=(2,))
    np.testing.assert_array_equal(found, [10, NAN, NAN, 10, 10])
    # just below 2^32, and below 2^32 again after the reboot: no wrap either
    found = rates_each_second(4294966700, 4294967000, 14, 314, wraps_at=2.0**32, reboot_rows=(2,))
    np.testing.assert_array_equal(found, [300, NAN, 300])


def test_growth_adds_up_across_a_reset_and_across_a_value_that_was_not_recorded() -> None:
    assert rates_each_second(10, 25, 3, 8) == [15, 3, 5]
    np.testing.assert_array_equal(rates_each_second(10, NAN, 12), [NAN, 1])  # 2 in two seconds


def test_no_rate_reaches_across_more_than_two_and_a_half_intervals() -> None:
    ticks = np.array([0.0, 2.5, 5.1, 6.1]) * SECOND
    found = rates_of(ticks.astype(np.int64), np.array([[0.0], [5.0], [10.0], [11.0]]), SECOND)
    np.testing.assert_allclose(found[:, 0], [2.0, np.nan, 1.0], rtol=1e-12)


def test_a_missing_sample_is_stepped_over_where_the_next_is_near_enough() -> None:
    # tick   0    1    2    3    4    5    6
    # a      0    -    4    5    -    -    8      4 over 2 s; nothing over 3 s
    # b      0    1    2    3    4    5    6
    values = np.array([[0, 0], [np.nan, 1], [4, 2], [5, 3], [np.nan, 4], [np.nan, 5], [8, 6]], dtype=np.float64)
    found = rates_of(np.arange(7) * SECOND, values, SECOND)
    np.testing.assert_array_equal(found[:, 0], [np.nan, 2, 1, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(found[:, 1], np.ones(6))


@given(st.lists(st.tuples(st.integers(1, 4_000), st.none() | st.integers(0, 100), st.booleans()), min_size=2))
def test_each_rate_is_against_the_last_sample_of_the_same_boot_that_is_near_enough(
    rows: list[tuple[int, int | None, bool]],
) -> None:
    # each row: milliseconds since the row before, growth or a missing sample, whether it begins another boot
    ticks = np.cumsum([apart for apart, _, _ in rows]) * 1_000_000
    counter = np.cumsum([growth or 0 for _, growth, _ in rows]).astype(np.float64)
    counter[[growth is None for _, growth, _ in rows]] = NAN
    reboot_rows = tuple(row for row, (_, _, reboots) in enumerate(rows) if reboots and row)
    expected = []
    for row in range(1, len(rows)):
        known = [before for before in range(row) if not np.isnan(counter[before])]
        rate = NAN
        if known and not any(known[-1] < reboot <= row for reboot in reboot_rows):
            apart = int(ticks[row] - ticks[known[-1]])
            rate = (counter[row] - counter[known[-1]]) / (apart / SECOND) if apart <= 2.5 * SECOND else NAN
        expected.append(rate)
    found = rates_of(ticks, counter[:, None], SECOND, reboot_rows=reboot_rows)
    np.testing.assert_array_equal(found[:, 0], expected)


def test_one_sample_gives_no_rate() -> None:
    assert rates_of(np.array([0]), np.array([[5.0, 6.0]]), SECOND).shape == (0, 2)
    assert rates_of(np.empty(0, dtype=np.int64), np.empty((0, 2)), SECOND).shape == (0, 2)


def test_a_counter_that_is_missing_throughout_has_no_rate() -> None:
    assert np.isnan(rates_of(np.arange(3) * SECOND, np.full((3, 1), np.nan), SECOND)).all()


def test_counters_ranges_and_gauges_that_hold_are_told_by_the_catalogue() -> None:
    columns = metric_columns(
        (
            "system.linux.context_switches",
            "system.memory.usage{system.memory.state=used}",
            "acme.flux",
            "system.disk.io_time",
            "hw.gpu.last_xid",
        )
    )
    assert columns.counter_names == ("system.linux.context_switches", "system.disk.io_time")
    assert columns.counters.tolist() == [0, 3]
    assert columns.wraps_at.tolist() == [np.inf, 4294967.296]  # 2^32 ms
    assert columns.gauge_names == ("system.memory.usage{system.memory.state=used}", "acme.flux", "hw.gpu.last_xid")
    assert columns.gauges.tolist() == [1, 2, 4]
    assert columns.holds.tolist() == [False, False, True]
