"""Which features a model looks at: present, varying, telling, not nearly the same as another, fair to every metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from pulsetrain.models.errors import DegenerateTrainingSetError
from pulsetrain.models.preparation import BoolArray
from pulsetrain.models.selection.report import DROPPED_BY, ColumnReport, DroppedColumn, DropReason, StepOutcome
from pulsetrain.models.selection.steps import Selected, run_steps
from pulsetrain.models.selection.windows import Evidence, FaultWindows, as_fault
from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.schemas.catalogue import JudgedBy, find
from pulsetrain.schemas.columns import split_column

DEFAULT_MAX_COLUMNS = 128
"""Mahalanobis costs columns squared per row: 128 of them are 131 kB and a few microseconds."""

MIN_PRESENT_SHARE = 0.9
MAX_CORRELATION = 0.98

# What rounding alone can leave of the deviation of a constant: a few units in the last place of its mean.
CONSTANT_ABSOLUTE = 1e-12
CONSTANT_RELATIVE = 1e-9

PREFERRED_FEATURES = (
    "mean",
    "standard_deviation",
    "maximum",
    'linear_trend__attr_"slope"',
    "mean_abs_change",
    "minimum",
    "autocorrelation__lag_1",
    "median",
    "cid_ce__normalize_False",
    "autocorrelation__lag_5",
    "skewness",
    "kurtosis",
    "variance",
)
"""Earlier ones are taken first; what is not listed comes after them, in the order in which it arrives."""


LEVEL_FREE_CALCULATORS = frozenset(
    {
        "standard_deviation",
        "variance",
        "linear_trend",
        "mean_abs_change",
        "cid_ce",
        "autocorrelation",
        "skewness",
        "kurtosis",
    }
)
"""Calculators whose value is the same when a constant is added to all samples, but for `LEVEL_FEATURES`."""

LEVEL_FEATURES = frozenset({'linear_trend__attr_"intercept"'})


@dataclass(frozen=True, slots=True)
class TrainingContext:
    """When and whose the training windows are, (windows,) each, and the faults that operators have confirmed."""

    ends_ns: IntArray
    entities: Sequence[str]
    window_ns: int
    faults: Sequence[FaultWindows] = ()


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Features that a model could look at: `values` (windows, names), finite, gaps filled with the median."""

    names: list[str]
    values: FloatArray

    def only(self, is_taken: BoolArray) -> "_Candidates":
        names = [name for name, taken in zip(self.names, is_taken.tolist(), strict=True) if taken]
        return _Candidates(names, self.values[:, is_taken])


def choose_columns(
    rows: FloatArray,
    names: Sequence[str],
    max_columns: int = DEFAULT_MAX_COLUMNS,
    *,
    context: TrainingContext | None = None,
) -> ColumnReport:
    """Choose the columns of a model from training rows of shape (windows, names), NaN where missing.

    The catalogue says of a metric whether its level, only its change, or nothing of it is judged; nothing is judged
    of a name that names no feature of a metric. A column must be finite in `MIN_PRESENT_SHARE` of the rows, vary by
    more than rounding, pass the steps of `pulsetrain.models.selection` where there is a `context`, and correlate by
    less than `MAX_CORRELATION` with each one chosen before it. All metrics give their most preferred feature before
    any gives a second one.

    Raises:
        DegenerateTrainingSetError: no column is left.
    """
    candidates, dropped = _usable(rows, names)
    steps: tuple[StepOutcome, ...] = ()
    if context is not None and candidates.names:
        selected = _selected(candidates, context)
        steps = selected.steps
        for index in np.flatnonzero(selected.dropped_by >= 0).tolist():
            reason = DROPPED_BY[steps[selected.dropped_by[index]].step]
            dropped.append(DroppedColumn(candidates.names[index], reason, figure=float(selected.figures[index])))
        candidates = candidates.only(selected.dropped_by < 0)
    columns, redundant = _spread(candidates, max_columns)
    if not columns:
        raise DegenerateTrainingSetError(
            f"none of {len(names)} features varies over {len(rows)} windows and is present in most of them"
        )
    faults = context.faults if context else ()
    newest_ns = max((fault.last_end_ns for fault in faults), default=0)
    return ColumnReport(columns, (*dropped, *redundant), steps, len(faults), newest_ns)


