"""The windows that a selection looks at: normal ones, and those around faults that an operator has confirmed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pulsetrain.models.preparation import BoolArray
from pulsetrain.models.training_matrix import TrainingMatrix
from pulsetrain.schemas.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class FaultWindows:
    """Windows of one entity around a confirmed fault; those that end in first_end_ns .. last_end_ns are of it."""

    windows: TrainingMatrix
    first_end_ns: int
    last_end_ns: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A confirmed fault in the columns of a selection: `values` (windows, columns), and the windows' ends."""

    values: FloatArray
    ends_ns: IntArray
    first_end_ns: int
    last_end_ns: int

    def is_during(self, later_ns: int = 0) -> BoolArray:
        """Which of the windows would be of the fault if it had been so much later, (windows,)."""
        return (self.ends_ns >= self.first_end_ns + later_ns) & (self.ends_ns <= self.last_end_ns + later_ns)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Finite values of the columns: normal ones (windows, columns), whose and when, and those around faults."""

    normal: FloatArray
    ends_ns: IntArray
    entities: Sequence[str]
    window_ns: int
    faults: tuple[Fault, ...] = ()


def independent(ends_ns: IntArray, entities: Sequence[str], window_ns: int) -> IntArray:
    """Indices, ascending, of windows of which no two of one entity share a sample, as many as there can be.

    Hopping windows repeat most samples of the one before; a test that took them for separate observations would find
    a difference in noise.
    """
    newest_ns: dict[str, int] = {}
    taken = []
    for index in np.argsort(ends_ns, kind="stable").tolist():
        entity, end_ns = entities[index], int(ends_ns[index])
        if end_ns - newest_ns.get(entity, end_ns - window_ns) >= window_ns:
            newest_ns[entity] = end_ns
            taken.append(index)
    return np.array(sorted(taken), dtype=np.int64)


def as_fault(fault: FaultWindows, columns: Sequence[str], medians: FloatArray) -> Fault:
    """The windows of a fault in these columns; what they lack is as in most normal windows, so that it tells nothing.

    `medians` (columns,) are those of the normal windows.
    """
    position = {name: index for index, name in enumerate(fault.windows.names)}
    at = np.array([position.get(column, -1) for column in columns], dtype=np.int64)
    values = np.full((len(fault.windows), len(columns)), np.nan)
    values[:, at >= 0] = fault.windows.rows[:, at[at >= 0]]
    values = np.where(np.isfinite(values), values, medians)
    return Fault(values, fault.windows.ends_ns, fault.first_end_ns, fault.last_end_ns)
