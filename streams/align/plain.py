"""One look at a block's samples, compiled: most blocks hold nothing that has to be looked at more closely."""

import numba

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.jit import compiled

_ROWS = numba.types.Array(numba.float64, 2, "C", readonly=True)
_LIMITS = numba.types.Array(numba.float64, 1, "C", readonly=True)


@compiled(numba.boolean(_ROWS, _LIMITS, _LIMITS))
def all_within(values: FloatArray, lowest: FloatArray, highest: FloatArray) -> bool:
    """Whether each cell of (ticks, metrics) is a number from `lowest` to `highest`, each (metrics,)."""
    outside = 0
    for tick in range(values.shape[0]):
        for metric in range(values.shape[1]):
            value = values[tick, metric]
            outside |= not (value >= lowest[metric] and value <= highest[metric])
    return outside == 0
