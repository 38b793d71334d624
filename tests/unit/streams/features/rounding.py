"""How near to tsfresh rounding lets another implementation come, calculator by calculator.

1e-9 of the feature's natural size. That is the value itself, except where terms of both signs cancel: there it is the
sum of their magnitudes. Calculators that are not named here equal tsfresh to 1e-9 of the value itself; most of them,
and all counts, yes-or-no features and entropies, to the last bit or two.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tsfresh.feature_extraction.feature_calculators import _aggregate_on_chunks

from pulsetrain.schemas.arrays import FloatArray

EPSILON = float(np.finfo(np.float64).eps)
RELATIVE = 1e-9

_Parameters = Mapping[str, Any]
_Allowance = Callable[[_Parameters, FloatArray, float], Any]


def allowed_difference(calculator: str, parameters: _Parameters, series: FloatArray, expected: float) -> float:
    """The largest difference from tsfresh's value that is rounding."""
    allowance = _ALLOWANCES.get(calculator)
    own = RELATIVE * abs(expected)
    return own if allowance is None else max(own, float(allowance(parameters, series, expected)))


def _cancelling(size: Callable[[_Parameters, FloatArray], float]) -> _Allowance:
    return lambda parameters, series, _: RELATIVE * size(parameters, series)


def _autocorrelation_size(parameters: _Parameters, series: FloatArray) -> Any:
    lag, n = parameters["lag"], series.size
    centred = series - series.mean()
    return float(np.sum(np.abs(centred[: n - lag] * centred[lag:]))) / ((n - lag) * float(series.var()))


