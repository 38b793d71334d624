"""Which features a model looks at: present, varying, not nearly the same as another, fair to every metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

import numpy as np

from pulsetrain.models.errors import DegenerateTrainingSetError
from pulsetrain.schemas.arrays import FloatArray
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


class DropReason(StrEnum):
    """Why a feature is not among a model's columns."""

    MISSING = "missing"
    DEGENERATE = "degenerate"
    DUPLICATE = "duplicate"
    NOT_JUDGED = "not_judged"
    OVER_LIMIT = "over_limit"


@dataclass(frozen=True, slots=True)
class DroppedColumn:
    """A feature that was left out; of a duplicate, `kept` names the column that stands for it."""

    name: str
    reason: DropReason
    kept: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """The columns chosen, in model order, and every other one with the reason."""

    columns: tuple[str, ...]
    dropped: tuple[DroppedColumn, ...]


def choose_columns(rows: FloatArray, names: Sequence[str], max_columns: int = DEFAULT_MAX_COLUMNS) -> ColumnReport:
    """Choose the columns of a model from training rows of shape (windows, names), NaN where missing.

    The catalogue says of a metric whether its level, only its change, or nothing of it is judged; nothing is judged
    of a name that names no feature of a metric. A column must be finite in `MIN_PRESENT_SHARE` of the rows, vary by
    more than rounding, and correlate by less than `MAX_CORRELATION` with each one chosen before it. All metrics give
    their most preferred feature before any gives a second one.

    Raises:
        DegenerateTrainingSetError: no column is left.
    """
    finite = np.isfinite(rows)
    present = finite.mean(axis=0) >= MIN_PRESENT_SHARE
    values = np.where(finite, rows, np.nan)
    judged = np.array([_is_judged(name) for name in names], dtype=np.bool_)
    dropped = [DroppedColumn(names[int(j)], DropReason.NOT_JUDGED) for j in np.flatnonzero(~judged)]
    dropped += [DroppedColumn(names[int(j)], DropReason.MISSING) for j in np.flatnonzero(judged & ~present)]
    kept = np.flatnonzero(judged & present)
    values = values[:, kept]
    values = np.where(np.isnan(values), np.nanmedian(values, axis=0), values) if kept.size else values

    center = values.mean(axis=0)
    deviations = values - center
    spread = np.sqrt(np.mean(deviations**2, axis=0))
    varying = spread > CONSTANT_ABSOLUTE + CONSTANT_RELATIVE * np.abs(center)
    dropped += [DroppedColumn(names[int(j)], DropReason.DEGENERATE) for j in kept[~varying]]
    unit = {int(j): deviations[:, i] / (spread[i] * np.sqrt(len(values))) for i, j in enumerate(kept) if varying[i]}

    chosen: list[int] = []
    directions = np.empty((max_columns, len(values)))
    for j in _round_robin(sorted(unit), names):
        if len(chosen) == max_columns:
            dropped.append(DroppedColumn(names[j], DropReason.OVER_LIMIT))
            continue
        correlations = np.abs(directions[: len(chosen)] @ unit[j])
        if chosen and correlations.max() > MAX_CORRELATION:
            twin = names[chosen[int(correlations.argmax())]]
            dropped.append(DroppedColumn(names[j], DropReason.DUPLICATE, kept=twin))
            continue
        directions[len(chosen)] = unit[j]
        chosen.append(j)
    if not chosen:
        raise DegenerateTrainingSetError(
            f"none of {len(names)} features varies over {len(rows)} windows and is present in most of them"
        )
    return ColumnReport(tuple(names[j] for j in chosen), tuple(dropped))


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


def _round_robin(candidates: Sequence[int], names: Sequence[str]) -> list[int]:
    """The candidates, the best feature of every metric first, then every metric's second best, and so on."""
    rank = {feature: i for i, feature in enumerate(PREFERRED_FEATURES)}
    parts = {j: split_column(names[j]) for j in candidates}
    by_metric = sorted(candidates, key=lambda j: (parts[j][0], rank.get(parts[j][1], len(rank)), j))
    turns = [
        (turn, metric, j)
        for metric, group in groupby(by_metric, key=lambda j: parts[j][0])
        for turn, j in enumerate(group)
    ]
    return [j for _, _, j in sorted(turns)]
