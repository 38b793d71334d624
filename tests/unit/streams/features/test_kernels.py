"""Every kernel against tsfresh's own calculator, numpy and arithmetic by hand."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import DEFAULT_FC_PARAMETERS, FeatureSet, extract
from pulsetrain.streams.features.kernels import KERNELS
from tests.unit.streams.features.rounding import allowed_difference
from tests.unit.streams.features.series_strategies import batches
from tests.unit.streams.features.tsfresh_oracle import (
    kernel_parameters,
    tsfresh_suffix,
    tsfresh_value,
)


def kernel_feature_set(calculator: str) -> FeatureSet:
    return FeatureSet.from_fc_parameters({calculator: kernel_parameters(calculator)})


def assert_equals_tsfresh(calculator: str, values: FloatArray) -> None:
    features = extract(values, kernel_feature_set(calculator))
    for column, parameters in enumerate(kernel_parameters(calculator)):
        for series, actual in zip(values, features[:, column], strict=True):
            expected = tsfresh_value(calculator, parameters, series)
            if math.isnan(expected):
                assert math.isnan(actual), (calculator, parameters, series, actual)
            else:
                tolerance = allowed_difference(calculator, parameters, series, expected)
                assert abs(actual - expected) <= tolerance, (calculator, parameters, series, actual, expected)


@pytest.mark.parametrize("calculator", KERNELS)
@settings(deadline=None, max_examples=60)
@given(values=batches())
def test_a_kernel_equals_the_calculator_of_tsfresh_on_ugly_series(calculator: str, values: FloatArray) -> None:
    assert_equals_tsfresh(calculator, values)


@pytest.mark.parametrize("calculator", KERNELS)
@pytest.mark.parametrize("n_samples", range(1, 11))
def test_a_kernel_equals_the_calculator_of_tsfresh_at_every_short_length(calculator: str, n_samples: int) -> None:
    noise = np.random.default_rng(n_samples).normal(size=(2, n_samples))
    constant = np.full((1, n_samples), 0.1)
    assert_equals_tsfresh(calculator, np.concatenate((noise, constant)))


@pytest.mark.parametrize("calculator", KERNELS)
@pytest.mark.parametrize("offset", [1e9, 4e9, 1e12])
def test_a_kernel_equals_the_calculator_of_tsfresh_far_from_zero(calculator: str, offset: float) -> None:
    noise = np.random.default_rng(7).normal(size=(20, 300))
    assert_equals_tsfresh(calculator, offset + noise)


@pytest.mark.parametrize("calculator", KERNELS)
def test_every_kernel_is_compared_under_parameters_that_tsfresh_itself_chose(calculator: str) -> None:
    parameter_sets = kernel_parameters(calculator)
    assert parameter_sets
    assert kernel_feature_set(calculator).suffixes == tuple(
        tsfresh_suffix(calculator, parameters) for parameters in parameter_sets
    )


@settings(deadline=None)
@given(values=batches())
def test_the_mean_is_that_of_numpy_bit_for_bit(values: FloatArray) -> None:
    means = extract(values, FeatureSet.from_fc_parameters({"mean": None}))[:, 0]
    assert means.tolist() == [float(np.mean(series)) for series in values]


@pytest.mark.parametrize("n_samples", [1, 2, 7, 8, 9, 127, 128, 129, 300, 1000, 70_000])
def test_the_mean_is_that_of_numpy_bit_for_bit_at_any_length(n_samples: int) -> None:
    values = np.random.default_rng(n_samples).normal(1e9, 1.0, size=(5, n_samples))
    means = extract(values, FeatureSet.from_fc_parameters({"mean": None}))[:, 0]
    assert means.tolist() == [float(np.mean(series)) for series in values]


@settings(deadline=None)
@given(values=batches(), q=st.floats(0, 1))
@example(values=np.array([[-1e9, 1e-6]]), q=1 - 1e-9)
def test_a_quantile_is_that_of_numpy_bit_for_bit(values: FloatArray, q: float) -> None:
    quantiles = extract(values, FeatureSet.from_fc_parameters({"quantile": [{"q": q}]}))[:, 0]
    assert quantiles.tolist() == [float(np.quantile(series, q)) for series in values]


def test_variance_far_from_zero_has_all_the_digits_that_tsfresh_has() -> None:
    values = 1e12 + np.random.default_rng(3).normal(size=(50, 300))
    variances = extract(values, FeatureSet.from_fc_parameters({"variance": None}))[:, 0]
    np.testing.assert_allclose(variances, [np.var(series) for series in values], rtol=1e-13)


@pytest.mark.parametrize(
    ("suffix", "by_hand"),
    [
        # series 1, 2, 4, 7; mean 3.5; deviations -2.5, -1.5, 0.5, 3.5; their squares sum to 21
        ("mean", 3.5),
        ("variance", 21 / 4),
        ("standard_deviation", math.sqrt(21 / 4)),
        ("autocorrelation__lag_1", (3.75 - 0.75 + 1.75) / 3 / (21 / 4)),
        ("autocorrelation__lag_5", math.nan),
        ("c3__lag_1", (1 * 2 * 4 + 2 * 4 * 7) / 2),
        ("minimum", 1.0),
        ("maximum", 7.0),
        ("median", 3.0),
        ("quantile__q_0.1", 1 + 0.3),
        ("quantile__q_0.9", 7 - 0.3 * 3),
        ('linear_trend__attr_"slope"', (2.5 * 1.5 + 1.5 * 0.5 + 0.5 * 0.5 + 3.5 * 1.5) / 5),
        ("mean_abs_change", 2.0),
        ("cid_ce__normalize_False", math.sqrt(1 + 4 + 9)),
        ("cid_ce__normalize_True", math.sqrt(14) / math.sqrt(21 / 4)),
        ("abs_energy", 1 + 4 + 16 + 49),
        # third powers sum to -15.625 - 3.375 + 0.125 + 42.875, fourth powers to 39.0625 + 5.0625 + 0.0625 + 150.0625
        ("skewness", 4 * math.sqrt(3) / 2 * 24 / 21**1.5),
        ("kurtosis", 3 / 2 * (20 * 194.25 / 21**2 - 9)),
    ],
)
def test_a_feature_has_the_value_worked_out_by_hand(suffix: str, by_hand: float) -> None:
    feature_set = FeatureSet.from_fc_parameters({**DEFAULT_FC_PARAMETERS, "c3": [{"lag": 1}]})
    features = extract(np.array([[1.0, 2.0, 4.0, 7.0]]), feature_set)[0]
    assert features[feature_set.suffixes.index(suffix)] == pytest.approx(by_hand, rel=1e-12, nan_ok=True)
