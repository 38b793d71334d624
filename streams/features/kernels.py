"""Batched kernels: tsfresh's calculators for all series of a batch at once, under tsfresh's names.

A kernel takes a `Batch` and a calculator's parameters and gives one number a series, shape (series,). The
definitions and the answers for short and constant series are those of tsfresh 0.21
(https://tsfresh.readthedocs.io/en/latest/api/tsfresh.feature_extraction.html).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch, row_dot

NEARLY_ZERO_VARIANCE = 1e-8
"""tsfresh calls a variance up to this zero (the absolute tolerance of numpy.isclose)."""


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

    def covers(self, parameters: Mapping[str, object]) -> bool:
        """Whether the kernel computes the calculator for exactly these parameters."""
        return parameters.keys() == self.parameters.keys() and all(
            domain.contains(parameters[name]) for name, domain in self.parameters.items()
        )

    @property
    def usage(self) -> str:
        """The parameters it takes, in words."""
        return ", ".join(f"{name}: {domain.description}" for name, domain in self.parameters.items()) or "no parameters"


def mean(batch: Batch) -> FloatArray:
    """Arithmetic mean."""
    return batch.mean


def variance(batch: Batch) -> FloatArray:
    """Population variance."""
    return batch.variance


def standard_deviation(batch: Batch) -> FloatArray:
    """Population standard deviation."""
    return np.sqrt(batch.variance)


def autocorrelation(batch: Batch, lag: int) -> FloatArray:
    """Autocovariance at a lag, per pair of samples, over the variance.

    NaN where no pair is that far apart, and where the variance is nearly zero.
    """
    n_pairs = batch.n_samples - lag
    if n_pairs <= 0:
        return np.full(batch.n_series, np.nan)
    autocovariance = row_dot(batch.centred[:, :n_pairs], batch.centred[:, lag:]) / n_pairs
    return np.where(batch.variance <= NEARLY_ZERO_VARIANCE, np.nan, autocovariance / batch.variance)


def c3(batch: Batch, lag: int) -> FloatArray:
    """Mean of the products of three samples a lag apart, a measure of non-linearity; 0 where there are none.

    Schreiber and Schmitz, "Discrimination power of measures for nonlinearity in a time series", 1997.
    """
    n_triples = batch.n_samples - 2 * lag
    if n_triples <= 0:
        return np.zeros(batch.n_series)
    flat = batch.values.reshape(-1)
    later_two = batch.temporary  # one pass across the seams between series, as for the differences
    np.multiply(flat[2 * lag :], flat[lag : flat.size - lag], out=later_two.reshape(-1)[: flat.size - 2 * lag])
    return row_dot(later_two[:, :n_triples], batch.values[:, :n_triples]) / n_triples


def minimum(batch: Batch) -> FloatArray:
    """Smallest sample."""
    return batch.order_statistic(0)


def maximum(batch: Batch) -> FloatArray:
    """Largest sample."""
    return batch.order_statistic(-1)


def median(batch: Batch) -> FloatArray:
    """Middle sample, or the mean of the two in the middle."""
    upper = batch.n_samples // 2
    if batch.n_samples % 2:
        return batch.order_statistic(upper)
    return (batch.order_statistic(upper - 1) + batch.order_statistic(upper)) / 2


def quantile(batch: Batch, q: float) -> FloatArray:
    """Quantile with linear interpolation between neighbours, as numpy.quantile gives it.

    The interpolation starts from the nearer neighbour, so that the result never leaves the interval.
    """
    position = q * (batch.n_samples - 1)
    index = int(position)
    fraction = position - index
    below = batch.order_statistic(index)
    above = batch.order_statistic(min(index + 1, batch.n_samples - 1))
    if fraction < 0.5:
        return below + (above - below) * fraction
    return above - (above - below) * (1 - fraction)


def linear_trend(batch: Batch, attr: str) -> FloatArray:
    """Slope, the only `attr` served, of the least-squares line over the index; NaN for a single sample."""
    n = batch.n_samples
    centred_index = np.arange(n, dtype=np.float64) - (n - 1) / 2
    return row_dot(batch.centred, centred_index) / (n * (n**2 - 1) / 12)


def mean_abs_change(batch: Batch) -> FloatArray:
    """Mean of the absolute differences of neighbours; NaN for a single sample."""
    magnitudes = np.abs(batch.differences, out=batch.temporary)
    sums: FloatArray = magnitudes[:, :-1].sum(axis=-1)
    return sums / (batch.n_samples - 1)


def cid_ce(batch: Batch, normalize: bool) -> FloatArray:
    """Complexity estimate: length of the path through the samples, of standardised ones if `normalize`.

    Batista et al., "CID: an efficient complexity-invariant distance for time series", 2014.
    """
    if not normalize:
        return batch.path_length
    deviation = standard_deviation(batch)
    return np.divide(batch.path_length, deviation, out=np.zeros(batch.n_series), where=deviation != 0)


def abs_energy(batch: Batch) -> FloatArray:
    """Sum of squares."""
    return row_dot(batch.values, batch.values)


def skewness(batch: Batch) -> FloatArray:
    """Adjusted Fisher-Pearson skewness G1; NaN for constant series and for less than three samples.

    Joanes and Gill, "Comparing measures of sample skewness and kurtosis", 1998.
    """
    n = batch.n_samples
    if n < 3:
        return np.full(batch.n_series, np.nan)
    m2 = batch.squared_deviation
    m3 = row_dot(batch.centred_squares, batch.centred)
    adjusted = n * (n - 1) ** 0.5 / (n - 2) * (m3 / (m2 * np.sqrt(m2)))
    return np.where(batch.is_constant, np.nan, adjusted)


def kurtosis(batch: Batch) -> FloatArray:
    """Adjusted excess kurtosis G2; NaN for constant series and for less than four samples.

    Joanes and Gill, "Comparing measures of sample skewness and kurtosis", 1998.
    """
    n = batch.n_samples
    if n < 4:
        return np.full(batch.n_series, np.nan)
    m4 = row_dot(batch.centred_squares, batch.centred_squares)
    ratio = n * (n + 1) * m4 / batch.squared_deviation**2
    adjusted = (n - 1) / ((n - 2) * (n - 3)) * (ratio - 3 * (n - 1))
    return np.where(batch.is_constant, np.nan, adjusted)


def _is_lag(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


_LAG = Domain("an integer of at least 0", _is_lag)
_PROBABILITY = Domain("a number from 0 to 1", _is_probability)
_FLAG = Domain("true or false", lambda value: isinstance(value, bool))
_SLOPE = Domain('"slope"', lambda value: value == "slope")

KERNELS: Mapping[str, Kernel] = {
    "mean": Kernel(mean),
    "variance": Kernel(variance),
    "standard_deviation": Kernel(standard_deviation),
    "autocorrelation": Kernel(autocorrelation, {"lag": _LAG}),
    "c3": Kernel(c3, {"lag": _LAG}),
    "minimum": Kernel(minimum),
    "maximum": Kernel(maximum),
    "median": Kernel(median),
    "quantile": Kernel(quantile, {"q": _PROBABILITY}),
    "linear_trend": Kernel(linear_trend, {"attr": _SLOPE}, is_partial=True),
    "mean_abs_change": Kernel(mean_abs_change),
    "cid_ce": Kernel(cid_ce, {"normalize": _FLAG}),
    "abs_energy": Kernel(abs_energy),
    "skewness": Kernel(skewness),
    "kurtosis": Kernel(kurtosis),
}
