"""Quantiles from the samples beside them."""

import numba

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.compiled.jit import compiled


@compiled(
    numba.void(numba.float64[:, ::1], numba.int64[::1], numba.int64[::1], numba.float64[::1], numba.float64[:, ::1])
)
def interpolate(found: FloatArray, lower: IntArray, upper: IntArray, shares: FloatArray, quantiles: FloatArray) -> None:
    """Fill in what lies between two samples, starting from the nearer one, so that it never leaves the interval.

    Args:
        found: (ranks, series).
        lower: rows of the sample below each quantile, (quantiles,).
        upper: rows of the sample above.
        shares: how far from the lower to the upper one, from 0 to 1; negative for the mean of the two.
        quantiles: filled in, (quantiles, series).
    """
    for k in range(lower.size):
        share = shares[k]
        for s in range(found.shape[1]):
            low, high = found[lower[k], s], found[upper[k], s]
            if low == high or share == 0:
                quantiles[k, s] = low
            elif share < 0:
                quantiles[k, s] = (low + high) / 2
            elif share < 0.5:
                quantiles[k, s] = low + (high - low) * share
            else:
                quantiles[k, s] = high - (high - low) * (1 - share)
