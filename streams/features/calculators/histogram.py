"""Entropies of histograms, counted as numpy counts them."""

import math

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.compiled.jit import compiled, part


@part()
def _entropy_of_counts(counts: IntArray, total: int) -> float:
    """Natural entropy of the shares that counts have in a total; empty ones add nothing."""
    entropy = 0.0
    for count in counts:
        if count > 0:
            share = count / total
            entropy -= share * math.log(share)
    return entropy


@part()
def _edges_differ(lowest: float, step: float, n_bins: int) -> bool:
    """Whether each edge is above the one before it; numpy refuses a histogram where rounding makes them equal."""
    before = lowest
    for number in range(1, n_bins + 1):
        edge = number * step + lowest
        if edge <= before:
            return False
        before = edge
    return True


@compiled("void(float64[:,:], int64[::1], float64[:,::1])")
def _fill_binned_entropies(values: FloatArray, bins: IntArray, out: FloatArray) -> None:
    n_series, n_samples = values.shape
    for row in range(n_series):
        series = values[row]
        lowest, highest = series.min(), series.max()
        if not (math.isfinite(lowest) and math.isfinite(highest) and math.isfinite(highest - lowest)):
            out[row] = np.nan
            continue
        if lowest == highest:
            lowest, highest = lowest - 0.5, highest + 0.5
        width = highest - lowest
        for column in range(bins.size):
            n_bins = bins[column]
            step = width / n_bins
            if not _edges_differ(lowest, step, n_bins):
                out[row, column] = np.nan
                continue
            counts = np.zeros(n_bins, dtype=np.int64)
            for value in series:
                # A bin holds its lower edge; the value decides where the quotient was rounded over an edge.
                place = min(int((value - lowest) / width * n_bins), n_bins - 1)
                if value < place * step + lowest:
                    place -= 1
                elif place < n_bins - 1 and value >= (place + 1) * step + lowest:
                    place += 1
                counts[place] += 1
            out[row, column] = _entropy_of_counts(counts, n_samples)


def binned_entropies(values: FloatArray, bins: IntArray) -> FloatArray:
    """(series, numbers of bins): entropy of each series' histogram in equal bins between its extremes.

    NaN for a series with a value that is not finite, or whose range is not, and where the range is too narrow for so
    many bins.
    """
    entropies = np.empty((len(values), bins.size))
    _fill_binned_entropies(values, bins, entropies)
    return entropies


@compiled("void(int64[:,::1], int64, float64[::1])")
def _fill_code_entropies(codes: IntArray, n_codes: int, out: FloatArray) -> None:
    n_series, n_windows = codes.shape
    counts = np.zeros(n_codes, dtype=np.int64)
    for row in range(n_series):
        counts[:] = 0
        for code in codes[row]:
            counts[code] += 1
        out[row] = _entropy_of_counts(counts, n_windows)


def code_entropies(codes: IntArray, n_codes: int) -> FloatArray:
    """(series,): entropy of the shares of each code from 0 to `n_codes` - 1 among codes of shape (series, windows)."""
    entropies = np.empty(len(codes))
    _fill_code_entropies(codes, n_codes, entropies)
    return entropies
