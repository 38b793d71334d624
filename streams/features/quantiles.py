"""Quantiles of a batch's series, several at once."""

from functools import lru_cache
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.compiled.interpolation import interpolate

MEDIAN: Final = -1.0
"""Stands for the median: the mean of the two samples in the middle, where a quantile lies on the line between them."""


def quantiles(batch: Batch, wanted: tuple[float, ...]) -> FloatArray:
    """(quantiles, series): as numpy.quantile gives them with linear interpolation, for `MEDIAN` as numpy.median."""
    ranks, shares = _positions(wanted, batch.n_samples)
    found, row_of = batch.order_statistics(ranks)
    rows = np.array([row_of[rank] for rank in ranks])
    answers = np.empty((len(wanted), batch.n_series))
    interpolate(found, rows[: len(wanted)], rows[len(wanted) :], shares, answers)
    return answers


@lru_cache(maxsize=1024)
def _positions(wanted: tuple[float, ...], n_samples: int) -> tuple[tuple[int, ...], FloatArray]:
    """The ranks of the samples below all quantiles, then of those above, and the shares of the way between them."""
    last = n_samples - 1
    places = [last / 2 if q == MEDIAN else q * last for q in wanted]
    lower = [int(place) for place in places]
    has_two_in_the_middle = n_samples % 2 == 0
    shares = [
        MEDIAN if q == MEDIAN and has_two_in_the_middle else place - rank
        for q, place, rank in zip(wanted, places, lower, strict=True)
    ]
    return (*lower, *(min(rank + 1, last) for rank in lower)), np.array(shares, dtype=np.float64)
