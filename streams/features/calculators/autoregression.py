"""How samples depend on those before them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch, BoolArray
from pulsetrain.streams.features.calculators.calculator import Calculator, Columns, ParameterSet, integers, one_of
from pulsetrain.streams.features.calculators.doubtful import Judged, doubtful_to_tsfresh
from pulsetrain.streams.features.calculators.lagged_regression import fit_autoregressions
from pulsetrain.streams.features.calculators.shared import numpy_variance
from pulsetrain.streams.features.compiled.dots import row_dot

LARGEST_OFFSET: Final = 1e3
"""A regression on samples and a constant is doubtful for a mean that is more deviations than this away from zero ..."""
LEAST_DEVIATION: Final = 1e-3
"""... for a smaller deviation than this, beside a constant of 1 ..."""
LARGEST_CONDITION: Final = 1e12
"""... and for a larger quotient of the singular values of these two: statsmodels calls a system singular at 1e15."""
_MOST_LAGS: Final = 200
_LEAST_REMAINING_VARIANCE: Final = 1e-6
_ZERO_VARIANCE: Final = 1e-10
"""statsmodels' autocorrelation is taken to be zero by tsfresh below this variance."""


def _autocovariances(batch: Batch, n_lags: int) -> FloatArray:
    """(series, lags from 0 to `n_lags`): mean product of deviations a lag apart."""
    centred, n = batch.centred, batch.n_samples
    return np.stack(
        [row_dot(centred[:, lag:], centred[:, : n - lag]) / (n - lag) for lag in range(min(n_lags, n - 1) + 1)], axis=1
    )


def _agg_autocorrelation(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Mean, median or variance of the autocorrelations from lag 1; those of a series that hardly varies are zeros."""
    longest = max(one["maxlag"] for one in parameter_sets)
    aggregates: Mapping[str, Callable[..., FloatArray]] = _AGGREGATES

    def compute(batch: Batch) -> FloatArray:
        if batch.n_samples == 1:
            return np.zeros((batch.n_series, len(parameter_sets)))
        covariances = _autocovariances(batch, longest)
        correlations = covariances[:, 1:] / covariances[:, :1]
        correlations[numpy_variance(batch) < _ZERO_VARIANCE] = 0.0
        return np.stack(
            [aggregates[one["f_agg"]](correlations[:, : one["maxlag"]], axis=-1) for one in parameter_sets], axis=1
        )

    return compute


_AGGREGATES: Final[Mapping[str, Callable[..., FloatArray]]] = {
    "mean": np.mean,
    "median": np.median,
    "var": np.var,
    "std": np.std,
}


def _partial_autocorrelation(parameter_sets: Sequence[ParameterSet]) -> Judged:
    """Correlation at a lag of what the lags between leave over: Levinson and Durbin's recursion.

    NaN from half the number of samples on. Doubtful where the lags before explain nearly everything.
    """
    lags = np.array([one["lag"] for one in parameter_sets])

    def compute(batch: Batch) -> tuple[FloatArray, BoolArray]:
        features = np.full((batch.n_series, lags.size), np.nan)
        doubtful = np.zeros(batch.n_series, dtype=np.bool_)
        highest = min(int(lags.max()), batch.n_samples // 2 - 1)
        if highest > 0:
            partial, doubtful = _levinson_durbin(_autocovariances(batch, highest))
            served = lags <= highest
            features[:, served] = partial[:, lags[served]]
        return features, doubtful

    return compute


def _levinson_durbin(covariances: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Partial autocorrelations (series, lags) of autocovariances (series, lags), and where they are doubtful."""
    n_series, n_lags = covariances.shape
    partial = np.ones((n_series, n_lags))
    remaining = covariances[:, 0].copy()
    doubtful = ~(remaining > 0)
    weights = np.zeros((n_series, 0))
    for lag in range(1, n_lags):
        explained = row_dot(weights, covariances[:, lag - 1 : 0 : -1]) if lag > 1 else 0.0
        partial[:, lag] = (covariances[:, lag] - explained) / remaining
        latest = partial[:, lag : lag + 1]
        weights = np.concatenate((weights - latest * weights[:, ::-1], latest), axis=1)
        remaining = remaining * (1 - partial[:, lag] ** 2)
        doubtful |= ~(np.abs(remaining) > _LEAST_REMAINING_VARIANCE * covariances[:, 0])
    return partial, doubtful


def _ar_coefficient(parameter_sets: Sequence[ParameterSet]) -> Judged:
    """Weights of the k samples before, and the intercept as number 0, by least squares; NaN beyond the k-th.

    Doubtful where the samples nearly determine each other, are too few, or are badly scaled.
    """
    orders = sorted({one["k"] for one in parameter_sets})

    def compute(batch: Batch) -> tuple[FloatArray, BoolArray]:
        features = np.full((batch.n_series, len(parameter_sets)), np.nan)
        doubtful = is_badly_scaled(batch)
        for k in orders:
            if batch.n_samples - k < 2 * (k + 1):
                doubtful[:] = True
                continue
            weights = np.empty((batch.n_series, k + 1))
            singular = np.zeros(batch.n_series, dtype=np.bool_)
            fit_autoregressions(batch.centred, batch.mean, batch.is_finite, k, weights, singular)
            doubtful |= singular
            for column, one in enumerate(parameter_sets):
                if one["k"] == k and one["coeff"] <= k:
                    features[:, column] = weights[:, one["coeff"]]
        return features, doubtful

    return compute


def is_badly_scaled(batch: Batch) -> BoolArray:
    """(series,): statsmodels' regression of such samples on a constant and each other loses most of its digits."""
    deviation = np.sqrt(batch.variance)
    condition = np.maximum(1.0, batch.mean**2 + batch.variance) / deviation
    is_sound = (
        (np.abs(batch.mean) <= LARGEST_OFFSET * deviation)
        & (deviation >= LEAST_DEVIATION)
        & (condition <= LARGEST_CONDITION)
    )
    return ~is_sound


_LAG = integers(0, 10_000)

CALCULATORS: Final[Mapping[str, Calculator]] = {
    "agg_autocorrelation": Calculator(
        _agg_autocorrelation, {"f_agg": one_of(*_AGGREGATES), "maxlag": integers(1, 10_000)}
    ),
    "partial_autocorrelation": Calculator(
        doubtful_to_tsfresh("partial_autocorrelation", _partial_autocorrelation), {"lag": _LAG}, asks_tsfresh=True
    ),
    "ar_coefficient": Calculator(
        doubtful_to_tsfresh("ar_coefficient", _ar_coefficient),
        {"coeff": _LAG, "k": integers(1, _MOST_LAGS)},
        asks_tsfresh=True,
    ),
}
