"""From series to features."""

import threading

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.errors import FeatureError
from pulsetrain.streams.features.feature_set import FeatureSet

SAMPLES_PER_BATCH = 65_536
"""A batch's working memory then stays at 2.6 MB, near the size of a core's own cache."""


class _Memory(threading.local):
    """Working memory that a thread keeps from call to call."""

    def __init__(self) -> None:
        self._values: FloatArray = np.empty(0)

    def lend(self, count: int, like: FloatArray) -> list[FloatArray]:
        """Lend arrays of the shape of another, with any content, to be used until the next call."""
        size = count * like.size
        if self._values.size < size:
            self._values = np.empty(size)
        return list(self._values[:size].reshape(count, *like.shape))


_memory = _Memory()


def extract(values: FloatArray, feature_set: FeatureSet) -> FloatArray:
    """Compute the features of each series.

    Takes values of shape (series, samples), float64; gives (series, features) in the order of
    `feature_set.suffixes`. A series with a missing (NaN) or infinite sample has NaN for every feature, and so has
    a series without samples. Too short or constant series have what tsfresh gives, often NaN.

    Raises FeatureError if the values have another number of dimensions.
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if not values.flags.carray:  # compiled code takes aligned arrays that can be written
        values = values.copy()
    if values.ndim != 2:
        raise FeatureError(f"values have the shape (series, samples), not {values.shape}; reshape them first")
    n_series, n_samples = values.shape
    features = np.full((n_series, len(feature_set.suffixes)), np.nan)
    if n_samples:
        series_per_batch = max(1, SAMPLES_PER_BATCH // n_samples)
        for start in range(0, n_series, series_per_batch):
            part = slice(start, start + series_per_batch)
            _extract_batch(values[part], feature_set, out=features[part])
    return features


def _extract_batch(values: FloatArray, feature_set: FeatureSet, out: FloatArray) -> None:
    batch = Batch(values, _memory.lend(Batch.ARRAYS, like=values))
    column = 0
    with np.errstate(all="ignore"):  # a constant series divides by zero: the NaN is the answer
        for step in feature_set.plan:
            width = len(step.suffixes)
            out[:, column : column + width] = step.compute(batch)
            column += width
    out[~batch.is_finite] = np.nan
