"""tsfresh's own answers, and how near to them rounding lets another implementation come."""

import warnings
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd
from tsfresh.feature_extraction import ComprehensiveFCParameters, extract_features, feature_calculators
from tsfresh.utilities.string_manipulation import convert_to_output_format

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.kernels import KERNELS

EPSILON = float(np.finfo(np.float64).eps)


@cache
def comprehensive_parameters() -> dict[str, list[dict[str, object]] | None]:
    """Every calculator with the parameters that tsfresh itself chose for it."""
    return dict(ComprehensiveFCParameters())


def kernel_parameters(calculator: str) -> list[dict[str, object]]:
    """tsfresh's own choice of parameters, as far as our kernel covers them."""
    parameter_sets = comprehensive_parameters()[calculator] or [{}]
    return [parameters for parameters in parameter_sets if KERNELS[calculator].covers(parameters)]


def tsfresh_value(calculator: str, parameters: Mapping[str, object], series: FloatArray) -> float:
    """Ask tsfresh's bare calculator."""
    function = getattr(feature_calculators, calculator)
    with warnings.catch_warnings(action="ignore"):
        if function.fctype == "combiner":
            ((_, value),) = function(series, param=[parameters])
        else:
            value = function(series, **parameters)
    return float(value)


def tsfresh_suffix(calculator: str, parameters: Mapping[str, object]) -> str:
    """The column's name without the kind, put together by tsfresh."""
    written = convert_to_output_format(parameters)
    return f"{calculator}__{written}" if written else calculator


def tsfresh_frame(
    values: FloatArray, fc_parameters: Mapping[str, Sequence[Mapping[str, object]] | None]
) -> pd.DataFrame:
    """Ask extract_features as a whole; one row a series, the kind is called "metric"."""
    n_series, n_samples = values.shape
    samples = pd.DataFrame(
        {
            "series": np.repeat(np.arange(n_series), n_samples),
            "tick": np.tile(np.arange(n_samples), n_series),
            "metric": values.ravel(),
        }
    )
    return extract_features(
        samples,
        column_id="series",
        column_sort="tick",
        default_fc_parameters=fc_parameters,
        n_jobs=0,
        disable_progressbar=True,
    )


def allowed_difference(calculator: str, parameters: Mapping[str, object], series: FloatArray, expected: float) -> float:
    """1e-9 of the feature's natural size.

    That is the value itself, except where terms of both signs cancel: there it is the sum of their
    magnitudes. Skewness and kurtosis come from pandas, which updates the moments sample by sample: each step
    rounds at the level of the offset.
    """
    n = series.size
    centred = series - series.mean()
    m2 = float(np.sum(centred**2))
    size = abs(expected)
    lost_digits = 0.0
    if calculator == "autocorrelation":
        lag = int(str(parameters["lag"]))
        size = float(np.sum(np.abs(centred[: n - lag] * centred[lag:]))) / ((n - lag) * m2 / n)
    elif calculator == "c3":
        lag = int(str(parameters["lag"]))
        products = series[: max(0, n - 2 * lag)] * series[lag : max(lag, n - lag)] * series[2 * lag :]
        size = float(np.sum(np.abs(products))) / max(1, products.size)
    elif calculator == "linear_trend":
        centred_index = np.arange(n) - (n - 1) / 2
        size = float(np.sum(np.abs(centred * centred_index)) / np.sum(centred_index**2))
    elif calculator == "skewness":
        size = n * (n - 1) ** 0.5 / (n - 2) * float(np.sum(np.abs(centred) ** 3)) / m2**1.5
        lost_digits = 10 * n * EPSILON * float(np.max(np.abs(series))) / (m2 / n) ** 0.5
    elif calculator == "kurtosis":
        ratio = n * (n + 1) * float(np.sum(centred**4)) / m2**2
        size = (n - 1) / ((n - 2) * (n - 3)) * (ratio + 3 * (n - 1))
        lost_digits = 10 * n * EPSILON * float(np.max(np.abs(series))) / (m2 / n) ** 0.5
    return (1e-9 + lost_digits) * size
