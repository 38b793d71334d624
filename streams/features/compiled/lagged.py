"""Features of samples that lie some samples apart."""

import math

import numba
import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.jit import compiled, part
from pulsetrain.streams.features.compiled.lanes import WIDTH, load, total, whole, zeros

NEARLY_ZERO_VARIANCE = 1e-8
"""tsfresh calls a variance up to this zero (the absolute tolerance of numpy.isclose)."""

_TOGETHER = 4
"""A sum waits for its previous addition; so many series at once fill the time."""


@part()
def _pair_sums(rows: FloatArray, s: int, lag: int, sums: FloatArray) -> None:
    """Sums of products of two samples a lag apart, of the series `s` and the three after it, or the last one again."""
    last, n_pairs = rows.shape[0] - 1, rows.shape[1] - lag
    a, b, c, d = rows[s], rows[min(s + 1, last)], rows[min(s + 2, last)], rows[min(s + 3, last)]
    of_a, of_b, of_c, of_d = zeros(), zeros(), zeros(), zeros()
    for i in range(0, whole(n_pairs), WIDTH):
        of_a += load(a, i) * load(a, i + lag)
        of_b += load(b, i) * load(b, i + lag)
        of_c += load(c, i) * load(c, i + lag)
        of_d += load(d, i) * load(d, i + lag)
    sums[0], sums[1], sums[2], sums[3] = total(of_a), total(of_b), total(of_c), total(of_d)
    for i in range(whole(n_pairs), n_pairs):
        sums[0] += a[i] * a[i + lag]
        sums[1] += b[i] * b[i + lag]
        sums[2] += c[i] * c[i + lag]
        sums[3] += d[i] * d[i + lag]


@part()
def _triple_sums(rows: FloatArray, s: int, lag: int, sums: FloatArray) -> None:
    """Sums of products of three samples a lag apart, of the same series as in `_pair_sums`."""
    last, n_triples = rows.shape[0] - 1, rows.shape[1] - 2 * lag
    a, b, c, d = rows[s], rows[min(s + 1, last)], rows[min(s + 2, last)], rows[min(s + 3, last)]
    of_a, of_b, of_c, of_d = zeros(), zeros(), zeros(), zeros()
    for i in range(0, whole(n_triples), WIDTH):
        of_a += load(a, i) * load(a, i + lag) * load(a, i + 2 * lag)
        of_b += load(b, i) * load(b, i + lag) * load(b, i + 2 * lag)
        of_c += load(c, i) * load(c, i + lag) * load(c, i + 2 * lag)
        of_d += load(d, i) * load(d, i + lag) * load(d, i + 2 * lag)
    sums[0], sums[1], sums[2], sums[3] = total(of_a), total(of_b), total(of_c), total(of_d)
    for i in range(whole(n_triples), n_triples):
        sums[0] += a[i] * a[i + lag] * a[i + 2 * lag]
        sums[1] += b[i] * b[i + lag] * b[i + 2 * lag]
        sums[2] += c[i] * c[i + lag] * c[i + 2 * lag]
        sums[3] += d[i] * d[i + lag] * d[i + 2 * lag]


@compiled(numba.void(numba.float64[:, ::1], numba.float64[::1], numba.int64, numba.float64[::1]))
def autocorrelations(centred: FloatArray, variances: FloatArray, lag: int, results: FloatArray) -> None:
    """Autocovariance at a lag, per pair of samples, over the variance; NaN where that is nearly zero.

    Takes centred values (series, samples), more samples than the lag, and variances (series,); fills in (series,).
    """
    n_pairs = centred.shape[1] - lag
    sums = np.empty(_TOGETHER)
    for s in range(0, centred.shape[0], _TOGETHER):
        _pair_sums(centred, s, lag, sums)
        for k in range(min(_TOGETHER, centred.shape[0] - s)):
            is_flat = variances[s + k] <= NEARLY_ZERO_VARIANCE
            results[s + k] = math.nan if is_flat else sums[k] / n_pairs / variances[s + k]


@compiled(numba.void(numba.float64[:, ::1], numba.int64, numba.float64[::1]))
def triple_means(values: FloatArray, lag: int, results: FloatArray) -> None:
    """Mean of the products of three samples a lag apart.

    Takes values (series, samples), more samples than twice the lag; fills in (series,).
    """
    n_triples = values.shape[1] - 2 * lag
    sums = np.empty(_TOGETHER)
    for s in range(0, values.shape[0], _TOGETHER):
        _triple_sums(values, s, lag, sums)
        for k in range(min(_TOGETHER, values.shape[0] - s)):
            results[s + k] = sums[k] / n_triples
