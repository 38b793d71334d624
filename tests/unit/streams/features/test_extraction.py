"""What holds for all features alike: missing samples, batches, shapes."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.columns import column_names
from pulsetrain.streams.features import (
    DEFAULT_FC_PARAMETERS,
    DEFAULT_FEATURE_SET,
    FcParameters,
    FeatureError,
    FeatureSet,
    extract,
)
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.extraction import SAMPLES_PER_BATCH
from tests.unit.streams.features.series_strategies import batches
from tests.unit.streams.features.tsfresh_oracle import comprehensive_parameters, tsfresh_frame

WITH_FALLBACK: FcParameters = {"mean": None, "benford_correlation": None, "linear_trend": [{"attr": "pvalue"}]}


@pytest.mark.parametrize("fc_parameters", [DEFAULT_FC_PARAMETERS, WITH_FALLBACK])
@pytest.mark.parametrize("hole", [np.nan, np.inf, -np.inf])
def test_a_series_with_a_sample_that_is_no_number_has_no_feature_and_leaves_its_neighbours_alone(
    fc_parameters: FcParameters, hole: float
) -> None:
    feature_set = FeatureSet.from_fc_parameters(fc_parameters)
    whole = np.random.default_rng(1).normal(size=(3, 40))
    for position in (0, 17, 39):
        holed = whole.copy()
        holed[1, position] = hole
        features = extract(holed, feature_set)
        assert np.isnan(features[1]).all()
        np.testing.assert_array_equal(features[[0, 2]], extract(whole, feature_set)[[0, 2]])


@settings(deadline=None)
@given(values=batches(max_series=8))
def test_the_features_of_a_series_are_the_same_bits_whatever_else_is_in_the_batch(values: FloatArray) -> None:
    together = extract(values, DEFAULT_FEATURE_SET)
    alone = [extract(series[np.newaxis], DEFAULT_FEATURE_SET)[0] for series in values]
    np.testing.assert_array_equal(together, alone)


def test_values_that_fill_several_batches_give_the_same_bits_as_series_by_series() -> None:
    n_samples = 300
    n_series = 2 * (SAMPLES_PER_BATCH // n_samples) + 5
    values = np.random.default_rng(2).normal(size=(n_series, n_samples))
    alone = [extract(series[np.newaxis], DEFAULT_FEATURE_SET)[0] for series in values]
    np.testing.assert_array_equal(extract(values, DEFAULT_FEATURE_SET), alone)


def test_threads_do_not_disturb_each_other() -> None:
    batches_of_threads = [np.random.default_rng(seed).normal(size=(50, 200)) for seed in range(8)]
    expected = [extract(values, DEFAULT_FEATURE_SET) for values in batches_of_threads]
    with ThreadPoolExecutor(4) as pool:
        actual = list(pool.map(lambda values: extract(values, DEFAULT_FEATURE_SET), batches_of_threads * 5))
    np.testing.assert_array_equal(actual, expected * 5)


def test_a_result_keeps_its_values_when_the_next_batch_is_computed() -> None:
    first = extract(np.arange(40.0).reshape(2, 20), DEFAULT_FEATURE_SET)
    kept = first.copy()
    extract(np.ones((5, 30)), DEFAULT_FEATURE_SET)
    np.testing.assert_array_equal(first, kept)


def test_the_values_are_left_as_they_were() -> None:
    values = np.random.default_rng(4).normal(size=(4, 50))
    kept = values.copy()
    extract(values, FeatureSet.from_fc_parameters({**DEFAULT_FC_PARAMETERS, "benford_correlation": None}))
    np.testing.assert_array_equal(values, kept)


def test_the_layout_in_memory_does_not_matter() -> None:
    values = np.random.default_rng(5).normal(size=(6, 50))
    expected = extract(values, DEFAULT_FEATURE_SET)
    np.testing.assert_array_equal(extract(np.asfortranarray(values), DEFAULT_FEATURE_SET), expected)
    np.testing.assert_array_equal(extract(np.repeat(values, 2, axis=1)[:, ::2], DEFAULT_FEATURE_SET), expected)


def test_values_in_a_message_that_are_read_only_unaligned_or_of_other_byte_order_give_the_same() -> None:
    values = np.random.default_rng(6).normal(size=(6, 50))
    expected = extract(values, DEFAULT_FEATURE_SET)
    message = b"\x00" + values.tobytes()
    unaligned = np.frombuffer(message, dtype=np.float64, offset=1).reshape(6, 50)
    assert not unaligned.flags.aligned
    assert not unaligned.flags.writeable
    np.testing.assert_array_equal(extract(unaligned, DEFAULT_FEATURE_SET), expected)
    np.testing.assert_array_equal(extract(values.astype(">f8"), DEFAULT_FEATURE_SET), expected)


def test_a_series_of_zeros_of_both_signs_is_constant() -> None:
    named = dict(
        zip(DEFAULT_FEATURE_SET.suffixes, extract(np.array([[0.0, -0.0] * 9]), DEFAULT_FEATURE_SET)[0], strict=True)
    )
    assert np.isnan(named["skewness"])
    assert np.isnan(named["kurtosis"])
    assert named["standard_deviation"] == 0.0


@given(n_series=st.integers(0, 3), n_samples=st.integers(0, 2))
def test_a_row_a_series_and_a_column_a_feature_even_when_there_is_nothing(n_series: int, n_samples: int) -> None:
    features = extract(np.ones((n_series, n_samples)), DEFAULT_FEATURE_SET)
    assert features.shape == (n_series, 18)
    assert features.dtype == np.float64
    assert n_samples > 0 or np.isnan(features).all()


@pytest.mark.parametrize("shape", [(30,), (2, 3, 30)])
def test_values_of_another_number_of_dimensions_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(FeatureError, match=r"shape \(series, samples\)"):
        extract(np.ones(shape), DEFAULT_FEATURE_SET)


@pytest.mark.parametrize(
    "values",
    [np.array([[3.25]]), np.full((1, 30), 7.5), np.array([[1.0, 2.0]]), np.arange(12.0).reshape(1, 12)],
    ids=["one sample", "constant", "two samples", "ramp"],
)
def test_short_and_constant_windows_have_every_column_with_nan_just_where_tsfresh_has_it(values: FloatArray) -> None:
    feature_set = FeatureSet.from_fc_parameters(comprehensive_parameters())
    expected = tsfresh_frame(values, comprehensive_parameters())
    assert tuple(expected.columns) == column_names(["metric"], feature_set.suffixes)
    features = extract(values, feature_set)
    np.testing.assert_array_equal(np.isnan(features), expected.isna().to_numpy())
    np.testing.assert_allclose(features, expected.to_numpy(), rtol=1e-9, atol=1e-12)


def test_no_warning_is_raised_for_a_constant_series() -> None:
    with np.errstate(all="raise"):
        features = extract(np.full((1, 30), 5.0), DEFAULT_FEATURE_SET)
    named = dict(zip(DEFAULT_FEATURE_SET.suffixes, features[0], strict=True))
    assert {suffix for suffix, value in named.items() if np.isnan(value)} == {
        "autocorrelation__lag_1",
        "autocorrelation__lag_5",
        "skewness",
        "kurtosis",
    }


def test_series_that_all_have_a_hole_cost_no_calculation() -> None:
    def compute(batch: Batch) -> FloatArray:
        raise AssertionError(f"computed for {batch.n_series} series without a single whole one")

    feature_set = FeatureSet.from_fc_parameters(WITH_FALLBACK)
    uncomputable = replace(feature_set, plan=(replace(feature_set.plan[0], compute=compute),))
    assert np.isnan(extract(np.array([[1.0, np.nan, 2.0], [np.inf, 0.0, 1.0]]), uncomputable)).all()
