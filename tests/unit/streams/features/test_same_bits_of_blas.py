"""A feature set that needs no linear algebra gives the same bytes whichever kernels the BLAS library chooses."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsetrain.streams.features.compiled.dots import pair_dot, row_dot

PROGRAM = """
import hashlib, numpy
from pulsetrain.streams.features import FeatureSet, extract
minimal = FeatureSet.from_fc_parameters("MinimalFCParameters")
products = FeatureSet.from_fc_parameters({
    "agg_autocorrelation": [{"f_agg": "mean", "maxlag": 40}],
    "benford_correlation": None,
    "cwt_coefficients": [{"widths": (2, 5, 10, 20), "coeff": 7, "w": width} for width in (2, 20)],
    "fft_aggregated": [{"aggtype": "skew"}],
    "linear_trend": [{"attr": "rvalue"}],
    "partial_autocorrelation": [{"lag": 9}],
})
generator = numpy.random.default_rng(0)
for n_samples in (24, 59, 60, 61, 300):
    values = generator.normal(50, 1, size=(40, n_samples)) * 10.0 ** generator.integers(0, 6, size=(40, 1))
    for feature_set in (minimal, products):
        print(n_samples, hashlib.sha256(extract(values, feature_set).tobytes()).hexdigest())
"""


def _digests(core_type: str) -> list[str]:
    completed = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "OPENBLAS_CORETYPE": core_type},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.splitlines()


@pytest.mark.timeout(600)
def test_features_are_the_same_bytes_with_the_blas_kernels_of_another_processor() -> None:
    assert _digests("Nehalem") == _digests("Haswell")


@given(st.integers(1, 4), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_dots_are_exact_where_arithmetic_is(n_rows: int, n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.integers(-1000, 1000, size=(2, n_rows, n + 3)).astype(np.float64)
    for one, other in ((a, b), (a[:, 3:], b[:, :n]), (a, b[:, ::-1]), (np.asfortranarray(a), b)):
        expected = one @ other.T
        np.testing.assert_array_equal(row_dot(one, other), np.diagonal(expected))
        np.testing.assert_array_equal(row_dot(one, other[0]), expected[:, 0])
        np.testing.assert_array_equal(pair_dot(one, other), expected)
