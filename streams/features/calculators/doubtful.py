"""Series whose answer is rounding: they are left to tsfresh."""

from collections.abc import Callable, Sequence

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch, BoolArray
from pulsetrain.streams.features.calculators.calculator import Columns, ParameterSet
from pulsetrain.streams.features.fallback import tsfresh_columns

Judged = Callable[[Batch], tuple[FloatArray, BoolArray]]
"""Columns (series, parameter sets), and the series (series,) for which they can't be trusted."""


def doubtful_to_tsfresh(
    name: str, prepare: Callable[[Sequence[ParameterSet]], Judged]
) -> Callable[[Sequence[ParameterSet]], Columns]:
    """Let tsfresh's own calculator serve the series for which the kernel says that rounding decides.

    Where a system of equations is nearly singular, what tsfresh gives depends on how it solves it; the answer has no
    digit in common with that of any other way, and only tsfresh itself gives the same.
    """

    def prepare_with_tsfresh(parameter_sets: Sequence[ParameterSet]) -> Columns:
        judged = prepare(parameter_sets)
        ask_tsfresh = tsfresh_columns(name, parameter_sets)

        def compute(batch: Batch) -> FloatArray:
            columns, doubtful = judged(batch)
            doubtful = doubtful & batch.is_finite
            if doubtful.any():
                columns[doubtful] = ask_tsfresh(batch.values[doubtful])
            return columns

        return compute

    return prepare_with_tsfresh
