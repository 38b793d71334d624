"""Memory that batches use one after another."""

import threading

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.summary import Summary


class Workspace:
    """What a batch of some shape writes to; no result in it may be used once the next batch has it."""

    ARRAYS = 4
    """How many arrays of the values' shape there are."""

    def __init__(self, shape: tuple[int, int], memory: FloatArray) -> None:
        """Divide up memory for at least `ARRAYS` arrays of the shape (series, samples)."""
        size = shape[0] * shape[1]
        self.shape = shape
        self.centred, self.sorted, self.differences, self.temporary = (
            memory[size * number : size * (number + 1)].reshape(shape) for number in range(self.ARRAYS)
        )
        self.is_finite: npt.NDArray[np.bool_] = np.empty(shape[0], np.bool_)
        self.summary_rows: FloatArray = np.empty((len(Summary._fields), shape[0]))
        self.summary = Summary._make(self.summary_rows)


class Workspaces(threading.local):
    """One workspace a thread, in memory that the thread keeps.

    Touching pages fresh from the operating system's kernel would cost as much as the arithmetic.
    """

    def __init__(self, kept_samples: int) -> None:
        """Begin without memory; that for values of more than `kept_samples` samples is not kept."""
        self._kept_size = Workspace.ARRAYS * kept_samples
        self._memory: FloatArray = np.empty(0)
        self._workspace = Workspace((0, 0), self._memory)

    def lend(self, shape: tuple[int, int]) -> Workspace:
        """Give the thread's workspace for values of a shape, with any content, to be used until the next call."""
        size = Workspace.ARRAYS * shape[0] * shape[1]
        if size > self._kept_size:
            return Workspace(shape, np.empty(size))
        if self._workspace.shape != shape:
            if self._memory.size < size:
                self._memory = np.empty(size)
            self._workspace = Workspace(shape, self._memory)
        return self._workspace
