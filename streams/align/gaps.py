"""Runs of missing values."""

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import IntArray


def gaps(is_missing: npt.NDArray[np.bool_]) -> tuple[IntArray, IntArray, IntArray]:
    """The runs of true cells in each series of (series, points): their series, first point, and point after the last.

    Each of shape (gaps,), in order of series and points.
    """
    series, bounds = np.nonzero(np.diff(is_missing, axis=1, prepend=False, append=False))
    return series[::2], bounds[::2], bounds[1::2]
