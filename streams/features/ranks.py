"""Samples of many series by their rank."""

from collections.abc import Iterable, Mapping

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.compiled.order_statistics import order_statistics


class KnownRanks:
    """The ranks that the kernels of a feature set have asked for so far.

    All known ones together cost one pass over the samples, so that they are found together from the second batch on.
    """

    def __init__(self) -> None:
        """Know none."""
        self._known: tuple[Mapping[int, int], IntArray] = ({}, np.empty(0, np.int64))

    def including(self, ranks: Iterable[int]) -> tuple[Mapping[int, int], IntArray]:
        """Learn ranks, and give all known ones in ascending order, after the position of each in that order."""
        positions, ascending = self._known
        new = [rank for rank in ranks if rank not in positions]
        if new:
            ascending = np.union1d(ascending, np.array(new))
            positions = {known: position for position, known in enumerate(ascending.tolist())}
            self._known = positions, ascending  # replaced as one, never changed: threads share it
        return positions, ascending


def find_samples(ranks: IntArray, values: FloatArray, minimum: FloatArray, maximum: FloatArray) -> FloatArray:
    """Find each series' samples at some ranks, (ranks, series); NaN for a series that is not finite.

    Takes ascending ranks, counted from 0, C-contiguous values (series, samples) and their extremes (series,), NaN for
    a series that is not finite.
    """
    found = np.empty((ranks.size, len(values)))
    is_crowded = np.empty(len(values), np.bool_)
    if order_statistics(values, minimum, maximum, ranks, found, is_crowded):
        found[:, is_crowded] = np.sort(values[is_crowded], axis=-1)[:, ranks].T
    return found
