"""Discrimination: whether a feature differs between normal windows and confirmed faults, by the F of an ANOVA.

Labels speak of the metrics that their faults touched: of such a metric the features go that don't tell. A metric that
no labelled fault has touched keeps all of its features, since the next fault may be another one.
"""

from dataclasses import replace

import numpy as np

from pulsetrain.models.preparation import BoolArray
from pulsetrain.models.selection.report import NO_FAULT, Step, StepOutcome, StepResult
from pulsetrain.models.selection.variance import analyse
from pulsetrain.models.selection.windows import Evidence, Fault, independent
from pulsetrain.schemas.arrays import FloatArray, IntArray

MIN_F = 10.0
MAX_P_VALUE = 0.01

MIN_NORMAL_WINDOWS = 20
MIN_CLASS_WINDOWS = 3
"""Windows of one fault that share no sample; what is shorter says nothing of the spread within."""

MIN_FAULTS = 3
"""Any two moments differ in something. What several faults have in common is more than that."""


def discrimination(evidence: Evidence, metrics: IntArray) -> StepResult:
    """Drop columns whose F between normal windows and each of the faults is at most `MIN_F`.

    `metrics` (columns,) numbers the metric of each column; not dropped are those of a metric none of whose columns
    has a higher F. A fault has no say in a column that it lacks, and a column with less than `MIN_FAULTS` faults stays.
    The figures are the F; 0 where the step is not taken.
    """
    normal = evidence.normal[independent(evidence.ends_ns, evidence.entities, evidence.window_ns)]
    faults = [_independent_values(fault, evidence.window_ns) for fault in evidence.faults]
    faults = [values for values in faults if len(values) >= MIN_CLASS_WINDOWS]
    if len(faults) < MIN_FAULTS or len(normal) < MIN_NORMAL_WINDOWS:
        nothing = np.zeros(normal.shape[1])
        detail = _too_little(len(evidence.faults), len(faults), len(normal))
        return StepResult(StepOutcome(Step.DISCRIMINATION, False, detail), nothing > 0, nothing)
    classes = [normal, *faults]
    groups = np.repeat(np.arange(len(classes), dtype=np.int64), [len(values) for values in classes])
    f_values, p_values = analyse(np.concatenate(classes), groups)
    tells = (f_values > MIN_F) & (p_values <= MAX_P_VALUE)
    is_asked = np.sum([np.isfinite(values).any(axis=0) for values in faults], axis=0) >= MIN_FAULTS
    detail = f"{len(normal)} normal windows and {len(groups) - len(normal)} of {len(faults)} faults"
    return StepResult(
        StepOutcome(Step.DISCRIMINATION, True, detail),
        dropped=is_asked & ~tells & _is_touched(tells, metrics),
        figures=np.minimum(f_values, np.finfo(np.float64).max),
    )


def _independent_values(fault: Fault, window_ns: int) -> FloatArray:
    """Windows of the fault that share no sample; a column with too few of them to be a class has NaN in all."""
    during = fault.is_during()
    values = replace(fault, values=fault.values[during], ends_ns=fault.ends_ns[during]).independent(window_ns).values
    return np.where(np.isfinite(values).sum(axis=0) >= MIN_CLASS_WINDOWS, values, np.nan)


def _too_little(labelled: int, usable: int, normal: int) -> str:
    if labelled == 0:
        return NO_FAULT
    return (
        f"{usable} of {labelled} labelled faults have {MIN_CLASS_WINDOWS} windows that share no sample, and {normal} "
        f"normal windows do: {MIN_FAULTS} and {MIN_NORMAL_WINDOWS} are needed"
    )


def _is_touched(tells: BoolArray, metrics: IntArray) -> BoolArray:
    """Whether any column of its metric tells, (columns,)."""
    touched: BoolArray = (np.bincount(metrics, weights=tells) > 0)[metrics]
    return touched
