"""From the features that arrive to the rows that a model scores: by name, imputed, or not scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from pulsetrain.models.errors import AbsentColumnError
from pulsetrain.schemas.arrays import FloatArray, IntArray

MAX_MISSING_SHARE = 0.2
"""Above this share of missing columns a window is not scored: a verdict would be about the medians."""

BoolArray = npt.NDArray[np.bool_]


class NotScored(StrEnum):
    """Why a window has no score."""

    TOO_MUCH_MISSING = "too_much_missing"


@dataclass(frozen=True, slots=True)
class Assembled:
    """Rows in model order. A row that is not scored is complete all the same, but says nothing.

    `rows` has shape (windows, columns) and is finite; `imputed` (windows, columns) marks values that were
    missing; `missing_share` (windows,) is their share; `scorable` (windows,) is false above the limit.
    """

    columns: tuple[str, ...]
    rows: FloatArray
    imputed: BoolArray
    missing_share: FloatArray
    scorable: BoolArray

    def not_scored(self, window: int) -> NotScored | None:
        """Why one window must not be scored; None where it may be."""
        return None if self.scorable[window] else NotScored.TOO_MUCH_MISSING


@dataclass(frozen=True, slots=True)
class Assembly:
    """How features under one tuple of names become rows of one model; plan it once, use it for every window."""

    columns: tuple[str, ...]
    medians: FloatArray
    positions: IntArray

    def assemble(self, values: FloatArray) -> Assembled:
        """Take the model's columns from `values` of shape (windows, names) and impute what is not finite."""
        rows = values[:, self.positions]
        imputed = ~np.isfinite(rows)
        missing_share = imputed.mean(axis=1)
        return Assembled(
            columns=self.columns,
            rows=np.where(imputed, self.medians, rows),
            imputed=imputed,
            missing_share=missing_share,
            scorable=missing_share <= MAX_MISSING_SHARE,
        )


def plan_assembly(columns: Sequence[str], medians: FloatArray | Sequence[float], names: Sequence[str]) -> Assembly:
    """Find each of the model's `columns` among the `names` of the features.

    Raises:
        AbsentColumnError: a column is not among the names; nothing is ever shifted into its place.
    """
    position = {name: i for i, name in enumerate(names)}
    absent = tuple(column for column in columns if column not in position)
    if absent:
        raise AbsentColumnError(absent)
    return Assembly(
        columns=tuple(columns),
        medians=np.asarray(medians, dtype=np.float64),
        positions=np.array([position[column] for column in columns], dtype=np.int64),
    )
