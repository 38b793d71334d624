"""Analysis of variance of many columns: scipy's figures, also where scikit-learn's own would be nonsense."""

import numpy as np
import pytest
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
