"""Stability: what moves from span to span or from node to node while all is well can't tell when it is not.

The volatility of a column is the standard deviation of its level between spans, or between nodes, over its root mean
square. The former is the variance component of a one-way random-effects layout by the method of moments (Searle,
Casella and McCulloch, "Variance components", 1992), which takes off what the noise within the spans does to their
means. For a column far from zero that is the coefficient of variation of its level. The plain one, deviation over
mean, has no meaning for slopes, autocorrelations and whatever else lies about zero.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pulsetrain.models.selection.last_of_metric import last_of_metric
from pulsetrain.models.selection.report import Step, StepOutcome, StepResult
from pulsetrain.models.selection.variance import analyse, to_unit
from pulsetrain.models.selection.windows import Evidence, independent
from pulsetrain.schemas.arrays import FloatArray, IntArray

MAX_VOLATILITY = 0.3
MAX_P_VALUE = 0.01

SPANS = 4
MIN_GROUP_WINDOWS = 8
"""Independent windows in each span, and of each node."""

MAX_VOLATILE_SHARE = 0.5
"""Where more of the columns move together, it is the work that differs and not they that are volatile."""

_HUGE_F = 1e12
"""As good as infinite: what varies between the groups alone."""


def stability(evidence: Evidence, metrics: IntArray) -> StepResult:
    """Drop columns of a volatility above `MAX_VOLATILITY`, but of each metric the least volatile one.

    `metrics` (columns,) numbers the metric of each column. The last column of a metric stays: a fault yet unknown may
    show in it alone.
    """
    taken = independent(evidence.ends_ns, evidence.entities, evidence.window_ns)
    values = evidence.normal[taken]
    layouts = {
        "spans of time": _spans(evidence.ends_ns[taken]),
        "nodes": _numbered([evidence.entities[index] for index in taken]),
    }
    figures = np.zeros(values.shape[1])
    dropped = np.zeros(values.shape[1], dtype=np.bool_)
    compared = []
    for what, groups in layouts.items():
        groups = _large_groups(groups)
        count = len(np.unique(groups[groups >= 0]))
        if count < 2 or (what == "spans of time" and count < SPANS):
            continue
        compared.append(f"{count} {what}")
        moved, p_values = volatility(values[groups >= 0], groups[groups >= 0])
        dropped |= (moved > MAX_VOLATILITY) & (p_values <= MAX_P_VALUE)
        figures = np.maximum(figures, moved)

    if not compared:
        needed = SPANS * MIN_GROUP_WINDOWS
        detail = f"{len(taken)} windows share no sample with another; {needed} are needed, {MIN_GROUP_WINDOWS} a span"
        return StepResult(StepOutcome(Step.STABILITY, False, detail), np.zeros_like(dropped), figures)
    among = f"{len(taken)} windows that share no sample, in {' and '.join(compared)}"
    if dropped.mean() > MAX_VOLATILE_SHARE:
        detail = (
            f"{int(dropped.sum())} of {len(dropped)} features move together, so it is the work that differs: {among}"
        )
        return StepResult(StepOutcome(Step.STABILITY, False, detail), np.zeros_like(dropped), figures)
    dropped &= ~last_of_metric(dropped, figures, metrics)
    return StepResult(StepOutcome(Step.STABILITY, True, among), dropped, figures)


def volatility(values: FloatArray, groups: IntArray) -> tuple[FloatArray, FloatArray]:
    """Volatility, 0 to 1, and p-value, both (columns,), of `values` (windows, columns) in `groups` (windows,)."""
    values = to_unit(values)
    f_values, p_values = analyse(values, groups)
    sizes = np.unique(groups, return_counts=True)[1]
    total, between = len(values), len(sizes) - 1
    per_group = (total - np.sum(sizes**2) / total) / between
    squares = values.var(axis=0) * total
    # Mean square between the groups less that within, from the sum of both sums of squares and from F.
    finite = np.minimum(f_values, _HUGE_F)
    share = (finite - 1) / (between * finite + total - len(sizes))
    component = np.maximum(0.0, squares * share / per_group)
    mean_square = np.mean(values**2, axis=0)
    return np.sqrt(np.minimum(1.0, component / np.where(mean_square > 0, mean_square, 1.0))), p_values


def _spans(ends_ns: IntArray) -> IntArray:
    """Number of the span, of `SPANS` with about as many windows each, that each window ends in."""
    edges = np.sort(ends_ns)[np.arange(1, SPANS) * len(ends_ns) // SPANS]
    return np.searchsorted(edges, ends_ns, side="right").astype(np.int64)


def _numbered(names: Sequence[str]) -> IntArray:
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


def _large_groups(groups: IntArray) -> IntArray:
    """The groups, -1 for those of fewer than `MIN_GROUP_WINDOWS` windows."""
    counts = Counter(groups.tolist())
    return np.array([group if counts[group] >= MIN_GROUP_WINDOWS else -1 for group in groups.tolist()], dtype=np.int64)
