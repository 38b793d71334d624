"""Numbers that NVIDIA's DCGM sends in place of a value: blank, not found, not supported, no permission.

Each type of DCGM has four (dcgm_structs.h, `DCGM_INT32_BLANK` and its like). They are tested as the doubles they have
become on the way, before any scaling.
"""

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray

# 0x7ffffffffffffff0 to ...f3 have no double of their own: all four arrive as 2^63.
_FIRST_INT64 = float(0x7FFFFFFFFFFFFFF0)
_FIRST_INT32 = float(0x7FFFFFF0)
_LAST_INT32 = float(0x7FFFFFF3)
_FIRST_DOUBLE = 140737488355328.0
_LAST_DOUBLE = 140737488355331.0

BELOW_SENTINELS = float(np.nextafter(_FIRST_INT32, 0.0))
"""The largest double that is smaller than every sentinel."""


def holds_no_sentinel(lowest: FloatArray, highest: FloatArray) -> npt.NDArray[np.bool_]:
    """Which ranges [lowest, highest] are plainly without a sentinel; same shape. Those of NaN are not."""
    clear: npt.NDArray[np.bool_] = (highest <= BELOW_SENTINELS) | ((lowest > _LAST_INT32) & (highest < _FIRST_DOUBLE))
    return clear


def sentinel_mask(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Where `values`, of any shape, hold a sentinel; same shape. NaN is none.

    Everything from 2^63 on is taken for a 64-bit sentinel: nothing that is measured grows that large.
    """
    mask: npt.NDArray[np.bool_] = (
        (values >= _FIRST_INT64)
        | ((values >= _FIRST_INT32) & (values <= _LAST_INT32))
        | ((values >= _FIRST_DOUBLE) & (values <= _LAST_DOUBLE))
    )
    return mask
