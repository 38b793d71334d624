"""The steps of a selection, one after another, each on the columns that the one before has left."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pulsetrain.models.selection.discrimination import discrimination
from pulsetrain.models.selection.report import StepOutcome, StepResult
from pulsetrain.models.selection.stability import stability
from pulsetrain.models.selection.timeliness import timeliness
from pulsetrain.models.selection.windows import Evidence
from pulsetrain.schemas.arrays import FloatArray, IntArray

_STEPS: tuple[Callable[[Evidence, IntArray], StepResult], ...] = (
    stability,
    discrimination,
    timeliness,
)


@dataclass(frozen=True, slots=True)
class Selected:
    """What the steps left of the columns.

    `dropped_by` (columns,) is the index in `steps` of the step that dropped a column, -1 where none did; `figures`
    (columns,) is what decided.
    """

    steps: tuple[StepOutcome, ...]
    dropped_by: IntArray
    figures: FloatArray


def run_steps(evidence: Evidence, metrics: Sequence[str]) -> Selected:
    """Take all steps. `metrics` names the metric of each column."""
    numbers = np.unique(np.array(metrics, dtype=np.str_), return_inverse=True)[1].astype(np.int64)
    columns = len(metrics)
    dropped_by = np.full(columns, -1, dtype=np.int64)
    figures = np.zeros(columns)
    outcomes = []
    for index, step in enumerate(_STEPS):
        left = np.flatnonzero(dropped_by < 0)
        result = step(_only(evidence, left), numbers[left])
        outcomes.append(result.outcome)
        dropped_by[left[result.dropped]] = index
        figures[left[result.dropped]] = result.figures[result.dropped]
    return Selected(tuple(outcomes), dropped_by, figures)


def _only(evidence: Evidence, columns: IntArray) -> Evidence:
    faults = tuple(replace(fault, values=fault.values[:, columns]) for fault in evidence.faults)
    return replace(evidence, normal=evidence.normal[:, columns], faults=faults)
