"""The one column of a metric that a step leaves it: a fault yet unknown may show in that metric alone."""

import numpy as np

from pulsetrain.models.preparation import BoolArray
from pulsetrain.schemas.arrays import FloatArray, IntArray


def last_of_metric(dropped: BoolArray, figures: FloatArray, metrics: IntArray) -> BoolArray:
    """The column of the lowest figure, the first of equals, of each metric all of whose columns are dropped.

    All are (columns,); `metrics` numbers the metric of each.
    """
    last = np.zeros_like(dropped)
    order = np.lexsort((np.arange(len(figures)), figures, metrics))
    _, firsts = np.unique(metrics[order], return_index=True)
    best = order[firsts]
    has_others = np.bincount(metrics, weights=~dropped) > 0
    last[best] = ~has_others[metrics[best]]
    return last
