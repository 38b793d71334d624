"""Stability: what moves while all is well is dropped, with the figure of textbooks, and never a whole metric."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.models.selection.report import StepResult
from pulsetrain.models.selection.stability import stability, volatility
from pulsetrain.schemas.arrays import FloatArray
from tests.unit.models.selection.selections import evidence


def _noise(columns: int, windows: int = 160, seed: int = 0) -> FloatArray:
    return 100 + np.random.default_rng(seed).normal(size=(windows, columns))


def _apart(columns: int) -> np.ndarray:
    return np.arange(columns, dtype=np.int64)


def _stability(normal: FloatArray, nodes: int = 1) -> StepResult:
    return stability(evidence(normal, nodes=nodes), _apart(normal.shape[1]) // 2)


def test_volatility_is_the_deviation_of_the_level_over_its_root_mean_square() -> None:
    # Two levels, 1 and 3: their variance is 2, the mean square (1 + 9) / 2 = 5.
    values, groups = np.repeat([[1.0], [3.0]], 10, axis=0), np.repeat([0, 1], 10)

    assert volatility(values, groups)[0] == pytest.approx([np.sqrt(2 / 5)])


def test_noise_within_the_spans_is_no_volatility() -> None:
    # Means 0 and 2 of two values each, 1 off them: between 2 * 2 = 4, within (1 + 1 + 1 + 1) / 2 = 2, mean square
    # (1 + 1 + 1 + 9) / 4 = 3: the component is (4 - 2) / 2 = 1.
    values, groups = np.array([[-1.0], [1.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])

    assert volatility(values, groups)[0] == pytest.approx([np.sqrt(1 / 3)])


def test_a_feature_whose_level_moves_by_more_than_thirty_percent_from_span_to_span_is_dropped() -> None:
    normal = _noise(6)
    normal[80:, 0] += 100  # from 100 to 200
    normal[80:, 2] += 30  # from 100 to 130

    result = _stability(normal)

    assert result.outcome.applied
    assert result.dropped.tolist() == [True, False, False, False, False, False]
    # Levels 100 and 200, each in two of four spans: variance 10,000 / 3, mean square 25,000.
    assert result.figures[0] == pytest.approx(np.sqrt(10_000 / 3 / 25_000), rel=0.01)


def test_a_feature_about_zero_is_judged_by_its_own_size() -> None:
    normal = _noise(6) - 100
    normal[80:, 0] += 2

    assert _stability(normal).dropped.tolist() == [True, False, False, False, False, False]


def test_a_feature_whose_level_differs_from_node_to_node_is_dropped() -> None:
    normal = _noise(6)
    normal[::2, 4] += 300

    result = _stability(normal, nodes=2)

    assert result.dropped.tolist() == [False, False, False, False, True, False]
    assert "in 4 spans of time and 2 nodes" in result.outcome.detail


def test_a_metric_keeps_its_least_volatile_feature() -> None:
    normal = _noise(8)
    normal[80:, 0] += 100
    normal[80:, 1] += 200

    assert _stability(normal).dropped.tolist() == [False, True, *[False] * 6]


def test_where_most_features_move_it_is_the_work_that_differs_and_none_is_dropped() -> None:
    normal = _noise(6)
    normal[80:, :4] += 100

    result = _stability(normal)

    assert not result.outcome.applied
    assert not result.dropped.any()
    assert result.outcome.detail.startswith("4 of 6 features move together")


def test_a_short_warm_up_says_how_many_windows_are_missing() -> None:
    normal = _noise(4, windows=31)
    normal[16:, 0] += 100

    result = _stability(normal)

    assert not result.outcome.applied
    assert not result.dropped.any()
    assert result.outcome.detail.startswith("31 windows share no sample with another; 32 are needed")


def test_pure_noise_loses_hardly_a_feature() -> None:
    normal = np.random.default_rng(1).normal(size=(160, 1000))

    # The adjusted p-values let one family in a hundred lose anything at all.
    assert _stability(normal).dropped.sum() <= 1


@given(column=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=40, max_size=40))
def test_whatever_the_size_of_the_values_there_is_a_volatility(column: list[float]) -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        figures = _stability(np.column_stack([column, np.arange(40.0)])).figures

    assert ((figures >= 0) & (figures <= 1)).all()
