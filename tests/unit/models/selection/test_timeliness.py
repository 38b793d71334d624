"""Timeliness: what tells of a fault only when it is over is dropped."""

import numpy as np
import pytest

from pulsetrain.models.selection.timeliness import correlation, timeliness
from pulsetrain.schemas.arrays import FloatArray
from tests.unit.models.selection.selections import evidence, fault

NORMAL = np.random.default_rng(0).normal(size=(60, 3))
FIRST, LAST = 8, 11


def _around(late_by: int, last: int = LAST) -> FloatArray:
    """Windows around a fault from window 8 on: column 0 tells at once, column 1 later, column 2 never."""
    values = np.random.default_rng(5).normal(size=(32, 3))
    values[FIRST : last + 1, 0] += 20
    values[FIRST + late_by : last + 1 + late_by, 1] -= 20
    return values


def test_correlation_is_that_of_pearson_and_of_a_constant_none() -> None:
    values = np.column_stack([np.random.default_rng(1).normal(size=20), np.full(20, 3.0)])
    flags = np.arange(20) % 3 == 0

    expected = np.corrcoef(values[:, 0], flags)[0, 1]

    assert correlation(values, flags) == pytest.approx([expected, 0.0])


@pytest.mark.parametrize("late_by", [2, 3, 4])
def test_a_feature_that_comes_windows_later_is_dropped_with_its_correlation(late_by: int) -> None:
    values = _around(late_by)

    result = timeliness(evidence(NORMAL, [fault(values, FIRST, LAST)]))

    assert result.outcome.applied
    assert result.dropped.tolist() == [False, True, False]
    assert result.figures[0] > 0.7 >= result.figures[1]


@pytest.mark.parametrize("late_by", [0, 1])
def test_a_feature_that_comes_within_the_fault_stays(late_by: int) -> None:
    # Of 12 windows of the fault it tells in 11.
    result = timeliness(evidence(NORMAL, [fault(_around(late_by, FIRST + 11), FIRST, FIRST + 11)]))

    assert not result.dropped.any()


def test_a_feature_that_is_in_time_for_another_fault_stays() -> None:
    faults = [fault(_around(3), FIRST, LAST), fault(_around(0), FIRST, LAST)]

    assert not timeliness(evidence(NORMAL, faults)).dropped.any()


def test_a_label_that_comes_before_every_feature_is_not_believed() -> None:
    result = timeliness(evidence(NORMAL, [fault(_around(3)[:, [1, 1, 1]], FIRST, LAST)]))

    assert not result.outcome.applied
    assert not result.dropped.any()
    assert result.outcome.detail.startswith("0 of 1 faults")


@pytest.mark.parametrize(("begin", "end"), [(6, 32), (0, 14), (8, 12)])
def test_a_fault_without_windows_on_either_side_says_nothing(begin: int, end: int) -> None:
    values = _around(3)[begin:end]

    result = timeliness(evidence(NORMAL, [fault(values, FIRST - begin, LAST - begin)]))

    assert not result.outcome.applied
    assert result.outcome.detail == "none of 1 labelled faults has 3 windows, and 3 on either side"


def test_without_labels_it_says_so() -> None:
    result = timeliness(evidence(NORMAL))

    assert (result.outcome.applied, result.outcome.detail) == (False, "no fault is labelled")
