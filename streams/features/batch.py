"""Series of equal length, and the intermediate results that several features of them share."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray

BoolArray = npt.NDArray[np.bool_]


def row_dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply row by row and sum: (series, n) and (series, n) or (n,) to (series,), without a temporary array."""
    products: FloatArray = np.vecdot(a, b)
    return products


class Batch:
    """Series of equal length; what features share is computed on first use and kept.

    Every array of full size lies in memory that the caller lends: touching pages fresh from the kernel would
    cost as much as the arithmetic.
    """

    ARRAYS = 5
    """How many arrays of the values' shape a batch needs: four that it keeps, and `temporary`."""

    def __init__(self, values: FloatArray, memory: Sequence[FloatArray]) -> None:
        """Take C-contiguous values (series, samples), at least one sample, and memory to overwrite.

        The memory is `ARRAYS` arrays like the values; no result may be used once it is lent again. A kernel
        may overwrite `temporary` and must have done with it when it returns.
        """
        self.values = values
        self.n_series: int = values.shape[0]
        self.n_samples: int = values.shape[1]
        self._sorted, self._centred, self._centred_squares, self._differences, self.temporary = memory

    @cached_property
    def is_finite(self) -> BoolArray:
        """(series,): no sample is missing or infinite."""
        finite: BoolArray = np.logical_and.reduce(np.isfinite(self.values), axis=-1)
        return finite

    @cached_property
    def sorted(self) -> FloatArray:
        """(series, samples), ascending."""
        self._sorted[:] = self.values
        self._sorted.sort(axis=-1)
        return self._sorted

    def order_statistic(self, rank: int) -> FloatArray:
        """(series,): the sample at a rank, counted from the smallest (0) or back from the largest (-1)."""
        samples: FloatArray = self.sorted[:, rank]
        return samples

    @cached_property
    def is_constant(self) -> BoolArray:
        """(series,): all samples are the same number."""
        return np.equal(self.order_statistic(0), self.order_statistic(-1))

    @cached_property
    def mean(self) -> FloatArray:
        """(series,), numpy's pairwise mean bit for bit.

        tsfresh centres by that number; at an offset of 1e9 and more any other summation gives other
        variances, autocorrelations and slopes.
        """
        means: FloatArray = self.values.mean(axis=-1)
        return means

    @cached_property
    def centred(self) -> FloatArray:
        """(series, samples), values less their series' mean."""
        return np.subtract(self.values, self.mean[:, np.newaxis], out=self._centred)

    @cached_property
    def centred_squares(self) -> FloatArray:
        """(series, samples)."""
        return np.multiply(self.centred, self.centred, out=self._centred_squares)

    @cached_property
    def squared_deviation(self) -> FloatArray:
        """(series,), sum of the squares of the centred values."""
        return row_dot(self.centred, self.centred)

    @cached_property
    def variance(self) -> FloatArray:
        """(series,), of the population: divided by the number of samples."""
        return self.squared_deviation / self.n_samples

    @cached_property
    def differences(self) -> FloatArray:
        """(series, samples): each sample's successor less the sample; the last column means nothing.

        One pass over all samples, across the seams between series, is several times as fast as one a series.
        """
        flat = self.values.reshape(-1)
        np.subtract(flat[1:], flat[:-1], out=self._differences.reshape(-1)[:-1])
        return self._differences

    @cached_property
    def path_length(self) -> FloatArray:
        """(series,), Euclidean norm of the differences."""
        steps = self.differences[:, :-1]
        return np.sqrt(row_dot(steps, steps))
