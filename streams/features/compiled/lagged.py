"""Features of samples that lie some samples apart."""

import math

import numba

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.jit import compiled, part
from pulsetrain.streams.features.compiled.lanes import WIDTH, load, total, whole, zeros

NEARLY_ZERO_VARIANCE = 1e-8
"""tsfresh calls a variance up to this zero (the absolute tolerance of numpy.isclose)."""


@part()
def _pair_sum(samples: FloatArray, lag: int) -> float:
    n_pairs = samples.size - lag
    products = zeros()
    for i in range(0, whole(n_pairs), WIDTH):
        products += load(samples, i) * load(samples, i + lag)
    pairs = total(products)
    for i in range(whole(n_pairs), n_pairs):
        pairs += samples[i] * samples[i + lag]
    return pairs


@part()
def _triple_sum(samples: FloatArray, lag: int) -> float:
    n_triples = samples.size - 2 * lag
    products = zeros()
    for i in range(0, whole(n_triples), WIDTH):
        products += load(samples, i) * load(samples, i + lag) * load(samples, i + 2 * lag)
    triples = total(products)
    for i in range(whole(n_triples), n_triples):
        triples += samples[i] * samples[i + lag] * samples[i + 2 * lag]
    return triples


@compiled(numba.void(numba.float64[:, ::1], numba.float64[::1], numba.int64, numba.float64[::1]))
def autocorrelations(centred: FloatArray, variances: FloatArray, lag: int, results: FloatArray) -> None:
    """Autocovariance at a lag, per pair of samples, over the variance; NaN where that is nearly zero.

    Takes centred values (series, samples), more samples than the lag, and variances (series,); fills in (series,).
    """
    n_pairs = centred.shape[1] - lag
    for s in range(centred.shape[0]):
        if variances[s] <= NEARLY_ZERO_VARIANCE:
            results[s] = math.nan
        else:
            results[s] = _pair_sum(centred[s], lag) / n_pairs / variances[s]


@compiled(numba.void(numba.float64[:, ::1], numba.int64, numba.float64[::1]))
def triple_means(values: FloatArray, lag: int, results: FloatArray) -> None:
    """Mean of the products of three samples a lag apart.

    Takes values (series, samples), more samples than twice the lag; fills in (series,).
    """
    n_triples = values.shape[1] - 2 * lag
    for s in range(values.shape[0]):
        results[s] = _triple_sum(values[s], lag) / n_triples
