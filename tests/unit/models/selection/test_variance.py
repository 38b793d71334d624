"""Analysis of variance of many columns: scipy's figures, whatever the size, the offset and the gaps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f_oneway

from pulsetrain.models.selection.variance import analyse

GROUPS = np.repeat(np.arange(3, dtype=np.int64), [10, 20, 15])


def _reference(column: np.ndarray) -> tuple[float, float]:
    result = f_oneway(*(column[group == GROUPS] for group in range(3)))
    return float(result.statistic), float(result.pvalue)


def test_f_is_that_of_scipy_for_every_column() -> None:
    values = np.random.default_rng(2).normal(size=(45, 5))
    values[GROUPS == 1, 3] += 2.0

    f_values, _ = analyse(values, GROUPS)

    assert f_values == pytest.approx([_reference(column)[0] for column in values.T])


def test_p_values_are_adjusted_by_the_step_up_rule_of_benjamini_and_hochberg() -> None:
    values = np.random.default_rng(3).normal(size=(45, 3))
    plain = sorted(_reference(column)[1] for column in values.T)

    _, p_values = analyse(values, GROUPS)

    largest, middle = plain[2], min(plain[2], plain[1] * 3 / 2)
    assert sorted(p_values) == pytest.approx([min(middle, plain[0] * 3), middle, largest])


@pytest.mark.parametrize(("offset", "scale"), [(1e12, 1.0), (0.0, 1e-150), (0.0, 1e150)])
def test_neither_offset_nor_unit_changes_f(offset: float, scale: float) -> None:
    column = np.round(np.random.default_rng(4).normal(size=45) * 64) / 64

    f_values, _ = analyse((offset + scale * column)[:, None], GROUPS)

    assert f_values[0] == pytest.approx(_reference(column)[0], rel=1e-3)


def test_a_constant_column_has_no_f_and_one_that_differs_between_groups_alone_an_infinite_one() -> None:
    f_values, p_values = analyse(np.column_stack([np.full(45, 71.3), GROUPS * 2.0]), GROUPS)

    assert (f_values[0], p_values[0]) == (0.0, 1.0)
    assert f_values[1] > 1e9
    assert p_values[1] == pytest.approx(0.0, abs=1e-100)


def test_equal_means_of_groups_of_unequal_size_are_no_difference() -> None:
    # Every group is made of whole periods, so that all have the same mean but for rounding, to either side of zero.
    values = np.tile(np.random.default_rng(8).normal(size=(5, 4000)), (9, 1))
    groups = np.repeat(np.arange(3, dtype=np.int64), [10, 20, 15])

    f_values, p_values = analyse(values, groups)

    assert f_values == pytest.approx(np.zeros(4000), abs=1e-12)
    assert p_values == pytest.approx(np.ones(4000))


def test_a_value_that_is_missing_is_left_out() -> None:
    column = np.random.default_rng(6).normal(size=45)
    column[[0, 12, 13, 44]] = np.nan
    there = np.isfinite(column)

    f_values, _ = analyse(column[:, None], GROUPS)

    assert f_values[0] == pytest.approx(f_oneway(*(column[there & (group == GROUPS)] for group in range(3))).statistic)


def test_a_column_that_one_group_alone_has_is_not_tested() -> None:
    column = np.where(GROUPS == 0, np.random.default_rng(7).normal(size=45), np.nan)

    f_values, p_values = analyse(column[:, None], GROUPS)

    assert (f_values[0], p_values[0]) == (0.0, 1.0)


finite = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True)
anything = st.one_of(finite, finite.map(lambda value: value * 1e-300), st.just(0.0), st.just(np.nan))


@given(st.lists(st.tuples(anything, st.integers(0, 3)), min_size=1, max_size=30))
def test_whatever_the_size_of_the_values_there_is_an_f_and_a_probability(windows: list[tuple[float, int]]) -> None:
    column, groups = (np.array(part) for part in zip(*windows, strict=True))

    with np.errstate(over="raise", invalid="raise", divide="raise"):
        f_values, p_values = analyse(column[:, None], groups)

    assert f_values[0] >= 0
    assert 0 <= p_values[0] <= 1
