"""From series to features."""

from functools import lru_cache

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.errors import FeatureError
from pulsetrain.streams.features.feature_set import FeatureSet
from pulsetrain.streams.features.ranks import KnownRanks
from pulsetrain.streams.features.workspace import Workspaces

SAMPLES_PER_BATCH = 65_536
"""A batch's workspace then takes 2.1 MB, near the size of a core's own cache; a longer series is a batch by itself."""

_workspaces = Workspaces(kept_samples=SAMPLES_PER_BATCH)


def extract(values: FloatArray, feature_set: FeatureSet) -> FloatArray:
    """Compute the features of each series.

    Takes values of shape (series, samples), float64; gives (series, features) in the order of
    `feature_set.suffixes`. A series with a missing (NaN) or infinite sample has NaN for every feature, and so has
    a series without samples. Too short or constant series have what tsfresh gives, often NaN.

    Raises FeatureError if the values have another number of dimensions.
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim != 2:
        raise FeatureError(f"values have the shape (series, samples), not {values.shape}; reshape them first")
    if not values.flags.carray:  # compiled code takes aligned arrays that can be written
        values = values.copy()
    n_series, n_samples = values.shape
    if not n_samples:
        return np.full((n_series, len(feature_set.suffixes)), np.nan)
    features = np.empty((n_series, len(feature_set.suffixes)))
    series_per_batch = max(1, SAMPLES_PER_BATCH // n_samples)
    for start in range(0, n_series, series_per_batch):
        part = slice(start, start + series_per_batch)
        _extract_batch(values[part], feature_set, out=features[part])
    return features


@lru_cache(maxsize=256)
def _known_ranks(suffixes: tuple[str, ...], n_samples: int) -> KnownRanks:
    return KnownRanks()


def _extract_batch(values: FloatArray, feature_set: FeatureSet, out: FloatArray) -> None:
    known_ranks = _known_ranks(feature_set.suffixes, values.shape[1])
    with np.errstate(all="ignore"):  # a constant series divides by zero: the NaN is the answer
        batch = Batch(values, _workspaces.lend(values.shape), known_ranks)
        if not batch.n_finite:
            out[:] = np.nan
            return
        np.concatenate([step.compute(batch) for step in feature_set.plan], axis=1, out=out)
    if batch.n_finite < batch.n_series:
        out[~batch.is_finite] = np.nan
