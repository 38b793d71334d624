"""Choosing columns: present, varying, no near-duplicates, fair to every metric."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.models.columns import TrainingContext, choose_columns
from pulsetrain.models.errors import DegenerateTrainingSetError
from pulsetrain.models.selection.report import DropReason
from pulsetrain.models.selection.windows import FaultWindows
from pulsetrain.models.training_matrix import TrainingMatrix
from pulsetrain.schemas.arrays import FloatArray


def _noise(windows: int, columns: int, seed: int = 4) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(windows, columns))


def _reasons(rows: FloatArray, names: list[str], limit: int = 128) -> dict[str, DropReason]:
    return {column.name: column.reason for column in choose_columns(rows, names, limit).dropped}


def test_a_name_without_metric_or_feature_is_no_column_and_no_error() -> None:
    rows = _noise(100, 4)

    assert _reasons(rows, ["load__mean", "__mean", "load__", "load"]) == dict.fromkeys(
        ["__mean", "load__", "load"], DropReason.NOT_JUDGED
    )


def test_a_steady_temperature_is_degenerate_although_rounding_gives_it_a_deviation() -> None:
    rows = np.column_stack([np.full(100, 71.3), _noise(100, 1)[:, 0]])
    rows[:, 0] = [sum([71.3] * n) / n for n in range(1, 101)]

    assert rows[:, 0].std() > 0
    assert _reasons(rows, ["temperature__mean", "load__mean"]) == {"temperature__mean": DropReason.DEGENERATE}


def test_a_column_that_is_missing_too_often_is_dropped_and_a_rare_gap_is_not() -> None:
    rows = _noise(100, 3)
    rows[:11, 0] = np.nan
    rows[:10, 1] = np.inf

    assert _reasons(rows, ["a__mean", "b__mean", "c__mean"]) == {"a__mean": DropReason.MISSING}


def test_of_two_columns_that_say_the_same_the_first_is_kept_and_named() -> None:
    used, other = _noise(100, 2).T
    rows = np.column_stack([used, 64 - used, other])

    report = choose_columns(rows, ["used__mean", "free__mean", "other__mean"])

    assert set(report.columns) == {"free__mean", "other__mean"}
    assert [(d.name, d.reason, d.kept) for d in report.dropped] == [("used__mean", DropReason.DUPLICATE, "free__mean")]


def test_every_metric_gives_its_best_feature_before_any_gives_a_second_one() -> None:
    names = ["a__variance", "a__maximum", "a__mean", "b__strange_feature", "c__standard_deviation", "c__mean"]
    rows = _noise(100, len(names))

    report = choose_columns(rows, names, max_columns=4)

    assert report.columns == ("a__mean", "b__strange_feature", "c__mean", "a__maximum")
    assert {d.name for d in report.dropped if d.reason is DropReason.OVER_LIMIT} == {
        "a__variance",
        "c__standard_deviation",
    }


def test_windows_without_any_variation_are_refused() -> None:
    with pytest.raises(DegenerateTrainingSetError, match="none of 10 features varies"):
        choose_columns(np.ones((100, 10)), [f"m{i}__mean" for i in range(10)])


@given(seed=st.integers(0, 10_000), metrics=st.integers(2, 12), limit=st.integers(1, 20))
def test_every_name_is_either_a_column_or_dropped_with_one_reason(seed: int, metrics: int, limit: int) -> None:
    random = np.random.default_rng(seed)
    names = [f"m{i}__{feature}" for i in range(metrics) for feature in ("mean", "maximum", "minimum")]
    rows = random.normal(size=(40, len(names)))
    rows[random.random(rows.shape) < 0.05] = np.nan
    rows[:, -1] = rows[:, 0]

    report = choose_columns(rows, names, limit)

    assert sorted([*report.columns, *(column.name for column in report.dropped)]) == sorted(names)
    assert len(report.columns) <= limit


WINDOW_NS = 30


def _context(windows: int, faults: Sequence[FaultWindows] = ()) -> TrainingContext:
    ends_ns = (np.arange(windows, dtype=np.int64) + 1) * WINDOW_NS
    return TrainingContext(ends_ns, ["n/host"] * windows, WINDOW_NS, faults)


def _fault(seed: int, names: tuple[str, ...], *told_by: str) -> FaultWindows:
    """A fault that is window 4 to 7 of 12, of 20 sigma in some features."""
    rows = _noise(12, len(names), seed)
    rows[4:8, [names.index(name) for name in told_by]] += 20
    ends_ns = (np.arange(12, dtype=np.int64) + 1) * WINDOW_NS
    return FaultWindows(TrainingMatrix(names, rows, ends_ns, ("n/host",) * 12), int(ends_ns[4]), int(ends_ns[7]))


def test_a_volatile_feature_is_reported_with_its_volatility() -> None:
    rows = 100 + _noise(80, 4)
    rows[40:, 0] += 100

    report = choose_columns(rows, ["a__mean", "a__kurtosis", "b__mean", "c__mean"], context=_context(80))

    (dropped,) = report.dropped
    assert (dropped.name, dropped.reason) == ("a__mean", DropReason.VOLATILE)
    # Levels 100 and 200, each in two of four spans: variance 10,000 / 3, mean square 25,000.
    assert dropped.figure == pytest.approx((10_000 / 3 / 25_000) ** 0.5, rel=0.02)
    assert [outcome.applied for outcome in report.steps] == [True, False, False]


def test_with_labels_the_silent_features_of_a_metric_go_that_tells_by_another() -> None:
    names = ("a__mean", "b__kurtosis", "b__mean", "b__skewness", "c__mean")
    faults = [_fault(seed, names, "b__kurtosis") for seed in range(3)]

    report = choose_columns(_noise(80, 5), names, context=_context(80, faults))

    assert report.columns == ("a__mean", "b__kurtosis", "c__mean")
    assert [(each.name, each.reason) for each in report.dropped] == [
        ("b__mean", DropReason.INDISTINCT),
        ("b__skewness", DropReason.INDISTINCT),
    ]
    assert all(each.figure is not None and each.figure <= 10 for each in report.dropped)
    assert report.faults == 3


def test_a_feature_that_tells_windows_later_is_late() -> None:
    names = ("a__mean", "b__mean", "b__kurtosis", "c__mean")
    faults = [_fault(seed, names, "a__mean") for seed in range(3)]
    for fault in faults:
        fault.windows.rows[8:12, 1] += 20

    report = choose_columns(_noise(80, 4), names, context=_context(80, faults))

    assert [(each.name, each.reason) for each in report.dropped] == [("b__mean", DropReason.LATE)]


def test_the_same_windows_give_the_same_report_in_whatever_order_their_features_come() -> None:
    names = tuple(f"m{i}__{feature}" for i in range(6) for feature in ("mean", "maximum", "kurtosis"))
    rows = 100 + np.random.default_rng(3).normal(size=(80, len(names)))
    rows[40:, ::7] += 100
    turned = np.random.default_rng(4).permutation(len(names))

    one = choose_columns(rows, names, 8, context=_context(80))
    other = choose_columns(rows[:, turned], [names[i] for i in turned], 8, context=_context(80))

    assert other.columns == one.columns
    assert {(each.name, each.reason) for each in other.dropped} == {(each.name, each.reason) for each in one.dropped}
