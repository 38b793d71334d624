"""Entropy of values, of orders of neighbours, and complexity of the sequence."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.batch import Batch, BoolArray
from pulsetrain.streams.features.calculators.calculator import Calculator, Columns, ParameterSet, integers
from pulsetrain.streams.features.calculators.histogram import binned_entropies, code_entropies
from pulsetrain.streams.features.compiled.jit import compiled


def _binned_entropy(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Entropy of the histogram of the samples in bins of equal width."""
    bins = np.array([one["max_bins"] for one in parameter_sets], dtype=np.int64)
    return lambda batch: binned_entropies(batch.values, bins)


@compiled("void(float64[:,::1], boolean[::1], int64[::1], float64[:,::1])")
def _fill_complexities(values: FloatArray, is_finite: BoolArray, bins: IntArray, out: FloatArray) -> None:
    """Fill out (series, numbers of bins) with the numbers of words over the numbers of samples.

    The words seen so far are a tree: each is an earlier one and one more letter. `child` has the branch of a word
    for a letter, 0 where there is none. NaN where the range of the samples is beyond that of a float.
    """
    n_series, n_samples = values.shape
    letters = np.empty(n_samples, dtype=np.int64)
    child = np.empty((n_samples + 1, bins.max()), dtype=np.int32)
    for row in range(n_series):
        series = values[row]
        lowest, highest = series.min(), series.max()
        for column in range(bins.size):
            if not (is_finite[row] and math.isfinite(highest - lowest)):
                out[row, column] = np.nan
                continue
            n_bins = bins[column]
            step = (highest - lowest) / n_bins
            for i in range(n_samples):
                letter = min(int((series[i] - lowest) / step), n_bins - 1) if step > 0 else 0
                # A letter is the number of upper edges below the sample; the last edge is the largest sample itself.
                while letter > 0 and series[i] <= letter * step + lowest:
                    letter -= 1
                while letter < n_bins - 1 and series[i] > (letter + 1) * step + lowest:
                    letter += 1
                letters[i] = letter
            child[0, :n_bins] = 0
            n_words, word = 0, 0
            for i in range(n_samples):
                branch = child[word, letters[i]]
                if branch > 0:
                    word = branch
                else:
                    n_words += 1
                    child[word, letters[i]] = n_words
                    child[n_words, :n_bins] = 0
                    word = 0
            out[row, column] = n_words / n_samples


def _lempel_ziv_complexity(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Number of words that the binned series splits into, each not seen before, over the number of samples.

    Lempel and Ziv, "On the complexity of finite sequences", 1976, in the variant of their compression of 1978.
    """
    bins = np.array([one["bins"] for one in parameter_sets], dtype=np.int64)

    def compute(batch: Batch) -> FloatArray:
        complexities = np.empty((batch.n_series, bins.size))
        _fill_complexities(batch.values, batch.is_finite, bins, complexities)
        return complexities

    return compute


_LONGEST_PATTERN: Final = 7


@compiled("void(float64[:,::1], int64, int64, int64[:,::1], boolean[:,::1])")
def _rank_patterns(values: FloatArray, dimension: int, tau: int, codes: IntArray, has_ties: BoolArray) -> None:
    """Number each window's order (Lehmer code), codes (series, windows); mark windows with equal samples."""
    n_series, n_windows = codes.shape
    for row in range(n_series):
        for window in range(n_windows):
            start = window * tau
            code, ties = 0, False
            for i in range(dimension - 1):
                smaller = 0
                for j in range(i + 1, dimension):
                    smaller += values[row, start + j] < values[row, start + i]
                    ties |= values[row, start + j] == values[row, start + i]
                code = code * (dimension - i) + smaller
            codes[row, window] = code
            has_ties[row, window] = ties


def _code_of_ranks(ranks: IntArray) -> IntArray:
    dimension = ranks.shape[-1]
    code = np.zeros(len(ranks), dtype=np.int64)
    for i in range(dimension - 1):
        code = code * (dimension - i) + np.count_nonzero(ranks[:, i + 1 :] < ranks[:, i : i + 1], axis=-1)
    return code


def permutation_entropy(batch: Batch, tau: int, dimension: int) -> FloatArray:
    """Entropy of the orders of `dimension` neighbours, in windows that start every `tau` samples.

    NaN where no window fits. Equal samples are ordered as numpy's argsort orders them, which is tsfresh's answer.

    Bandt and Pompe, "Permutation entropy: a natural complexity measure for time series", 2002.
    """
    n_windows = (batch.n_samples - dimension) // tau + 1
    if n_windows <= 0:
        return np.full(batch.n_series, np.nan)
    codes = np.empty((batch.n_series, n_windows), dtype=np.int64)
    has_ties = np.empty(codes.shape, dtype=np.bool_)
    _rank_patterns(batch.values, dimension, tau, codes, has_ties)
    rows, windows = np.nonzero(has_ties)
    if rows.size:
        samples = batch.values[rows[:, np.newaxis], windows[:, np.newaxis] * tau + np.arange(dimension)]
        codes[rows, windows] = _code_of_ranks(np.argsort(np.argsort(samples)))
    return code_entropies(codes, math.factorial(dimension))


def _permutation_entropy(parameter_sets: Sequence[ParameterSet]) -> Columns:
    return lambda batch: np.stack([permutation_entropy(batch, **one) for one in parameter_sets], axis=1)


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "binned_entropy": Calculator(_binned_entropy, {"max_bins": integers(1, 10_000)}),
    "lempel_ziv_complexity": Calculator(_lempel_ziv_complexity, {"bins": integers(1, 1_000)}),
    "permutation_entropy": Calculator(
        _permutation_entropy, {"tau": integers(1, 1_000_000), "dimension": integers(2, _LONGEST_PATTERN)}
    ),
}
