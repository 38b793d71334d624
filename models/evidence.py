"""Why a row was flagged: the metrics that deviate most, each by its most telling feature."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pulsetrain.models.forest import Float32Array
from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.schemas.columns import split_column

DEFAULT_METRICS = 5


@dataclass(frozen=True, slots=True)
class Deviation:
    """One metric of one row: the feature that deviates most, its value and the normal mean, in its own unit."""

    metric: str
    feature: str
    value: float
    expected: float
    sigma: float


def top_deviations(
    columns: Sequence[str],
    row: FloatArray,
    deviations: Float32Array | FloatArray,
    expected: FloatArray,
    metrics: int = DEFAULT_METRICS,
) -> tuple[Deviation, ...]:
    """The `metrics` metrics with the largest deviation, descending; all arrays have shape (columns,)."""
    found: dict[str, Deviation] = {}
    for j in np.argsort(-np.abs(deviations), kind="stable"):
        metric, feature = split_column(columns[j])
        if metric not in found:
            found[metric] = Deviation(metric, feature, float(row[j]), float(expected[j]), float(deviations[j]))
        if len(found) == metrics:
            break
    return tuple(found.values())
