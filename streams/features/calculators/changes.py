"""Changes inside a corridor of quantiles."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.calculators.calculator import (
    FLAG,
    SHARE,
    Calculator,
    Columns,
    ParameterSet,
    one_of,
)
from pulsetrain.streams.features.compiled.jit import compiled
from pulsetrain.streams.features.quantiles import quantiles

_STATISTICS: Final = {("mean", False): 0, ("mean", True): 1, ("var", False): 2, ("var", True): 3}
"""Aggregate and "absolute" to the position among what `_corridor_changes` gives."""


@compiled("void(float64[:,::1], float64[:,::1], float64[:,::1], int64[::1], int64[::1], float64[:,:,::1])")
def _corridor_changes(
    values: FloatArray,
    differences: FloatArray,
    edges: FloatArray,
    lower: IntArray,
    upper: IntArray,
    out: FloatArray,
) -> None:
    """Fill out (series, corridors, 4) with mean and variance of the changes inside, then of their magnitudes.

    A corridor holds the values from one edge (series, edges) to another; a change counts if both its ends are inside.
    """
    n_series, n_samples = values.shape
    floors, ceilings = np.empty(n_samples), np.empty(n_samples)
    for row in range(n_series):
        for i in range(n_samples - 1):
            floors[i] = min(values[row, i], values[row, i + 1])
            ceilings[i] = max(values[row, i], values[row, i + 1])
        for corridor in range(lower.size):
            low, high = edges[row, lower[corridor]], edges[row, upper[corridor]]
            count, total, absolute_total = 0.0, 0.0, 0.0
            for i in range(n_samples - 1):
                inside = 1.0 if floors[i] >= low and ceilings[i] <= high else 0.0
                count += inside
                total += inside * differences[row, i]
                absolute_total += inside * abs(differences[row, i])
            if count == 0:
                out[row, corridor] = 0.0
                continue
            mean, absolute_mean = total / count, absolute_total / count
            squares, absolute_squares = 0.0, 0.0
            for i in range(n_samples - 1):
                inside = 1.0 if floors[i] >= low and ceilings[i] <= high else 0.0
                squares += inside * (differences[row, i] - mean) ** 2
                absolute_squares += inside * (abs(differences[row, i]) - absolute_mean) ** 2
            out[row, corridor, 0], out[row, corridor, 1] = mean, absolute_mean
            out[row, corridor, 2], out[row, corridor, 3] = squares / count, absolute_squares / count


def _change_quantiles(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Mean or variance of the changes, or of their magnitudes, between samples inside a corridor of two quantiles.

    0 where no two neighbours are inside, and where the corridor's ends are in the wrong order.
    """
    shares = tuple(sorted({parameters[name] for parameters in parameter_sets for name in ("ql", "qh")}))
    corridors = sorted({(one["ql"], one["qh"]) for one in parameter_sets if one["ql"] < one["qh"]})
    lower = np.array([shares.index(ql) for ql, _ in corridors], dtype=np.int64)
    upper = np.array([shares.index(qh) for _, qh in corridors], dtype=np.int64)
    columns = [column for column, one in enumerate(parameter_sets) if one["ql"] < one["qh"]]
    served = [parameter_sets[column] for column in columns]
    corridor_of = [corridors.index((one["ql"], one["qh"])) for one in served]
    statistic_of = [_STATISTICS[one["f_agg"], one["isabs"]] for one in served]

    def compute(batch: Batch) -> FloatArray:
        edges = np.ascontiguousarray(quantiles(batch, shares).T)
        changes = np.empty((batch.n_series, len(corridors), len(_STATISTICS)))
        _corridor_changes(batch.values, batch.differences, edges, lower, upper, changes)
        features = np.zeros((batch.n_series, len(parameter_sets)))
        features[:, columns] = changes[:, corridor_of, statistic_of]
        return features

    return compute


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "change_quantiles": Calculator(
        _change_quantiles, {"ql": SHARE, "qh": SHARE, "isabs": FLAG, "f_agg": one_of("mean", "var")}
    ),
}
