"""tsfresh's own answers."""

import warnings
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd
from tsfresh.feature_extraction import ComprehensiveFCParameters, extract_features, feature_calculators
from tsfresh.utilities.string_manipulation import convert_to_output_format

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.kernels import KERNELS


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


def tsfresh_values(calculator: str, parameter_sets: Sequence[Mapping[str, object]], series: FloatArray) -> list[float]:
    """Ask tsfresh's bare calculator for all parameter sets; NaN where it refuses the series."""
    function = getattr(feature_calculators, calculator)
    x = pd.Series(series) if getattr(function, "input", None) == "pd.Series" else series
    with warnings.catch_warnings(action="ignore"):
        try:
            if function.fctype == "combiner":
                return [float(value) for _, value in function(x, param=parameter_sets)]
            return [float(function(x, **parameters)) for parameters in parameter_sets]
        except Exception:
            return [float("nan")] * len(parameter_sets)


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
