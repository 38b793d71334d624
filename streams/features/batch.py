"""Series of equal length, and the intermediate results that several features of them share."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.summary import summarise
from pulsetrain.streams.features.ranks import KnownRanks, find_samples
from pulsetrain.streams.features.workspace import Workspace

BoolArray = npt.NDArray[np.bool_]


class Batch:
    """Series of equal length; what nearly all features need is computed at once, the rest on first use and kept."""

    def __init__(self, values: FloatArray, workspace: Workspace, known_ranks: KnownRanks) -> None:
        """Take C-contiguous values (series, samples), at least one sample, a workspace of their shape and known ranks.

        A kernel may overwrite `temporary`, an array like the values, and must have done with it when it returns.
        """
        self._workspace = workspace
        self._known_ranks = known_ranks
        self._found_at: Mapping[int, int] = {}
        self._found: FloatArray = values[:0]
        self.values = values
        self.n_series: int
        self.n_samples: int
        self.n_series, self.n_samples = values.shape
        self.temporary = workspace.temporary
        self.centred = workspace.centred
        """(series, samples), values less their series' mean."""
        self.is_finite = workspace.is_finite
        """(series,): no sample is missing or infinite."""
        self.summary = workspace.summary
        self.summary_rows = workspace.summary_rows
        """(fields, series), the fields of the summary in their order."""
        np.add.reduce(values, axis=-1, out=self.summary.mean)
        self.n_finite: int = summarise(values, self.centred, self.is_finite, self.summary_rows)
        """How many series are finite."""

    @property
    def mean(self) -> FloatArray:
        """(series,)."""
        return self.summary.mean

    @property
    def variance(self) -> FloatArray:
        """(series,), of the population: divided by the number of samples."""
        return self.summary.variance

    @property
    def is_constant(self) -> BoolArray:
        """(series,): all samples are the same number."""
        return np.equal(self.summary.minimum, self.summary.maximum)

    def order_statistics(self, ranks: Sequence[int]) -> tuple[FloatArray, Mapping[int, int]]:
        """The samples at ranks counted from 0, (found, series), and the row of each rank.

        NaN for a series that is not finite.
        """
        if any(rank not in self._found_at for rank in ranks):
            self._found_at, known = self._known_ranks.including(ranks)
            self._found = find_samples(known, self.values, self.summary.minimum, self.summary.maximum)
        return self._found, self._found_at

    @cached_property
    def sorted(self) -> FloatArray:
        """(series, samples), ascending."""
        ascending = self._workspace.sorted
        ascending[:] = self.values
        ascending.sort(axis=-1)
        return ascending

    @cached_property
    def differences(self) -> FloatArray:
        """(series, samples): each sample's successor less the sample; the last column means nothing.

        One pass over all samples, across the seams between series, is several times as fast as one a series.
        """
        differences = self._workspace.differences
        flat = self.values.reshape(-1)
        np.subtract(flat[1:], flat[:-1], out=differences.reshape(-1)[:-1])
        return differences
