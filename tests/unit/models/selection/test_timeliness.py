"""Timeliness: what tells of faults only when they are over is dropped, and noise is not."""

from dataclasses import replace

import numpy as np
import pytest

from pulsetrain.models.selection.report import StepResult
from pulsetrain.models.selection.timeliness import correlation, timeliness
from pulsetrain.models.selection.windows import Evidence, Fault
from pulsetrain.schemas.arrays import FloatArray
from tests.unit.models.selection.selections import evidence, fault

COLUMNS = 4
METRICS = np.array([0, 1, 1, 2], dtype=np.int64)
NORMAL = np.random.default_rng(0).normal(size=(60, COLUMNS))
FIRST, LAST = 8, 11


def _around(seed: int, late_by: int, last: int = LAST) -> FloatArray:
    """Windows around a fault from window 8 on: column 0 tells at once, column 1 later, the others never."""
    values = np.random.default_rng(seed).normal(size=(32, COLUMNS))
    values[FIRST : last + 1, 0] += 20
    values[FIRST + late_by : last + 1 + late_by, 1] -= 20
    return values


def _faults(late_by: int, count: int = 3, last: int = LAST) -> list[Fault]:
    return [fault(_around(seed, late_by, last), FIRST, last) for seed in range(5, 5 + count)]


def _timeliness(faults: list[Fault]) -> StepResult:
    return timeliness(evidence(NORMAL, faults), METRICS)


def test_correlation_is_that_of_pearson_of_a_constant_none_and_of_a_gap_unknown() -> None:
    values = np.column_stack([np.random.default_rng(1).normal(size=20), np.full(20, 3.0), np.full(20, np.nan)])
    flags = np.arange(20) % 3 == 0

    expected = np.corrcoef(values[:, 0], flags)[0, 1]

    assert correlation(values, flags) == pytest.approx([expected, 0.0, np.nan], nan_ok=True)


@pytest.mark.parametrize("late_by", [2, 3, 4])
def test_a_feature_that_comes_windows_later_is_dropped_with_its_correlation(late_by: int) -> None:
    result = _timeliness(_faults(late_by))

    assert result.outcome.applied
    assert result.dropped.tolist() == [False, True, False, False]
    assert result.figures[0] > 0.7 >= result.figures[1]


def test_the_last_feature_of_a_metric_stays_however_late_it_is() -> None:
    result = timeliness(evidence(NORMAL, _faults(3)), np.arange(COLUMNS, dtype=np.int64))

    assert result.outcome.applied
    assert not result.dropped.any()


@pytest.mark.parametrize("late_by", [0, 1])
def test_a_feature_that_comes_within_the_fault_stays(late_by: int) -> None:
    # Of 12 windows of the fault it tells in 11.
    assert not _timeliness(_faults(late_by, last=FIRST + 11)).dropped.any()


def test_a_feature_that_is_late_for_two_faults_stays() -> None:
    assert not _timeliness(_faults(3, count=2)).dropped.any()

    result = _timeliness([*_faults(3, count=2), fault(_around(9, 16), FIRST, LAST)])

    assert result.outcome.applied
    assert not result.dropped.any()


def test_a_feature_that_is_in_time_for_another_fault_stays() -> None:
    assert not _timeliness([*_faults(3), fault(_around(9, 0), FIRST, LAST)]).dropped.any()


def test_a_feature_that_two_of_three_faults_lack_is_not_late() -> None:
    gaps = _faults(3)
    for one in gaps[:2]:
        one.values[FIRST + 4, 1] = np.nan

    result = _timeliness(gaps)

    assert result.outcome.applied
    assert not result.dropped.any()


def test_labels_that_come_before_every_feature_are_not_believed() -> None:
    early = [replace(each, values=each.values[:, [1, 1, 1, 1]]) for each in _faults(3)]

    result = _timeliness(early)

    assert not result.outcome.applied
    assert not result.dropped.any()
    assert result.outcome.detail.startswith("0 of 3 faults")


@pytest.mark.parametrize(("begin", "end"), [(6, 32), (0, 14), (8, 12)])
def test_faults_without_windows_on_either_side_say_nothing(begin: int, end: int) -> None:
    cut = [fault(each.values[begin:end], FIRST - begin, LAST - begin) for each in _faults(3)]

    result = _timeliness(cut)

    assert not result.outcome.applied
    assert result.outcome.detail.startswith("0 of 3 labelled faults have 3 windows that share no sample, and 3 on")


def test_windows_that_share_samples_do_not_count_twice() -> None:
    hopping = [
        replace(each, ends_ns=each.ends_ns // 3, first_end_ns=each.first_end_ns // 3, last_end_ns=each.last_end_ns // 3)
        for each in _faults(3)
    ]

    assert not _timeliness(hopping).outcome.applied


def _noise(seed: int, faults: int, *, is_heavy_tailed: bool) -> Evidence:
    """Windows of 30 that hop by 10 of 300 columns, of which the first alone tells of the faults."""
    random = np.random.default_rng(seed)

    def windows(count: int) -> FloatArray:
        size = (count + 2, 300)
        hops = random.standard_t(1.5, size=size) if is_heavy_tailed else random.normal(size=size)
        return (hops[:-2] + hops[1:-1] + hops[2:]) / 3

    def one() -> Fault:
        values = windows(42)
        values[15:27, 0] += 20 * values.std()
        return Fault(values, np.arange(42, dtype=np.int64) * 10 + 30, 180, 290)

    normal = windows(600)
    ends_ns = np.arange(600, dtype=np.int64) * 10 + 30
    return Evidence(normal, ends_ns, ["n/host"] * 600, 30, tuple(one() for _ in range(faults)))


@pytest.mark.parametrize("is_heavy_tailed", [False, True])
@pytest.mark.parametrize("faults", [3, 20, 64])
def test_pure_noise_loses_hardly_a_feature(faults: int, is_heavy_tailed: bool) -> None:
    dropped = [
        int(timeliness(_noise(seed, faults, is_heavy_tailed=is_heavy_tailed), np.arange(300) // 10).dropped.sum())
        for seed in range(4)
    ]

    # One family in a hundred should lose any, but of a dozen windows Student's t is not exact.
    assert sum(dropped) <= 4


def test_without_labels_it_says_so() -> None:
    result = _timeliness([])

    assert (result.outcome.applied, result.outcome.detail) == (False, "no fault is labelled")
