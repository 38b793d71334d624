"""The members against worked-out values and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from sklearn.covariance import EmpiricalCovariance, LedoitWolf

from pulsetrain.models.detectors import MIN_ROWS, fit_covariance, fit_standardisation, floors
from pulsetrain.models.errors import DegenerateTrainingSetError

COLLINEAR = np.array([[-2.0, -4.0], [-1.0, -2.0], [0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])


def test_a_tenth_of_a_degree_above_a_steady_temperature_is_no_anomaly() -> None:
    steady = np.column_stack([np.full(MIN_ROWS, 71.3), np.arange(MIN_ROWS)])

    fitted = fit_standardisation(steady)

    assert fitted.standardise(steady)[:, 0] == pytest.approx(np.zeros(MIN_ROWS), abs=1e-9)
    # One sigma is a thousandth of the mean, 0.0713.
    assert fitted.standardise(np.array([[71.4, 0.0]]))[0, 0] == pytest.approx(0.1 / 0.0713)


def test_a_deviation_is_counted_in_sigmas_of_the_training_windows() -> None:
    rows = np.column_stack([np.tile([8.0, 12.0], 50), np.arange(100.0)])
    sigma = np.sqrt(4 * 100 / 99)

    assert fit_standardisation(rows).standardise(np.array([[20.0, 49.5]]))[0].tolist() == [
        pytest.approx(10 / sigma),
        0.0,
    ]


def test_too_few_or_too_few_distinct_windows_give_no_model() -> None:
    with pytest.raises(DegenerateTrainingSetError, match="19 training windows, 19 of them distinct"):
        fit_standardisation(np.arange(19.0)[:, None])
    with pytest.raises(DegenerateTrainingSetError, match="100 training windows, 1 of them distinct"):
        fit_standardisation(np.ones((100, 10)))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3))
def test_any_finite_row_has_finite_deviations_and_distances(row: list[float]) -> None:
    rows = np.random.default_rng(0).normal(size=(50, 3))
    fitted = fit_standardisation(rows)
    covariance = fit_covariance(fitted.standardise(rows))

    deviations = fitted.standardise(np.array([row]))

    assert np.isfinite(deviations).all()
    assert np.isfinite(covariance.distance(deviations).astype(np.float32)).all()


def test_a_point_off_the_subspace_of_the_training_rows_is_far_with_a_ridge() -> None:
    covariance = fit_covariance(COLLINEAR, shrinkage=1e-3)

    near, off, far_off = covariance.distance(np.array([[1.0, 2.0], [2.0, -1.0], [400.0, -200.0]]))

    assert near == pytest.approx(0.50, abs=0.005)
    assert off == pytest.approx(1000, rel=1e-3)
    assert off > chi2.ppf(0.95, 2)
    assert far_off == pytest.approx(1000 * 200**2, rel=1e-3)
    assert covariance.rank == 1


def test_the_pseudo_inverse_of_the_reference_is_blind_there() -> None:
    reference = EmpiricalCovariance(assume_centered=True).fit(COLLINEAR)

    assert reference.mahalanobis(np.array([[2.0, -1.0]]))[0] == pytest.approx(0, abs=1e-9)


def test_collinear_windows_by_the_hundred_flag_such_a_point_by_default() -> None:
    rows = np.tile(COLLINEAR, (40, 1))

    assert fit_covariance(rows).distance(np.array([[2.0, -1.0]]))[0] > chi2.ppf(0.95, 2)


@given(seed=st.integers(0, 1000), columns=st.integers(2, 20))
def test_distances_equal_those_of_scikit_learns_ledoit_wolf(seed: int, columns: int) -> None:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(60, columns)) @ random.normal(size=(columns, columns))
    reference = LedoitWolf(assume_centered=True).fit(rows)
    covariance = fit_covariance(rows)

    if covariance.shrinkage > 1e-3:
        assert covariance.distance(rows) == pytest.approx(reference.mahalanobis(rows), rel=1e-6)


def test_windows_that_overlap_are_worth_fewer_rows() -> None:
    rows = np.random.default_rng(0).normal(size=(200, 5)) @ np.diag([1, 1, 1, 2, 3.0])

    assert fit_covariance(rows, 6.0).shrinkage == pytest.approx(min(1.0, 6 * fit_covariance(rows).shrinkage))


def test_the_floors_are_those_that_the_detectors_are_named_for() -> None:
    # The 95 % quantile of chi-square with 10 degrees of freedom, from published tables.
    assert floors(10) == pytest.approx([3.0, 18.307, 0.5], abs=5e-4)
