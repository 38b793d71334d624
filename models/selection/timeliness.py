"""Timeliness: whether a feature tells of a fault in the windows of the fault, or only in later ones.

The size of a column's deviation is correlated with whether the window is of the fault: with the current window, and
with windows that share no sample with it and came before. A column that follows the earlier windows closely and the
current one not is about what is over. A fault of which no column tells in time is not asked: its label may be early.
"""

import numpy as np

from pulsetrain.models.preparation import BoolArray
from pulsetrain.models.selection.report import NO_FAULT, Step, StepOutcome, StepResult
from pulsetrain.models.selection.windows import Evidence, Fault
from pulsetrain.schemas.arrays import FloatArray

MIN_CORRELATION = 0.7

LAG_WINDOWS = 4
"""How many window lengths later a column is looked for."""

MIN_INSIDE = 3
MIN_OUTSIDE = 3
"""Windows of the fault, and on either side of it, without which nothing is said of its beginning and its end."""

Z_LIMIT = 10.0
"""Deviations beyond it are alike: by how much a fault exceeds it is no matter of time."""


def timeliness(evidence: Evidence) -> StepResult:
    """Drop columns that are late for some labelled fault and in time for none.

    In time is a correlation with the current window above `MIN_CORRELATION`; late a lower one, while that with a
    window 1 to `LAG_WINDOWS` lengths before exceeds it. The figures are the highest correlations with the current
    window, 0 where the step is not taken.
    """
    columns = evidence.normal.shape[1]
    faults = [fault for fault in evidence.faults if _is_framed(fault)]
    is_timely, is_late = np.zeros((2, columns), dtype=np.bool_)
    best = np.zeros(columns)
    if not faults:
        framed = f"{MIN_INSIDE} windows, and {MIN_OUTSIDE} on either side"
        detail = f"none of {len(evidence.faults)} labelled faults has {framed}" if evidence.faults else NO_FAULT
        return StepResult(StepOutcome(Step.TIMELINESS, False, detail), is_late, best)
    center, spread = evidence.normal.mean(axis=0), evidence.normal.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    told = 0
    for fault in faults:
        sizes = np.minimum(np.abs(fault.values - center) / scale, Z_LIMIT)
        now = correlation(sizes, fault.is_during())
        if not (now > MIN_CORRELATION).any():
            continue
        told += 1
        later = np.zeros(columns)
        for lag in range(1, LAG_WINDOWS + 1):
            later = np.maximum(later, correlation(sizes, fault.is_during(lag * evidence.window_ns)))
        is_timely |= now > MIN_CORRELATION
        is_late |= (now <= MIN_CORRELATION) & (later > MIN_CORRELATION)
        best = np.maximum(best, now)
    among = f"{told} of {len(faults)} faults with the windows around them have features that tell in time"
    return StepResult(StepOutcome(Step.TIMELINESS, told > 0, among), is_late & ~is_timely, best)


def correlation(values: FloatArray, flags: BoolArray) -> FloatArray:
    """Pearson's correlation of `values` (windows, columns) with flags (windows,), (columns,); 0 for a constant."""
    deviations = values - values.mean(axis=0)
    marks = flags - flags.mean()
    size = np.sqrt(np.sum(deviations**2, axis=0) * np.sum(marks**2))
    return np.where(size > 0, deviations.T @ marks / np.where(size > 0, size, 1.0), 0.0)


def _is_framed(fault: Fault) -> bool:
    before = int((fault.ends_ns < fault.first_end_ns).sum())
    after = int((fault.ends_ns > fault.last_end_ns).sum())
    return int(fault.is_during().sum()) >= MIN_INSIDE and min(before, after) >= MIN_OUTSIDE
