"""tsfresh's own calculators, one series at a time, for whatever no kernel covers.

tsfresh and pandas are imported when the first such calculator is asked for: that takes seconds.
"""

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.errors import FeatureError
from pulsetrain.streams.features.names import SEPARATOR, feature_suffix
from pulsetrain.streams.features.plan import Step

logger = logging.getLogger(__name__)

Calculation = Callable[[FloatArray], dict[str, Any]]
"""One series, shape (samples,), to the value of each of its features by suffix."""


def tsfresh_step(name: str, parameter_sets: Sequence[Mapping[str, object]]) -> Step | None:
    """Resolve a calculator of tsfresh and check its parameters by a trial on an ordinary series.

    Gives None where tsfresh computes nothing either: a calculator that needs the samples' times. Raises
    FeatureError if tsfresh has no such calculator or if the calculator refuses the parameters.
    """
    calculator = _find_calculator(name)
    if hasattr(calculator, "index_type"):
        logger.warning("feature %s left out: it needs the samples' times, series on a grid carry none", name)
        return None

    calculate = _calculation(name, calculator, parameter_sets)
    try:
        suffixes = _tried(calculate)
    except Exception as error:
        raise FeatureError(
            f"tsfresh's calculator {name!r} refuses {list(parameter_sets)}: {type(error).__name__}: {error}"
        ) from error

    def compute(batch: Batch) -> FloatArray:
        columns = np.full((batch.n_series, len(suffixes)), np.nan)
        columns[batch.is_finite] = _compute(name, calculate, suffixes, batch.values[batch.is_finite])
        return columns

    return Step(suffixes, compute)


def tsfresh_columns(name: str, parameter_sets: Sequence[Mapping[str, object]]) -> Callable[[FloatArray], FloatArray]:
    """One of tsfresh's calculators as a function of finite series (series, samples), giving (series, parameter sets).

    The parameters must be such as tsfresh names in the order in which they are given.
    """
    calculate = _calculation(name, _find_calculator(name), parameter_sets)
    suffixes = _tried(calculate)
    return lambda values: _compute(name, calculate, suffixes, values)


def _tried(calculate: Calculation) -> tuple[str, ...]:
    """The suffixes that a calculation gives for an ordinary series."""
    with warnings.catch_warnings(action="ignore"):
        return tuple(calculate(np.random.default_rng(0).normal(size=64)))


def _find_calculator(name: str) -> Any:
    from tsfresh.feature_extraction import feature_calculators

    calculator = getattr(feature_calculators, name, None)
    if not hasattr(calculator, "fctype"):
        raise FeatureError(f"tsfresh has no feature calculator {name!r}; correct the name in the feature set")
    return calculator


def _calculation(name: str, calculator: Any, parameter_sets: Sequence[Mapping[str, object]]) -> Calculation:
    """Wrap a calculator's two kinds of call, "simple" and "combiner", and its kind of input, as one function."""
    import pandas as pd

    def calculate(series: FloatArray) -> dict[str, Any]:
        x = pd.Series(series) if getattr(calculator, "input", None) == "pd.Series" else series
        if calculator.fctype == "combiner":
            pairs: Iterable[tuple[str, Any]] = calculator(x, param=parameter_sets)
            return {f"{name}{SEPARATOR}{key}": value for key, value in pairs}
        return {feature_suffix(name, parameters): calculator(x, **parameters) for parameters in parameter_sets}

    return calculate


def _compute(name: str, calculate: Calculation, suffixes: Sequence[str], values: FloatArray) -> FloatArray:
    """Compute (series, suffixes) of finite series; NaN for one at which the calculator fails."""
    columns = np.full((len(values), len(suffixes)), np.nan)
    failures: list[Exception] = []
    with warnings.catch_warnings(action="ignore"):
        for row, series in enumerate(values):
            try:
                features = calculate(series)
                columns[row] = [features.get(suffix, np.nan) for suffix in suffixes]
            except Exception as error:
                failures.append(error)
    if failures:
        logger.warning(
            "tsfresh's calculator %s failed at %d of %d series of %d samples, their values are missing: %r",
            name,
            len(failures),
            len(values),
            values.shape[1],
            failures[-1],
        )
    return columns
