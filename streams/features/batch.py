"""Series of equal length, and the intermediate results that several features of them share."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.summary import Summary, summarise
from pulsetrain.streams.features.ranks import Ranks

BoolArray = npt.NDArray[np.bool_]


def row_dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply row by row and sum: (series, n) and (series, n) or (n,) to (series,), without a temporary array."""
    products: FloatArray = np.vecdot(a, b)
    return products


class Batch:
    """Series of equal length; what nearly all features need is computed at once, the rest on first use and kept.

    Every array of full size lies in memory that the caller lends: touching pages fresh from the kernel would
    cost as much as the arithmetic.
    """

    ARRAYS = 4
    """How many arrays of the values' shape a batch needs: three that it keeps, and `temporary`."""

    def __init__(self, values: FloatArray, memory: Sequence[FloatArray]) -> None:
        """Take C-contiguous values (series, samples), at least one sample, and memory to overwrite.

        The memory is `ARRAYS` arrays like the values; no result may be used once it is lent again. A kernel
        may overwrite `temporary` and must have done with it when it returns.
        """
        self.values = values
        self.n_series: int = values.shape[0]
        self.n_samples: int = values.shape[1]
        self.centred: FloatArray
        """(series, samples), values less their series' mean."""
        self.centred, self._sorted, self._differences, self.temporary = memory
        self.mean: FloatArray = np.add.reduce(values, axis=-1) / self.n_samples
        """(series,), numpy's pairwise mean bit for bit.

        tsfresh centres by that number; at an offset of 1e9 and more any other summation gives other
        variances, autocorrelations and slopes.
        """
        self.is_finite: BoolArray = np.empty(self.n_series, np.bool_)
        """(series,): no sample is missing or infinite."""
        self.summary = Summary.empty(self.n_series)
        summarise(values, self.mean, self.centred, self.is_finite, self.summary)

    @property
    def variance(self) -> FloatArray:
        """(series,), of the population: divided by the number of samples."""
        return self.summary.variance

    @property
    def is_constant(self) -> BoolArray:
        """(series,): all samples are the same number."""
        return np.equal(self.summary.minimum, self.summary.maximum)

    @cached_property
    def ranks(self) -> Ranks:
        """Finds samples by their rank; NaN for a series that is not finite."""
        return Ranks(self.values, self.summary.minimum, self.summary.maximum)

    @cached_property
    def sorted(self) -> FloatArray:
        """(series, samples), ascending."""
        self._sorted[:] = self.values
        self._sorted.sort(axis=-1)
        return self._sorted

    @cached_property
    def differences(self) -> FloatArray:
        """(series, samples): each sample's successor less the sample; the last column means nothing.

        One pass over all samples, across the seams between series, is several times as fast as one a series.
        """
        flat = self.values.reshape(-1)
        np.subtract(flat[1:], flat[:-1], out=self._differences.reshape(-1)[:-1])
        return self._differences
