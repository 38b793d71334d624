"""Shares of CPU time from /proc/stat."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.agents.collectors.cpu import (
    StatReader,
    busy_shares,
    increments,
    mode_shares,
    parse_counts,
    parse_cpu_times,
)

RECORDED = Path(__file__).parents[3] / "data/proc/epyc_vm/proc/stat"
MODES = ("user", "nice", "system", "idle", "iowait", "interrupt", "softirq", "steal", "guest")

TIMES = st.lists(st.integers(0, 2**40).map(float), min_size=10, max_size=10)


IDLE = "0 0 0 0 0 0 0 0 0 0"


def stat(*lines: str) -> bytes:
    return "\n".join([f"cpu  {IDLE}", *lines, ""]).encode()


def shares_between(before: str, after: str) -> dict[str, float]:
    reader = StatReader()
    metrics = reader.layout(f"cpu  {before}\n".encode())
    return dict(zip(metrics, reader.values([f"cpu  {after}\n".encode()])[0], strict=True))


def test_the_recorded_stat_file_gives_the_numbers_that_stand_in_it() -> None:
    logical_numbers, ticks = parse_cpu_times(RECORDED.read_bytes())
    assert logical_numbers.tolist() == [-1, 0, 1]
    assert ticks[0].tolist() == [166433, 17889, 12426, 267415, 697, 0, 225, 207, 0, 0]
    assert ticks[2].tolist() == [94205, 7765, 7455, 122524, 618, 0, 160, 107, 0, 0]
    # Context switches, interrupts, processes, running, blocked, softirqs; then softirqs by type.
    counts = [1811773, 1101755, 27608, 6, 0, 684393]
    softirqs = [0, 107507, 7, 99386, 100394, 0, 137, 128457, 14, 248491]
    assert parse_counts(RECORDED.read_bytes()) == counts + softirqs


def test_contents_that_are_read_together_give_what_they_give_one_after_another() -> None:
    contents = [stat(f"cpu0 {ticks} 0 0 {2 * ticks} 0 0 0 0 0 0", "ctxt 5") for ticks in (1, 3, 4)]
    # A CPU comes and goes in between.
    contents.insert(1, stat("cpu0 2 0 0 2 0 0 0 0 0 0", "cpu1 2 0 0 2 0 0 0 0 0 0", "ctxt 4"))
    together, alone = StatReader(), StatReader()
    assert together.layout(contents[0]) == alone.layout(contents[0])
    rows = together.values(contents)
    np.testing.assert_array_equal(rows, [alone.values([content])[0] for content in contents])
    np.testing.assert_allclose([row[10] for row in rows], [math.nan, 1.0, 0.2, 1 / 3])


def test_shares_are_increments_divided_by_the_time_that_passed() -> None:
    # 100 ticks pass: 30 user, 5 nice, 10 system, 40 idle, 8 iowait, 1 irq, 2 softirq, 4 steal.
    shares = shares_between("100 100 100 100 100 100 100 100 0 0", "130 105 110 140 108 101 102 104 0 0")
    by_mode = [shares[f"system.cpu.utilization{{cpu.mode={mode}}}"] for mode in MODES]
    assert by_mode == pytest.approx([0.30, 0.05, 0.10, 0.40, 0.08, 0.01, 0.02, 0.04, 0.0])
    assert shares["system.cpu.utilization"] == pytest.approx(0.52)


def test_guest_time_is_part_of_user_time_and_not_added_twice() -> None:
    # 50 ticks: 40 user of which 30 ran a guest, 10 nice of which 5 ran a guest.
    shares = mode_shares([40, 10, 0, 0, 0, 0, 0, 0, 30, 5])
    assert dict(zip(MODES, shares, strict=True)) == pytest.approx(
        {"user": 0.2, "nice": 0.1, "guest": 0.7} | dict.fromkeys(MODES[2:8], 0.0)
    )


def test_steal_and_iowait_that_go_backwards_count_as_nothing_passed() -> None:
    shares = shares_between("100 0 0 100 500 0 0 900 0 0", "110 0 0 110 400 0 0 700 0 0")
    assert shares["system.cpu.utilization{cpu.mode=user}"] == pytest.approx(0.5)
    assert shares["system.cpu.utilization{cpu.mode=idle}"] == pytest.approx(0.5)
    assert shares["system.cpu.utilization{cpu.mode=steal}"] == 0.0
    assert shares["system.cpu.utilization{cpu.mode=iowait}"] == 0.0


@given(TIMES, TIMES)
def test_shares_lie_between_0_and_1_and_sum_to_1_whatever_the_counters_do(
    before: list[float], after: list[float]
) -> None:
    passed = increments(np.array([before]), np.array([after]))
    assert passed.min() >= 0
    shares, busy = mode_shares(passed[0].tolist()), busy_shares(passed)[0]
    if passed[0, :8].sum() == 0:
        assert all(math.isnan(share) for share in shares)
        assert math.isnan(busy)
    else:
        assert all(0.0 <= share <= 1.0 for share in shares)
        assert math.fsum(shares) == pytest.approx(1.0)
        assert 0.0 <= busy <= 1.0


def test_shares_are_missing_when_no_time_has_passed() -> None:
    shares = shares_between("5 0 0 5 0 0 0 0 0 0", "5 0 0 5 0 0 0 0 0 0")
    assert math.isnan(shares["system.cpu.utilization{cpu.mode=user}"])
    assert math.isnan(shares["system.cpu.utilization"])


def test_a_cpu_that_goes_offline_is_missing_and_the_others_stay() -> None:
    reader = StatReader()
    metrics = reader.layout(stat(f"cpu0 {IDLE}", f"cpu1 {IDLE}"))
    values = dict(zip(metrics, reader.values([stat("cpu0 1 0 0 3 0 0 0 0 0 0")])[0], strict=True))
    assert values["system.cpu.utilization{cpu.logical_number=0}"] == 0.25
    assert math.isnan(values["system.cpu.utilization{cpu.logical_number=1}"])


def test_columns_that_an_old_kernel_lacks_have_not_passed() -> None:
    assert parse_cpu_times(b"cpu 1 2 3 4\n").ticks.tolist() == [[1, 2, 3, 4, 0, 0, 0, 0, 0, 0]]


def test_columns_that_kernels_to_come_may_add_are_ignored() -> None:
    assert parse_cpu_times(b"cpu  1 2 3 4 5 6 7 8 9 10 11 12\ncpu0 1 2 3 4 5 6 7 8 9 10 11 12\n").ticks.shape == (2, 10)


@pytest.mark.parametrize(
    "content", [b"", b"intr 5\n", b"cpu  1 x 3 4\n", b"cpu  1 2\ncpu0 1 2 3\n", b"cpu  1\ncpux 1\n", b"\xff\xfe"]
)
def test_a_stat_file_of_another_form_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no "):
        parse_cpu_times(content)


def test_a_cpu_that_comes_later_is_left_out_and_one_that_returns_counts_from_there() -> None:
    reader = StatReader()
    metrics = reader.layout(stat(f"cpu0 {IDLE}", f"cpu2 {IDLE}"))
    reader.values([stat(f"cpu0 {IDLE}")])
    reader.values([stat(f"cpu0 {IDLE}", "cpu1 9 0 0 9 0 0 0 0 0 0", "cpu2 5 0 0 5 0 0 0 0 0 0")])
    last = stat("cpu0 1 0 0 0 0 0 0 0 0 0", "cpu2 6 0 0 8 0 0 0 0 0 0")
    values = dict(zip(metrics, reader.values([last])[0], strict=True))
    assert values["system.cpu.utilization{cpu.logical_number=0}"] == 1.0
    assert values["system.cpu.utilization{cpu.logical_number=2}"] == 0.25
    assert "system.cpu.utilization{cpu.logical_number=1}" not in values


def test_a_count_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no numbers"):
        parse_counts(b"cpu  1 2 3 4\nctxt x\n")
