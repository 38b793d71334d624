"""Timeliness: whether a feature tells of faults in their windows, or only in later ones.

The size of a column's deviation is correlated with whether the window is of the fault: with the current window, and
with windows that share no sample with it and came before. A column that follows the earlier windows closely and the
current one not is about what is over. A fault of which no column tells in time is not asked: its label may be early.
"""

import numpy as np
from scipy.special import betainc, stdtr
from scipy.stats import false_discovery_control

from pulsetrain.models.preparation import BoolArray
from pulsetrain.models.selection.discrimination import MIN_FAULTS
from pulsetrain.models.selection.last_of_metric import last_of_metric
from pulsetrain.models.selection.report import NO_FAULT, Step, StepOutcome, StepResult
from pulsetrain.models.selection.windows import Evidence, Fault
from pulsetrain.schemas.arrays import FloatArray, IntArray

MIN_CORRELATION = 0.7
MAX_P_VALUE = 0.01

LAG_WINDOWS = 4
"""How many window lengths later a column is looked for."""

MIN_INSIDE = 3
MIN_OUTSIDE = 3
"""Windows of the fault, and on either side of it, without which nothing is said of its beginning and its end."""

Z_LIMIT = 10.0
"""Deviations beyond it are alike: by how much a fault exceeds it is no matter of time."""


def timeliness(evidence: Evidence, metrics: IntArray) -> StepResult:
    """Drop columns that are late for at least `MIN_FAULTS` labelled faults and in time for none.

    In time is a correlation with the current window above `MIN_CORRELATION`; late a lower one, while that with a
    window 1 to `LAG_WINDOWS` lengths before exceeds it. `metrics` (columns,) numbers the metric of each column; the
    most timely column of a metric stays. The figures are the highest correlations with the current window, 0 where
    the step is not taken.
    """
    columns = evidence.normal.shape[1]
    independent = [fault.independent(evidence.window_ns) for fault in evidence.faults]
    faults = [fault for fault in independent if _is_framed(fault)]
    if len(faults) < MIN_FAULTS:
        return _not_taken(columns, _too_few(len(evidence.faults), len(faults)))
    center, scale = _center_and_scale(evidence.normal)
    sizes = [np.minimum(np.abs(fault.values / scale - center), Z_LIMIT) for fault in faults]
    now = np.array([correlation(size, fault.is_during()) for size, fault in zip(sizes, faults, strict=True)])
    tells = (now > MIN_CORRELATION).any(axis=1)
    told = int(np.count_nonzero(tells))
    among = f"{told} of {len(faults)} faults with the windows around them have features that tell in time"
    if told < MIN_FAULTS:
        return _not_taken(columns, f"{among}; {MIN_FAULTS} are needed")
    asked = [(sizes[index], faults[index]) for index in np.flatnonzero(tells).tolist()]
    later = np.array([_later(size, fault, evidence.window_ns) for size, fault in asked])
    now = now[tells]
    late = ((now <= MIN_CORRELATION) & (later > MIN_CORRELATION)).sum(axis=0)
    heard = np.isfinite(now).astype(np.int64)
    p_values = false_discovery_control(_chance(late, heard, np.array([len(size) for size, _ in asked])))
    is_timely = (now > MIN_CORRELATION).any(axis=0)
    best = np.max(now, axis=0, initial=0.0, where=heard > 0)
    dropped = (late >= MIN_FAULTS) & (p_values <= MAX_P_VALUE) & ~is_timely
    dropped &= ~last_of_metric(dropped, -best, metrics)
    return StepResult(StepOutcome(Step.TIMELINESS, True, among), dropped, best)


def correlation(values: FloatArray, flags: BoolArray) -> FloatArray:
    """Pearson's correlation of `values` (windows, columns) with flags (windows,), (columns,).

    0 for a constant, NaN for a column that lacks a value.
    """
    deviations = values - values.mean(axis=0)
    marks = flags - flags.mean()
    size = np.sqrt(np.sum(deviations**2, axis=0) * np.sum(marks**2))
    return np.where(size == 0, 0.0, deviations.T @ marks / np.where(size == 0, 1.0, size))


def _center_and_scale(normal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean, in units of the scale, and scale of each column; the latter is its deviation, and 1 for a constant."""
    largest = np.abs(normal).max(axis=0)
    unit = normal / np.where(largest > 0, largest, 1.0)
    spread = np.where(np.ptp(unit, axis=0) > 0, unit.std(axis=0), 1.0)
    return unit.mean(axis=0) / spread, spread * np.where(largest > 0, largest, 1.0)


def _later(sizes: FloatArray, fault: Fault, window_ns: int) -> FloatArray:
    """The highest correlation with any of the earlier windows, (columns,)."""
    lags = range(1, LAG_WINDOWS + 1)
    highest: FloatArray = np.max([correlation(sizes, fault.is_during(lag * window_ns)) for lag in lags], axis=0)
    return highest


def _chance(late: IntArray, heard: IntArray, windows: IntArray) -> FloatArray:
    """How likely noise is late for as many of the faults as each column is, (columns,).

    A column is `late` (columns,) for so many of the faults that it has values of, which `heard` (faults, columns)
    tells; a fault has so many `windows` (faults,). For one fault noise is late with at most the probability of such a
    correlation by Student's t, times the number of lags (Bonferroni); for so many of them with a binomial one of the
    mean of these (Hoeffding, "On the distribution of the number of successes in independent trials", 1956).
    """
    freedom = windows - 2.0
    limit = MIN_CORRELATION * np.sqrt(freedom / (1 - MIN_CORRELATION**2))
    alone = np.minimum(1.0, LAG_WINDOWS * stdtr(freedom, -limit))
    faults = heard.sum(axis=0)
    mean = alone @ heard / np.maximum(faults, 1)
    chance = betainc(np.maximum(late, 1), np.maximum(faults - late + 1, 1), mean)
    return np.asarray(np.where(late > 0, chance, 1.0), dtype=np.float64)


def _is_framed(fault: Fault) -> bool:
    before = int((fault.ends_ns < fault.first_end_ns).sum())
    after = int((fault.ends_ns > fault.last_end_ns).sum())
    return int(fault.is_during().sum()) >= MIN_INSIDE and min(before, after) >= MIN_OUTSIDE


def _too_few(labelled: int, framed: int) -> str:
    if labelled == 0:
        return NO_FAULT
    needed = f"{MIN_INSIDE} windows that share no sample, and {MIN_OUTSIDE} on either side"
    return f"{framed} of {labelled} labelled faults have {needed}: {MIN_FAULTS} are needed"


def _not_taken(columns: int, detail: str) -> StepResult:
    nothing = np.zeros(columns)
    return StepResult(StepOutcome(Step.TIMELINESS, False, detail), nothing > 0, nothing)
