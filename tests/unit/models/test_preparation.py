"""Rows for a model: columns by name, gaps imputed from the training medians and reported."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.models.errors import AbsentColumnError
from pulsetrain.models.preparation import NotScored, plan_assembly


def test_a_gap_in_serving_takes_the_median_of_training_not_zero() -> None:
    # In training the column was 1, 2, 3 and a gap: its median is 2.
    assembled = plan_assembly(["cpu__mean"], [2.0], ["cpu__mean"]).assemble(np.array([[np.nan], [np.inf], [7.0]]))

    assert assembled.rows[:, 0].tolist() == [2.0, 2.0, 7.0]
    assert assembled.imputed[:, 0].tolist() == [True, True, False]


def test_columns_are_found_by_name_whatever_their_order() -> None:
    plan = plan_assembly(["a__mean", "b__mean"], [0.0, 0.0], ["extra__mean", "b__mean", "a__mean"])

    assert plan.assemble(np.array([[9.0, 2.0, 1.0]])).rows.tolist() == [[1.0, 2.0]]


def test_an_absent_column_is_an_error_that_names_it() -> None:
    with pytest.raises(AbsentColumnError, match="gpu__maximum") as caught:
        plan_assembly(["cpu__mean", "gpu__maximum"], [0.0, 0.0], ["cpu__mean", "gpu__mean"])

    assert caught.value.columns == ("gpu__maximum",)


def test_a_window_with_more_than_a_fifth_missing_is_not_scored() -> None:
    columns = [f"m{i}__mean" for i in range(10)]
    values = np.ones((2, 10))
    values[0, :2] = np.nan
    values[1, :3] = np.nan

    assembled = plan_assembly(columns, np.zeros(10), columns).assemble(values)

    assert assembled.not_scored(0) is None
    assert np.flatnonzero(assembled.imputed[0]).tolist() == [0, 1]
    assert assembled.not_scored(1) is NotScored.TOO_MUCH_MISSING
    assert assembled.missing_share.tolist() == [0.2, 0.3]


@given(seed=st.integers(0, 10_000), width=st.integers(1, 30), extra=st.integers(0, 5))
def test_any_values_in_any_order_give_finite_rows_and_an_exact_report(seed: int, width: int, extra: int) -> None:
    random = np.random.default_rng(seed)
    columns = [f"m{i}__mean" for i in range(width)]
    names = [*columns, *(f"extra{i}__mean" for i in range(extra))]
    values = random.normal(size=(4, len(names)))
    values[random.random(values.shape) < 0.2] = random.choice([np.nan, np.inf, -np.inf])
    order = random.permutation(len(names))

    assembled = plan_assembly(columns, np.full(width, 5.0), [names[i] for i in order]).assemble(values[:, order])

    gaps = ~np.isfinite(values[:, :width])
    assert np.array_equal(assembled.imputed, gaps)
    assert np.array_equal(assembled.rows, np.where(gaps, 5.0, values[:, :width]))
