"""Products of samples, summed: the same bits on every processor, which a BLAS library does not promise.

BLAS takes other instructions, and so another order of summing, from one model of processor to the next.
"""

import numba
import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.jit import compiled, part
from pulsetrain.streams.features.compiled.lanes import WIDTH, load, total, whole, zeros


@part()
def _dot(a: FloatArray, b: FloatArray) -> float:
    """Takes contiguous samples (n,) and (n,)."""
    products, more_products = zeros(), zeros()
    n_pairwise = a.size - a.size % (2 * WIDTH)
    for i in range(0, n_pairwise, 2 * WIDTH):
        products += load(a, i) * load(b, i)
        more_products += load(a, i + WIDTH) * load(b, i + WIDTH)
    for i in range(n_pairwise, whole(a.size), WIDTH):
        products += load(a, i) * load(b, i)
    dot = total(products + more_products)
    for i in range(whole(a.size), a.size):
        dot += a[i] * b[i]
    return dot


@compiled(numba.void(numba.float64[:, :], numba.float64[:, :], numba.float64[::1]))
def _fill_row_dots(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    one_for_all = b.shape[0] == 1
    for row in range(a.shape[0]):
        out[row] = _dot(a[row], b[0 if one_for_all else row])


@compiled(numba.void(numba.float64[:, :], numba.float64[:, :], numba.float64[:, ::1]))
def _fill_pair_dots(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    for row in range(a.shape[0]):
        for column in range(b.shape[0]):
            out[row, column] = _dot(a[row], b[column])


def row_dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply row by row and sum: (series, n) and (series, n) or (n,) to (series,), without a temporary array."""
    dots = np.empty(len(a))
    _fill_row_dots(_with_contiguous_rows(a), _with_contiguous_rows(np.atleast_2d(b)), dots)
    return dots


def pair_dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply each row of one array with each of the other and sum: (series, n) and (m, n) to (series, m)."""
    dots = np.empty((len(a), len(b)))
    _fill_pair_dots(_with_contiguous_rows(a), _with_contiguous_rows(b), dots)
    return dots


def _with_contiguous_rows(rows: FloatArray) -> FloatArray:
    """The array itself if the samples of a row lie side by side, as in a slice of a batch, and a copy otherwise."""
    return rows if rows.strides[-1] == rows.itemsize else np.ascontiguousarray(rows)
