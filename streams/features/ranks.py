"""Samples of many series by their rank."""

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.order_statistics import Buckets, neighbours, share_out


class Ranks:
    """Finds samples by rank: in buckets, and in sorted copies of the series whose samples crowd into few of them."""

    def __init__(self, values: FloatArray, minimum: FloatArray, maximum: FloatArray) -> None:
        """Take C-contiguous values (series, samples) and their extremes (series,), NaN if they are not finite."""
        self._series = values, minimum, maximum
        self._buckets = Buckets.empty(*values.shape)
        is_crowded = np.empty(len(values), np.bool_)
        share_out(*self._series, *self._buckets, is_crowded)
        self._crowded = is_crowded.nonzero()[0]
        self._sorted = np.sort(values[self._crowded], axis=-1) if self._crowded.size else values[:0]

    def pair(self, rank: int) -> tuple[FloatArray, FloatArray]:
        """Find the samples at a rank, counted from 0, and at the next, (series,) each; the last is its own next.

        NaN for a series that is not finite.
        """
        found = np.empty((2, len(self._series[0])))
        neighbours(*self._series, *self._buckets, rank, found)
        if self._crowded.size:
            last = self._sorted.shape[1] - 1
            found[:, self._crowded] = self._sorted[:, [rank, min(rank + 1, last)]].T
        return found[0], found[1]
