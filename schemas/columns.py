"""Feature column names: one metric's feature as tsfresh names it, `<kind>__<feature>`.

tsfresh reads a column name by splitting it at double underscores, so a kind (the metric's part of the name) must not
hold one nor end in an underscore. Metric names may: `metric_kind` escapes those underscores the way RFC 6901 escapes
its separators, and `kind_metric` takes the escapes back.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

_SEPARATOR = "__"
_AMBIGUOUS_UNDERSCORE = re.compile(r"_(?=_|$)")
_CACHED_LAYOUTS = 256


def metric_kind(metric: str) -> str:
    """The metric's name as a tsfresh kind; `gpu__util_` becomes `gpu~1_util~1`, most names stay as they are."""
    return _AMBIGUOUS_UNDERSCORE.sub("~1", metric.replace("~", "~0"))


def kind_metric(kind: str) -> str:
    """The metric whose `metric_kind` this is."""
    return kind.replace("~1", "_").replace("~0", "~")


def column_name(metric: str, feature: str) -> str:
    """The column of one feature of one metric, e.g. `system.memory.usage__autocorrelation__lag_1`."""
    return f"{metric_kind(metric)}{_SEPARATOR}{feature}"


@lru_cache(maxsize=_CACHED_LAYOUTS)
def _column_names(metrics: tuple[str, ...], features: tuple[str, ...]) -> tuple[str, ...]:
    kinds = [metric_kind(metric) for metric in metrics]
    return tuple(f"{kind}{_SEPARATOR}{feature}" for kind in kinds for feature in features)


def column_names(metrics: Sequence[str], features: Sequence[str]) -> tuple[str, ...]:
    """The columns of a window's values, shape (metrics, features), in row-major order.

    Equal arguments give the same tuple object as long as it is among the last few hundred layouts, so that the
    layouts of many windows can be compared by identity first.
    """
    return _column_names(tuple(metrics), tuple(features))


def split_column(column: str) -> tuple[str, str]:
    """The metric and the feature that a column names.

    Raises:
        ValueError: there is no double underscore with a name on either side.
    """
    kind, separator, feature = column.partition(_SEPARATOR)
    if not kind or not separator or not feature:
        raise ValueError(f"{column!r} names no feature of a metric: expected <metric>{_SEPARATOR}<feature>")
    return kind_metric(kind), feature
