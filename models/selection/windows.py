"""The windows that a selection looks at: normal ones, and those around faults that an operator has confirmed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    """A confirmed fault in the columns of a selection: `values` (windows, columns), NaN where missing, and when."""

    values: FloatArray
    ends_ns: IntArray
    first_end_ns: int
    last_end_ns: int

    def is_during(self, later_ns: int = 0) -> BoolArray:
        """Which of the windows would be of the fault if it had been so much later, (windows,)."""
        return (self.ends_ns >= self.first_end_ns + later_ns) & (self.ends_ns <= self.last_end_ns + later_ns)

    def independent(self, window_ns: int) -> "Fault":
        """The fault with those of its windows that share no sample."""
        taken = independent(self.ends_ns, [""] * len(self.ends_ns), window_ns)
        return replace(self, values=self.values[taken], ends_ns=self.ends_ns[taken])


@dataclass(frozen=True, slots=True)
class Evidence:
    """Values of the columns: normal ones (windows, columns), finite, whose and when, and those around faults."""

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


def as_fault(fault: FaultWindows, columns: Sequence[str]) -> Fault:
    """The windows of a fault in these columns, NaN where they lack one."""
    position = {name: index for index, name in enumerate(fault.windows.names)}
    at = np.array([position.get(column, -1) for column in columns], dtype=np.int64)
    values = np.full((len(fault.windows), len(columns)), np.nan)
    values[:, at >= 0] = fault.windows.rows[:, at[at >= 0]]
    values[~np.isfinite(values)] = np.nan
    return Fault(values, fault.windows.ends_ns, fault.first_end_ns, fault.last_end_ns)
