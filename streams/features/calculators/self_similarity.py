"""How often short pieces of a series come again; compiled loops over all pairs of pieces."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch, BoolArray
from pulsetrain.streams.features.calculators.calculator import Calculator, Columns, ParameterSet, integers, single
from pulsetrain.streams.features.calculators.shared import numpy_deviation
from pulsetrain.streams.features.compiled.jit import compiled, part
from pulsetrain.streams.features.kernels import Domain

_TEMPLATE: Final = 2
_TOLERANCE: Final = 0.2
"""Usual choices for sample entropy, the tolerance in standard deviations; tsfresh fixes them."""


@part()
def _distance(series: FloatArray, first: int, second: int, length: int) -> float:
    """Largest difference between two pieces of a series."""
    largest = 0.0
    for i in range(length):
        largest = max(largest, abs(series[first + i] - series[second + i]))
    return largest


@compiled("void(float64[:,::1], float64[::1], boolean[::1], float64[::1])")
def _fill_sample_entropies(values: FloatArray, tolerances: FloatArray, is_finite: BoolArray, out: FloatArray) -> None:
    n_series, n_samples = values.shape
    for row in range(n_series):
        if not is_finite[row]:
            continue
        series = values[row]
        alike, longer_alike = 0.0, 0.0
        for first in range(n_samples - _TEMPLATE + 1):
            for second in range(first + 1, n_samples - _TEMPLATE + 1):
                if _distance(series, first, second, _TEMPLATE) <= tolerances[row]:
                    alike += 1
                    if second + _TEMPLATE < n_samples:
                        last = abs(series[first + _TEMPLATE] - series[second + _TEMPLATE])
                        longer_alike += last <= tolerances[row]
        out[row] = -math.log(longer_alike / alike) if longer_alike > 0 else (math.inf if alike > 0 else math.nan)


def sample_entropy(batch: Batch) -> FloatArray:
    """Logarithm of how many of the pairs of neighbours that come again go on alike.

    Infinite where none goes on alike, NaN where none comes again. Richman and Moorman, "Physiological time-series
    analysis using approximate entropy and sample entropy", 2000.
    """
    entropies = np.full(batch.n_series, np.nan)
    _fill_sample_entropies(batch.values, _TOLERANCE * numpy_deviation(batch), batch.is_finite, entropies)
    return entropies


@compiled("void(float64[::1], int64, float64[::1], float64[::1])")
def _fill_regularities(series: FloatArray, length: int, tolerances: FloatArray, out: FloatArray) -> None:
    """Fill out (tolerances,), ascending, with the mean logarithm of the share of pieces that are like a piece."""
    n_pieces = series.size - length + 1
    counts = np.ones((tolerances.size, n_pieces))
    for first in range(n_pieces):
        for second in range(first + 1, n_pieces):
            distance = _distance(series, first, second, length)
            column = tolerances.size - 1
            while column >= 0 and distance <= tolerances[column]:
                counts[column, first] += 1
                counts[column, second] += 1
                column -= 1
    for column in range(tolerances.size):
        total = 0.0
        for count in counts[column]:
            total += math.log(count / n_pieces)
        out[column] = total / n_pieces


def _approximate_entropy(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """How much less regular pieces of m + 1 samples are than pieces of m, within r standard deviations.

    0 for up to m + 1 samples. Pincus, "Approximate entropy as a measure of system complexity", 1991.
    """
    radii_of: dict[int, list[float]] = {}
    for m, r in sorted({(one["m"], one["r"]) for one in parameter_sets}):
        radii_of.setdefault(m, []).append(r)

    def compute(batch: Batch) -> FloatArray:
        features = np.zeros((batch.n_series, len(parameter_sets)))
        deviations = numpy_deviation(batch)
        for m, radii in radii_of.items():
            if batch.n_samples <= m + 1:
                continue
            shorter, longer = np.empty((2, len(radii)))
            for row in np.flatnonzero(batch.is_finite):
                tolerances = np.array(radii) * deviations[row]
                _fill_regularities(batch.values[row], m, tolerances, shorter)
                _fill_regularities(batch.values[row], m + 1, tolerances, longer)
                entropies = dict(zip(radii, np.abs(shorter - longer), strict=True))
                for column, one in enumerate(parameter_sets):
                    if one["m"] == m:
                        features[row, column] = entropies[one["r"]]
        return features

    return compute


def _is_radius(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "sample_entropy": single(sample_entropy),
    "approximate_entropy": Calculator(
        _approximate_entropy, {"m": integers(1, 100), "r": Domain("a finite number of at least 0", _is_radius)}
    ),
}
