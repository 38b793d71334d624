"""Runs of samples on one side of the mean, and peaks."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.calculators.calculator import Calculator, Columns, ParameterSet, integers, single
from pulsetrain.streams.features.calculators.shared import shared
from pulsetrain.streams.features.compiled.jit import compiled


@compiled("void(float64[:,::1], float64[::1], float64[:,::1])")
def _fill_longest_runs(values: FloatArray, means: FloatArray, out: FloatArray) -> None:
    """Fill out (series, 2) with the longest runs below and above the mean."""
    for row in range(values.shape[0]):
        below, above, longest_below, longest_above = 0, 0, 0, 0
        for value in values[row]:
            below = below + 1 if value < means[row] else 0
            above = above + 1 if value > means[row] else 0
            longest_below = max(longest_below, below)
            longest_above = max(longest_above, above)
        out[row, 0], out[row, 1] = longest_below, longest_above


@shared
def _longest_runs(batch: Batch) -> FloatArray:
    runs = np.empty((batch.n_series, 2))
    _fill_longest_runs(batch.values, batch.mean, runs)
    return runs


def longest_strike_below_mean(batch: Batch) -> FloatArray:
    """Number of samples in the longest run below the mean."""
    return _longest_runs(batch)[:, 0]


def longest_strike_above_mean(batch: Batch) -> FloatArray:
    """Number of samples in the longest run above the mean."""
    return _longest_runs(batch)[:, 1]


@compiled("void(float64[:,::1], int64[::1], float64[:,::1])")
def _fill_peak_counts(values: FloatArray, supports: IntArray, out: FloatArray) -> None:
    """Fill out (series, supports) with the numbers of samples above that many neighbours on either side."""
    n_series, n_samples = values.shape
    out[:] = 0.0
    widest = supports.max()
    for row in range(n_series):
        series = values[row]
        for i in range(1, n_samples - 1):
            reach = min(i, n_samples - 1 - i, widest)
            support = 0
            while support < reach and series[i] > series[i - support - 1] and series[i] > series[i + support + 1]:
                support += 1
            if support > 0:
                for column in range(supports.size):
                    if support >= supports[column]:
                        out[row, column] += 1


def _number_peaks(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Number of samples that are above their n neighbours to the left and the n to the right."""
    supports = np.array([one["n"] for one in parameter_sets], dtype=np.int64)

    def compute(batch: Batch) -> FloatArray:
        counts = np.empty((batch.n_series, supports.size))
        _fill_peak_counts(batch.values, supports, counts)
        return counts

    return compute


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "longest_strike_below_mean": single(longest_strike_below_mean),
    "longest_strike_above_mean": single(longest_strike_above_mean),
    "number_peaks": Calculator(_number_peaks, {"n": integers(1, 1_000_000)}),
}
