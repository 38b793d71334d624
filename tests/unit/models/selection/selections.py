"""Evidence that a selection is tried on: normal windows of one or more nodes, and faults."""

from collections.abc import Sequence

import numpy as np

from pulsetrain.models.selection.windows import Evidence, Fault
from pulsetrain.schemas.arrays import FloatArray

WINDOW_NS = 30


def evidence(normal: FloatArray, faults: Sequence[Fault] = (), nodes: int = 1) -> Evidence:
    """Normal windows (windows, columns) one after another, dealt out to the nodes in turn."""
    ends_ns = (np.arange(len(normal), dtype=np.int64) // nodes + 1) * WINDOW_NS
    return Evidence(
        normal, ends_ns, [f"n{index % nodes}/host" for index in range(len(normal))], WINDOW_NS, tuple(faults)
    )


def fault(values: FloatArray, first: int, last: int) -> Fault:
    """A fault of which the windows first .. last of `values` (windows, columns) are; they share no sample."""
    ends_ns = (np.arange(len(values), dtype=np.int64) + 1) * WINDOW_NS
    return Fault(values, ends_ns, int(ends_ns[first]), int(ends_ns[last]))
