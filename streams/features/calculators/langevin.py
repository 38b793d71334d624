"""Drift of a Langevin model: how the next change depends on the level.

Friedrich et al., "Extracting model equations from experimental data", 2000.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch, BoolArray
from pulsetrain.streams.features.calculators.calculator import Calculator, ParameterSet, integers
from pulsetrain.streams.features.calculators.doubtful import Judged, doubtful_to_tsfresh
from pulsetrain.streams.features.calculators.shared import shared
from pulsetrain.streams.features.compiled.jit import compiled

_UNITS_IN_THE_LAST_PLACE: Final = 64
"""Bins narrower than that get equal names in pandas, or not, as rounding has it."""
_CACHED: Final = 16


@lru_cache(_CACHED)
def _shares(r: int) -> FloatArray:
    """The quantiles between r bins, as pandas.qcut takes them: rounded up where they have no exact float."""
    shares = np.linspace(0, 1, r + 1)
    inexact = r * shares != np.arange(r + 1)
    shares[inexact] = np.nextafter(shares[inexact], 1)
    return shares


@compiled("int64(float64[::1], float64[::1], float64[::1], float64[:,::1])")
def _bin_means(levels: FloatArray, changes: FloatArray, edges: FloatArray, means: FloatArray) -> int:
    """Fill means (2, bins) with the mean level and change of each bin that holds a level; give their number.

    Sums carry their rounding error along, as pandas' do: the polynomial through them magnifies the last bit.
    """
    n_bins = edges.size - 1
    sums, errors, counts = np.zeros((2, n_bins)), np.zeros((2, n_bins)), np.zeros(n_bins)
    for i in range(levels.size):
        place = max(np.searchsorted(edges, levels[i]) - 1, 0)
        if place >= n_bins:
            continue
        counts[place] += 1
        for which in range(2):
            term = (levels[i] if which == 0 else changes[i]) - errors[which, place]
            total = sums[which, place] + term
            errors[which, place] = total - sums[which, place] - term
            sums[which, place] = total
    n_filled = 0
    for place in range(n_bins):
        if counts[place] > 0:
            means[0, n_filled] = sums[0, place] / counts[place]
            means[1, n_filled] = sums[1, place] / counts[place]
            n_filled += 1
    return n_filled


@shared
def _drift(batch: Batch, m: int, r: int) -> tuple[FloatArray, BoolArray]:
    """Coefficients (series, m + 1) of a polynomial through the mean changes in r quantile bins of the level.

    NaN where bins have equal edges. With them the series whose bins are too narrow to be sure of.
    """
    coefficients = np.full((batch.n_series, m + 1), np.nan)
    doubtful = np.zeros(batch.n_series, dtype=np.bool_)
    if batch.n_samples == 1:
        return coefficients, doubtful
    levels = np.ascontiguousarray(batch.values[:, :-1])
    edges = np.ascontiguousarray(np.quantile(levels, _shares(r), axis=1).T)
    narrowest = np.diff(edges, axis=1).min(axis=1)
    largest = np.abs(edges).max(axis=1)
    doubtful = (narrowest > 0) & (narrowest < _UNITS_IN_THE_LAST_PLACE * np.spacing(largest))
    means = np.empty((2, r))
    with warnings.catch_warnings(action="ignore"):  # the fit may be ill-conditioned, as tsfresh's own
        for row in np.flatnonzero((narrowest > 0) & ~doubtful):
            n_filled = _bin_means(levels[row], batch.differences[row, :-1], edges[row], means)
            try:
                coefficients[row] = np.polyfit(means[0, :n_filled], means[1, :n_filled], deg=m)
            except np.linalg.LinAlgError:
                continue
    return coefficients, doubtful


def _friedrich_coefficients(parameter_sets: Sequence[ParameterSet]) -> Judged:
    """Coefficients of the drift polynomial, that of the highest power first; NaN beyond the last one."""

    def compute(batch: Batch) -> tuple[FloatArray, BoolArray]:
        features = np.full((batch.n_series, len(parameter_sets)), np.nan)
        doubtful = np.zeros(batch.n_series, dtype=np.bool_)
        for m, r in {(one["m"], one["r"]) for one in parameter_sets}:
            coefficients, doubted = _drift(batch, m, r)
            doubtful |= doubted
            for column, one in enumerate(parameter_sets):
                if (one["m"], one["r"]) == (m, r) and one["coeff"] <= m:
                    features[:, column] = coefficients[:, one["coeff"]]
        return features, doubtful

    return compute


def _max_langevin_fixed_point(parameter_sets: Sequence[ParameterSet]) -> Judged:
    """Largest real part among the roots of the drift polynomial."""

    def compute(batch: Batch) -> tuple[FloatArray, BoolArray]:
        features = np.full((batch.n_series, len(parameter_sets)), np.nan)
        doubtful = np.zeros(batch.n_series, dtype=np.bool_)
        for column, one in enumerate(parameter_sets):
            coefficients, doubted = _drift(batch, one["m"], one["r"])
            doubtful |= doubted
            features[:, column] = _largest_roots(coefficients)
        return features, doubtful

    return compute


def _largest_roots(coefficients: FloatArray) -> FloatArray:
    """Largest real part of the roots of each polynomial (series, degree + 1); NaN where it has none."""
    largest = np.full(len(coefficients), np.nan)
    for row in np.flatnonzero(np.isfinite(coefficients).all(axis=1)):
        roots = np.roots(coefficients[row])
        if roots.size:
            largest[row] = roots.real.max()
    return largest


_DEGREE = integers(1, 20)
_BINS = integers(1, 10_000)

CALCULATORS: Final[Mapping[str, Calculator]] = {
    "friedrich_coefficients": Calculator(
        doubtful_to_tsfresh("friedrich_coefficients", _friedrich_coefficients),
        {"m": _DEGREE, "r": _BINS, "coeff": integers(0, 1_000)},
        asks_tsfresh=True,
    ),
    "max_langevin_fixed_point": Calculator(
        doubtful_to_tsfresh("max_langevin_fixed_point", _max_langevin_fixed_point),
        {"m": _DEGREE, "r": _BINS},
        asks_tsfresh=True,
    ),
}
