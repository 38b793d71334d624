"""Batched kernels: tsfresh's calculators for all series of a batch at once, under tsfresh's names.

A kernel takes a `Batch` and a calculator's parameters and gives one number a series, shape (series,). The
definitions and the answers for short and constant series are those of tsfresh 0.21
(https://tsfresh.readthedocs.io/en/latest/api/tsfresh.feature_extraction.html).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.compiled.lagged import autocorrelations, triple_means
from pulsetrain.streams.features.plan import Step, quantile_step, summary_step
from pulsetrain.streams.features.quantiles import MEDIAN


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a parameter may have."""

    description: str
    contains: Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A batched calculator, and the parameters it takes."""

    step: Callable[[str, Mapping[str, Any]], Step]
    """Makes the step of one column, from its suffix and parameters that are covered."""
    parameters: Mapping[str, Domain] = field(default_factory=dict)
    is_partial: bool = False
    """tsfresh's calculator has valid parameters beyond these, and serves them itself."""

    def covers(self, parameters: Mapping[str, object]) -> bool:
        """Whether the kernel computes the calculator for exactly these parameters."""
        return parameters.keys() == self.parameters.keys() and all(
            domain.contains(parameters[name]) for name, domain in self.parameters.items()
        )

    @property
    def usage(self) -> str:
        """The parameters it takes, in words."""
        return ", ".join(f"{name}: {domain.description}" for name, domain in self.parameters.items()) or "no parameters"


def autocorrelation(batch: Batch, lag: int) -> FloatArray:
    """Autocovariance at a lag, per pair of samples, over the variance.

    NaN where no pair is that far apart, and where the variance is nearly zero.
    """
    if lag >= batch.n_samples:
        return np.full(batch.n_series, np.nan)
    results = np.empty(batch.n_series)
    autocorrelations(batch.centred, batch.summary.variance, lag, results)
    return results


def c3(batch: Batch, lag: int) -> FloatArray:
    """Mean of the products of three samples a lag apart, a measure of non-linearity; 0 where there are none.

    Schreiber and Schmitz, "Discrimination power of measures for nonlinearity in a time series", 1997.
    """
    if 2 * lag >= batch.n_samples:
        return np.zeros(batch.n_series)
    results = np.empty(batch.n_series)
    triple_means(batch.values, lag, results)
    return results


def _computed(compute: Callable[..., FloatArray]) -> Callable[[str, Mapping[str, Any]], Step]:
    """A step of a function of batch and parameters that gives one number a series."""

    def step(suffix: str, parameters: Mapping[str, Any]) -> Step:
        return Step((suffix,), lambda batch: compute(batch, **parameters)[:, None])

    return step


def _of_summary(field_of: Callable[..., str]) -> Callable[[str, Mapping[str, Any]], Step]:
    """A step that is a field of the summary; `field_of` names it for the parameters."""
    return lambda suffix, parameters: summary_step((suffix,), (field_of(**parameters),))


def _of_quantile(quantile_of: Callable[..., float]) -> Callable[[str, Mapping[str, Any]], Step]:
    """A step that is a quantile."""
    return lambda suffix, parameters: quantile_step((suffix,), (quantile_of(**parameters),))


def _path_length(normalize: bool) -> str:
    """The field that is the complexity estimate: length of the path through the samples, standardised if `normalize`.

    Batista et al., "CID: an efficient complexity-invariant distance for time series", 2014.
    """
    return "standardised_path_length" if normalize else "path_length"


def _is_lag(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


_LAG = Domain("an integer of at least 0", _is_lag)
_PROBABILITY = Domain("a number from 0 to 1", _is_probability)
_FLAG = Domain("true or false", lambda value: isinstance(value, bool))
_SLOPE = Domain('"slope"', lambda value: value == "slope")

KERNELS: Mapping[str, Kernel] = {
    "mean": Kernel(_of_summary(lambda: "mean")),
    "variance": Kernel(_of_summary(lambda: "variance")),
    "standard_deviation": Kernel(_of_summary(lambda: "standard_deviation")),
    "autocorrelation": Kernel(_computed(autocorrelation), {"lag": _LAG}),
    "c3": Kernel(_computed(c3), {"lag": _LAG}),
    "minimum": Kernel(_of_summary(lambda: "minimum")),
    "maximum": Kernel(_of_summary(lambda: "maximum")),
    "median": Kernel(_of_quantile(lambda: MEDIAN)),
    "quantile": Kernel(_of_quantile(lambda q: q), {"q": _PROBABILITY}),
    "linear_trend": Kernel(_of_summary(lambda attr: attr), {"attr": _SLOPE}, is_partial=True),
    "mean_abs_change": Kernel(_of_summary(lambda: "mean_abs_change")),
    "cid_ce": Kernel(_of_summary(_path_length), {"normalize": _FLAG}),
    "abs_energy": Kernel(_of_summary(lambda: "energy")),
    "skewness": Kernel(_of_summary(lambda: "skewness")),
    "kurtosis": Kernel(_of_summary(lambda: "kurtosis")),
}
