"""How the energy of the samples is spread over time."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.calculators.calculator import Calculator, Columns, ParameterSet, integers

_MOST_SEGMENTS: Final = 10_000


def _segment(n_samples: int, num_segments: int, segment_focus: int) -> slice:
    """Consecutive segments of which the first ones have the samples that are left over, one each."""
    size, rest = divmod(n_samples, num_segments)
    start = segment_focus * size + min(segment_focus, rest)
    return slice(start, start + size + (segment_focus < rest))


def _energy_ratio_by_chunks(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Share of the sum of squares that a segment has; NaN where all samples are zero."""

    def compute(batch: Batch) -> FloatArray:
        squares = np.multiply(batch.values, batch.values, out=batch.temporary)
        total = squares.sum(axis=-1)
        features = np.empty((batch.n_series, len(parameter_sets)))
        for column, one in enumerate(parameter_sets):
            segment = squares[:, _segment(batch.n_samples, one["num_segments"], one["segment_focus"])]
            features[:, column] = segment.sum(axis=-1) / total
        return features

    return compute


class _SegmentCalculator(Calculator):
    __slots__ = ()

    def covers(self, parameters: ParameterSet) -> bool:
        return super().covers(parameters) and parameters["segment_focus"] < parameters["num_segments"]


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "energy_ratio_by_chunks": _SegmentCalculator(
        _energy_ratio_by_chunks,
        {"num_segments": integers(1, _MOST_SEGMENTS), "segment_focus": integers(0, _MOST_SEGMENTS)},
    ),
}
