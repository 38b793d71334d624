"""Finite samples near the limits of a float have some answer, in time: no endless loop, no error, no stray write."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import FeatureSet, extract

LARGEST = 1.7e308
FEATURE_SETS = {
    name: FeatureSet.from_fc_parameters(name)
    for name in ("MinimalFCParameters", "EfficientFCParameters", "ComprehensiveFCParameters")
}

extreme_numbers = st.sampled_from([LARGEST, -LARGEST, 1e300, -1e300, 1e155, 5e-324, -5e-324, 2e-308, 0.0, -0.0, 1.0])
extreme_series = st.lists(extreme_numbers, min_size=1, max_size=13).map(lambda samples: np.array([samples]))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FEATURE_SETS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=extreme_series)
def test_extreme_magnitudes_have_an_answer(name: str, values: FloatArray) -> None:
    with warnings.catch_warnings(action="ignore"):  # tsfresh's own calculators warn of overflow
        features = extract(values, FEATURE_SETS[name])
    assert features.shape == (1, len(FEATURE_SETS[name].suffixes))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("calculator", "parameter", "bins"),
    [("lempel_ziv_complexity", "bins", 2), ("binned_entropy", "max_bins", 1), ("binned_entropy", "max_bins", 10)],
)
def test_a_range_beyond_that_of_a_float_has_no_bins(calculator: str, parameter: str, bins: int) -> None:
    feature_set = FeatureSet.from_fc_parameters({calculator: [{parameter: bins}]})
    assert np.isnan(extract(np.array([[LARGEST, -LARGEST, 0.0, 1.0]]), feature_set)).all()


def test_a_mean_that_overflows_is_no_warning() -> None:
    with np.errstate(all="raise"):
        features = extract(np.full((1, 5), LARGEST), FeatureSet.from_fc_parameters({"mean": None}))
    assert features[0, 0] == np.inf
