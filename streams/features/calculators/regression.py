"""Least-squares lines over equidistant points, with the statistics of scipy.stats.linregress."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.dots import row_dot

_TINY = 1e-20
"""linregress adds it to 1 - r and 1 + r, so that a perfect line has a finite t statistic."""

ATTRIBUTES = ("slope", "intercept", "rvalue", "pvalue", "stderr")


@dataclass(frozen=True, slots=True)
class Lines:
    """One line a series, each attribute of shape (series,)."""

    slope: FloatArray
    intercept: FloatArray
    rvalue: FloatArray
    degrees_of_freedom: int
    _variance_ratio: FloatArray
    """Variance of the values over that of the index."""
    _is_flat: FloatArray
    """Of two points: whether they are equal."""

    @property
    def stderr(self) -> FloatArray:
        """Standard error of the slope; 0 for two points."""
        if self.degrees_of_freedom == 0:
            return np.zeros(self.slope.size)
        return np.sqrt((1 - self.rvalue**2) * self._variance_ratio / self.degrees_of_freedom)

    @property
    def pvalue(self) -> FloatArray:
        """Two-sided probability of such a slope where there is none; for two points, whether they are equal."""
        if self.degrees_of_freedom == 0:
            return self._is_flat
        if self.degrees_of_freedom < 0:
            return np.full(self.slope.size, np.nan)
        margins = (1 - self.rvalue + _TINY) * (1 + self.rvalue + _TINY)
        statistic = self.rvalue * np.sqrt(self.degrees_of_freedom / margins)
        probability: FloatArray = 2 * stdtr(self.degrees_of_freedom, -np.abs(statistic))
        return probability


def fit_lines(values: FloatArray, means: FloatArray, centred: FloatArray) -> Lines:
    """Fit values (series, points), given less their means (series,) too, over the index of the points.

    The correlation is NaN where the values don't vary. A single point gives NaN throughout.
    """
    n = values.shape[1]
    index = np.arange(n, dtype=np.float64) - (n - 1) / 2
    index_variance = (n**2 - 1) / 12
    variances = row_dot(centred, centred) / n
    covariances = row_dot(centred, index) / n
    with np.errstate(all="ignore"):
        slope = covariances / index_variance if index_variance else np.full(len(values), np.nan)
        correlation = np.clip(covariances / np.sqrt(index_variance * variances), -1.0, 1.0)
        correlation = np.where((variances == 0) & (covariances != 0), 0.0, correlation)
    return Lines(
        slope=slope,
        intercept=means - slope * (n - 1) / 2,
        rvalue=correlation,
        degrees_of_freedom=n - 2,
        _variance_ratio=variances / index_variance if index_variance else slope,
        _is_flat=np.equal(values[:, 0], values[:, -1]).astype(np.float64),
    )