def _triples(parameters: _Parameters, series: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    lag, n = parameters["lag"], series.size
    return series[: max(0, n - 2 * lag)], series[lag : max(lag, n - lag)], series[2 * lag :]


def _c3_size(parameters: _Parameters, series: FloatArray) -> float:
    first, second, third = _triples(parameters, series)
    return float(np.sum(np.abs(first * second * third))) / max(1, first.size)


def _asymmetry_size(parameters: _Parameters, series: FloatArray) -> Any:
    first, second, third = np.abs(_triples(parameters, series))
    return float(np.sum(third**2 * second) + np.sum(second * first**2)) / max(1, first.size)


def _moment(parameters: _Parameters, series: FloatArray, order: int) -> Any:
    """Skewness and kurtosis come from pandas, which updates moments sample by sample: each step rounds anew."""
    n = series.size
    centred = np.abs(series - series.mean())
    m2 = float(np.sum(centred**2))
    lost_digits = 10 * n * EPSILON * float(np.max(np.abs(series))) / (m2 / n) ** 0.5
    if order == 3:
        size = n * (n - 1) ** 0.5 / (n - 2) * float(np.sum(centred**3)) / m2**1.5
    else:
        size = (n - 1) / ((n - 2) * (n - 3)) * (n * (n + 1) * float(np.sum(centred**4)) / m2**2 + 3 * (n - 1))
    return (RELATIVE + lost_digits) * size


def _changes(parameters: _Parameters, series: FloatArray, _: float) -> Any:
    """Equal changes have a mean that cancels and a variance that is the square of their rounding."""
    largest = float(np.max(np.abs(np.diff(series)), initial=0.0))
    return RELATIVE * largest if parameters["f_agg"] == "mean" else (series.size * EPSILON * largest) ** 2


def _line(parameters: _Parameters, series: FloatArray, expected: float) -> Any:
    """On a straight line the error is the root of the rounding of 1 - r**2, which should be zero.

    The p-value goes with that number's power of half the degrees of freedom.
    """
    if "f_agg" in parameters:
        series = np.asarray(_aggregate_on_chunks(series, parameters["f_agg"], parameters["chunk_len"]))
    n = series.size
    if n < 3:
        return RELATIVE * float(np.max(np.abs(series)))
    index = np.arange(n) - (n - 1) / 2
    centred = series - series.mean()
    slope_size = float(np.sum(np.abs(centred * index)) / np.sum(index**2))
    rounding = 64 * EPSILON
    scale = float(np.sqrt(np.sum(centred**2) / np.sum(index**2) / (n - 2)))
    denominator = float(np.sqrt(np.sum(centred**2) * np.sum(index**2)))
    unexplained = max(1 - (float(np.sum(centred * index)) / denominator) ** 2 if denominator else 1.0, rounding)
    p_value = max(abs(expected), rounding ** ((n - 2) / 2)) if unexplained == rounding else abs(expected)
    of_attribute = {
        "slope": RELATIVE * slope_size,
        "intercept": RELATIVE * (abs(float(series.mean())) + slope_size * n / 2),
        "rvalue": RELATIVE,
        "stderr": scale * min(rounding**0.5, rounding / unexplained**0.5),
        "pvalue": rounding + min(rounding**0.5, p_value * n * rounding / unexplained),
    }
    return of_attribute[parameters["attr"]]


def _spectrum(parameters: _Parameters, series: FloatArray, _: float) -> Any:
    weights = np.abs(np.fft.rfft(series))
    centroid, second, third, fourth = (
        float(weights @ np.arange(weights.size) ** power / weights.sum()) for power in (1, 2, 3, 4)
    )
    variance = max(second - centroid**2, EPSILON)
    lost = 1 + second / variance
    of_type = {
        "centroid": centroid,
        "variance": second,
        "skew": (third + 3 * centroid * second + centroid**3) / variance**1.5 * lost,
        "kurtosis": (fourth + 4 * centroid * third + 6 * second * centroid**2 + 3 * centroid) / variance**2 * lost,
    }
    return RELATIVE * of_type[parameters["aggtype"]]


def _wavelet(parameters: _Parameters, series: FloatArray, _: float) -> Any:
    """PyWavelets takes differences of a convolution with the wavelet's integral, which is about 0.5 at most."""
    return 64 * EPSILON * parameters["w"] ** 0.5 * float(np.sum(np.abs(series)))


def _autocorrelations(parameters: _Parameters, series: FloatArray, _: float) -> Any:
    """An autocorrelation adjusted for its few pairs may be as large as the number of samples."""
    return 1e-3 * RELATIVE * series.size ** (2 if parameters["f_agg"] == "var" else 1)


def _regression(parameters: _Parameters, series: FloatArray, _: float) -> Any:
    return RELATIVE * (float(np.max(np.abs(series))) if parameters["coeff"] == 0 else 1.0)


def _unit_root(parameters: _Parameters, series: FloatArray, expected: float) -> Any:
    """A small p-value falls with the exponential of the statistic's square."""
    return RELATIVE * (abs(expected) * 1e3 if parameters["attr"] == "pvalue" else 1.0)


_ALLOWANCES: Mapping[str, _Allowance] = {
    "autocorrelation": _cancelling(_autocorrelation_size),
    "c3": _cancelling(_c3_size),
    "time_reversal_asymmetry_statistic": _cancelling(_asymmetry_size),
    "skewness": lambda parameters, series, _: _moment(parameters, series, 3),
    "kurtosis": lambda parameters, series, _: _moment(parameters, series, 4),
    "sum_of_reoccurring_values": _cancelling(lambda _, series: float(np.sum(np.abs(series)))),
    "sum_of_reoccurring_data_points": _cancelling(lambda _, series: float(np.sum(np.abs(series)))),
    "change_quantiles": _changes,
    "linear_trend": _line,
    "agg_linear_trend": _line,
    "fft_aggregated": _spectrum,
    "cwt_coefficients": _wavelet,
    "agg_autocorrelation": _autocorrelations,
    "partial_autocorrelation": _cancelling(lambda _, series: 1.0),
    "ar_coefficient": _regression,
    "augmented_dickey_fuller": _unit_root,
    "benford_correlation": _cancelling(lambda _, series: 1.0),
    "approximate_entropy": _cancelling(lambda _, series: 1.0),
}
