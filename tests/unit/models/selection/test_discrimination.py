"""Discrimination: of the metrics that labelled faults touched, only the features that tell stay."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import f_oneway

from pulsetrain.models.selection.discrimination import discrimination
from pulsetrain.models.selection.windows import Fault
from pulsetrain.schemas.arrays import FloatArray
from tests.unit.models.selection.selections import evidence, fault

METRICS = np.array([0, 0, 1, 1], dtype=np.int64)


def _fault(seed: int, *columns: int, windows: int = 6) -> FloatArray:
    """Six windows, the middle four of a fault of 20 sigma in some columns."""
    values = np.random.default_rng(seed).normal(size=(windows, 4))
    values[1:-1, columns] += 20
    return values


NORMAL = np.random.default_rng(0).normal(size=(60, 4))


def test_a_feature_that_tells_stays_and_its_silent_neighbour_goes() -> None:
    faults = [fault(_fault(seed, 0), 1, 4) for seed in range(1, 4)]

    result = discrimination(evidence(NORMAL, faults), METRICS)

    assert result.outcome.applied
    assert result.outcome.detail == "60 normal windows and 12 of 3 faults"
    assert result.dropped.tolist() == [False, True, False, False]
    expected = f_oneway(NORMAL[:, 0], *(_fault(seed, 0)[1:5, 0] for seed in range(1, 4))).statistic
    assert result.figures[0] == pytest.approx(expected)


def test_a_feature_that_tells_of_one_fault_in_three_stays() -> None:
    faults = [fault(_fault(1, 0), 1, 4), fault(_fault(2, 1), 1, 4), fault(_fault(3, 1), 1, 4)]

    assert not discrimination(evidence(NORMAL, faults), METRICS).dropped.any()


def test_a_metric_that_no_labelled_fault_has_touched_keeps_its_features() -> None:
    faults = [fault(_fault(seed, 0, 1), 1, 4) for seed in range(1, 4)]

    result = discrimination(evidence(NORMAL, faults), METRICS)

    assert not result.dropped.any()
    assert (result.figures[2:] < 10).all()


def test_without_labels_nothing_is_dropped_and_it_says_so() -> None:
    result = discrimination(evidence(NORMAL), METRICS)

    assert not result.outcome.applied
    assert not result.dropped.any()
    assert result.outcome.detail == "no fault is labelled"


def test_two_faults_are_too_few_to_tell_a_fault_from_a_moment() -> None:
    faults = [fault(_fault(seed, 0), 1, 4) for seed in range(1, 3)]

    result = discrimination(evidence(NORMAL, faults), METRICS)

    assert not result.outcome.applied
    assert result.outcome.detail.startswith("2 of 2 labelled faults have 3 windows that share no sample, and 60 normal")


def _hopping(seed: int) -> Fault:
    """A fault whose four windows of 30 hop by 10: the first and the last share no sample."""
    one = fault(_fault(seed, 0), 1, 4)
    return replace(one, ends_ns=np.array([20, 30, 40, 50, 60, 70]), first_end_ns=30, last_end_ns=60)


def test_windows_that_share_samples_do_not_count_twice() -> None:
    result = discrimination(evidence(NORMAL, [_hopping(seed) for seed in range(1, 4)]), METRICS)

    assert not result.outcome.applied
    assert result.outcome.detail.startswith("0 of 3 labelled faults have 3 windows that share no sample")


def test_faults_without_windows_do_not_count() -> None:
    gone = [replace(fault(_fault(seed, 0), 1, 4), first_end_ns=-2, last_end_ns=-1) for seed in range(1, 4)]

    result = discrimination(evidence(NORMAL, gone), METRICS)

    assert not result.outcome.applied
    assert result.outcome.detail.startswith("0 of 3 labelled faults have 3 windows")


def test_a_fault_has_no_say_in_a_feature_that_its_windows_lack() -> None:
    # Of column 1 two faults have no window and two have two, which are too few for the spread within.
    faults = [fault(_fault(seed, 0), 1, 4) for seed in range(1, 5)]
    for one in faults[:2]:
        one.values[:, 1] = np.nan
    for one in faults[2:]:
        one.values[1:3, 1] = np.nan

    result = discrimination(evidence(NORMAL, faults), METRICS)

    assert result.outcome.applied
    assert result.dropped.tolist() == [False, False, False, False]


def test_a_feature_that_three_faults_have_and_do_not_show_in_is_dropped_whatever_a_fourth_lacks() -> None:
    faults = [fault(_fault(seed, 0), 1, 4) for seed in range(1, 5)]
    faults[0].values[1:3, 1] = np.nan

    result = discrimination(evidence(NORMAL, faults), METRICS)

    assert result.dropped.tolist() == [False, True, False, False]
    expected = f_oneway(NORMAL[:, 1], *(one.values[1:5, 1] for one in faults[1:])).statistic
    assert result.figures[1] == pytest.approx(expected)
