"""Batched kernels: tsfresh's calculators for all series of a batch at once, under tsfresh's names.

A kernel takes a `Batch` and a calculator's parameters and gives one number a series, shape (series,). The
definitions and the answers for short and constant series are those of tsfresh 0.21
(https://tsfresh.readthedocs.io/en/latest/api/tsfresh.feature_extraction.html).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.compiled.lagged import autocorrelations, triple_means
from pulsetrain.streams.features.quantiles import MEDIAN, quantiles


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a parameter may have."""

    description: str
    contains: Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A batched calculator, and the parameters it takes."""

    compute: Callable[..., FloatArray]
    parameters: Mapping[str, Domain] = field(default_factory=dict)
    is_partial: bool = False
    """tsfresh's calculator has valid parameters beyond these, and serves them itself."""
    summary_field: Callable[..., str] | None = None
    """Names, for some parameters, the field of the batch's summary that is the answer, where one is."""
    quantile: Callable[..., float] | None = None
    """Names the quantile that is the answer, where one is."""

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


def _of_summary(
    field_of: Callable[..., str], parameters: Mapping[str, Domain] | None = None, is_partial: bool = False
) -> Kernel:
    """A kernel whose answer is a field of the summary."""

    def compute(batch: Batch, **given: object) -> FloatArray:
        answer: FloatArray = getattr(batch.summary, field_of(**given))
        return answer

    return Kernel(compute, parameters or {}, is_partial, field_of)


def _of_quantile(quantile_of: Callable[..., float], parameters: Mapping[str, Domain] | None = None) -> Kernel:
    """A kernel whose answer is a quantile."""

    def compute(batch: Batch, **given: object) -> FloatArray:
        answer: FloatArray = quantiles(batch, (quantile_of(**given),))[0]
        return answer

    return Kernel(compute, parameters or {}, quantile=quantile_of)


def _path_length(normalize: bool) -> str:
    """Complexity estimate: length of the path through the samples, of standardised ones if `normalize`.

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
    "mean": _of_summary(lambda: "mean"),
    "variance": _of_summary(lambda: "variance"),
    "standard_deviation": _of_summary(lambda: "standard_deviation"),
    "autocorrelation": Kernel(autocorrelation, {"lag": _LAG}),
    "c3": Kernel(c3, {"lag": _LAG}),
    "minimum": _of_summary(lambda: "minimum"),
    "maximum": _of_summary(lambda: "maximum"),
    "median": _of_quantile(lambda: MEDIAN),
    "quantile": _of_quantile(lambda q: q, {"q": _PROBABILITY}),
    "linear_trend": _of_summary(lambda attr: attr, {"attr": _SLOPE}, is_partial=True),
    "mean_abs_change": _of_summary(lambda: "mean_abs_change"),
    "cid_ce": _of_summary(_path_length, {"normalize": _FLAG}),
    "abs_energy": _of_summary(lambda: "energy"),
    "skewness": _of_summary(lambda: "skewness"),
    "kurtosis": _of_summary(lambda: "kurtosis"),
}