def _usable(rows: FloatArray, names: Sequence[str]) -> tuple[_Candidates, list[DroppedColumn]]:
    """The features that are judged, mostly present and varying, and all others."""
    finite = np.isfinite(rows)
    share = finite.mean(axis=0)
    present = share >= MIN_PRESENT_SHARE
    judged = np.array([_is_judged(name) for name in names], dtype=np.bool_)
    dropped = [DroppedColumn(names[j], DropReason.NOT_JUDGED) for j in np.flatnonzero(~judged).tolist()]
    dropped += [
        DroppedColumn(names[j], DropReason.MISSING, figure=float(share[j]))
        for j in np.flatnonzero(judged & ~present).tolist()
    ]
    kept = np.flatnonzero(judged & present)
    values = np.where(finite, rows, np.nan)[:, kept]
    values = np.where(np.isnan(values), np.nanmedian(values, axis=0), values) if kept.size else values
    candidates = _Candidates([names[j] for j in kept.tolist()], values)

    center, spread = values.mean(axis=0), values.std(axis=0)
    varying = spread > CONSTANT_ABSOLUTE + CONSTANT_RELATIVE * np.abs(center)
    dropped += [DroppedColumn(candidates.names[j], DropReason.DEGENERATE) for j in np.flatnonzero(~varying).tolist()]
    return candidates.only(varying), dropped


def _is_judged(name: str) -> bool:
    try:
        metric, feature = split_column(name)
    except ValueError:
        return False
    entry = find(metric)
    if entry is None or entry.judged_by is JudgedBy.LEVEL:
        return True
    if entry.judged_by is not JudgedBy.CHANGE or feature in LEVEL_FEATURES:
        return False
    return feature.partition("__")[0] in LEVEL_FREE_CALCULATORS


def _selected(candidates: _Candidates, context: TrainingContext) -> Selected:
    faults = tuple(as_fault(fault, candidates.names) for fault in context.faults)
    evidence = Evidence(candidates.values, context.ends_ns, context.entities, context.window_ns, faults)
    return run_steps(evidence, [split_column(name)[0] for name in candidates.names])


def _spread(candidates: _Candidates, max_columns: int) -> tuple[tuple[str, ...], list[DroppedColumn]]:
    """At most `max_columns` of the candidates, none of which repeats another, and the rest."""
    values, names = candidates.values, candidates.names
    deviations = values - values.mean(axis=0)
    directions = deviations / np.sqrt(np.sum(deviations**2, axis=0))
    chosen: list[int] = []
    dropped = []
    taken = np.empty((max_columns, len(values)))
    for j in _round_robin(names):
        if len(chosen) == max_columns:
            dropped.append(DroppedColumn(names[j], DropReason.OVER_LIMIT))
            continue
        correlations = np.abs(taken[: len(chosen)] @ directions[:, j])
        if chosen and correlations.max() > MAX_CORRELATION:
            twin = int(correlations.argmax())
            figure = float(min(correlations[twin], 1.0))
            dropped.append(DroppedColumn(names[j], DropReason.DUPLICATE, kept=names[chosen[twin]], figure=figure))
            continue
        taken[len(chosen)] = directions[:, j]
        chosen.append(j)
    return tuple(names[j] for j in chosen), dropped


def _round_robin(names: Sequence[str]) -> list[int]:
    """All features, the best one of every metric first, then every metric's second best, and so on."""
    rank = {feature: i for i, feature in enumerate(PREFERRED_FEATURES)}
    parts = [split_column(name) for name in names]
    by_metric = sorted(range(len(names)), key=lambda j: (parts[j][0], rank.get(parts[j][1], len(rank)), j))
    turns = [
        (turn, metric, j)
        for metric, group in groupby(by_metric, key=lambda j: parts[j][0])
        for turn, j in enumerate(group)
    ]
    return [j for _, _, j in sorted(turns)]
