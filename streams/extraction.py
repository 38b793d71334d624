"""From a closed window to the feature windows of its entities: align, derive rates, extract."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.schemas.feature_window import FeatureWindow, SampleCount
from pulsetrain.streams.align.columns import MAX_REMEMBERED_METRICS, metric_columns
from pulsetrain.streams.align.grid import Grid, Gridded, align
from pulsetrain.streams.align.rates import rates
from pulsetrain.streams.features import FeatureSets
from pulsetrain.streams.settings import WindowSettings
from pulsetrain.streams.windows.closed import ClosedWindow, EntityWindow, SourceWindow

_CACHED_LAYOUTS = 1024

_OF_VALUES = [list(SampleCount).index(count) for count in (SampleCount.MEASURED, SampleCount.RESAMPLED)]
"""What is filled is filled between these."""


@dataclass(frozen=True, slots=True)
class _Series:
    """Aligned metrics of one source and kind: values (metrics, points), counts (metrics, len(SampleCount))."""

    metrics: tuple[str, ...]
    values: FloatArray
    counts: IntArray


def feature_windows(closed: ClosedWindow, feature_sets: FeatureSets, settings: WindowSettings) -> list[FeatureWindow]:
    """One feature window per entity, metrics in order of their names.

    Counters become rates. A metric with a gap beyond the fill limit, or without a point on its grid, has no features.
    Where two collectors send the same metric of an entity, of those that have values the one whose name comes first
    gives it.
    """
    series = [list(_entity_series(entity, closed, settings)) for entity in closed.entities]
    features = _extract([one for several in series for one in several], feature_sets)
    return [
        _feature_window(closed, entity, several, [next(features) for _ in several], feature_sets)
        for entity, several in zip(closed.entities, series, strict=True)
    ]


def _feature_window(
    closed: ClosedWindow,
    entity: EntityWindow,
    series: list[_Series],
    features: list[FloatArray],
    feature_sets: FeatureSets,
) -> FeatureWindow:
    names = tuple(one.metrics for one in series)
    is_long = sum(map(len, names)) > MAX_REMEMBERED_METRICS
    metrics, rows = _order(names) if is_long else _remembered_order(names)
    counts = np.concatenate([one.counts for one in series])
    if len(metrics) < len(counts):
        rows = _first_with_values(tuple(chain.from_iterable(names)), counts)
    layout = feature_sets.layout(metrics)
    return FeatureWindow(
        node=closed.node,
        session=closed.session,
        entity=entity.entity,
        labels=entity.labels,
        start_ns=closed.start_ns,
        end_ns=closed.end_ns,
        complete=closed.complete,
        metrics=metrics,
        features=layout.suffixes,
        values=np.concatenate(features)[rows][:, layout.columns],
        counts=counts[rows],
        clock_offset_ns=closed.clock_offset_ns,
    )


def _order(names: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], IntArray | slice]:
    """The metrics of some series in order of their names, and the row in which each comes first.

    A slice of all rows where they are in that order already.
    """
    row_of: dict[str, int] = {}
    for row, metric in enumerate(chain.from_iterable(names)):
        row_of.setdefault(metric, row)
    metrics = tuple(sorted(row_of))
    if metrics == tuple(chain.from_iterable(names)):
        return metrics, slice(None)
    rows = np.array([row_of[metric] for metric in metrics], dtype=np.int64)
    rows.flags.writeable = False
    return metrics, rows


def _first_with_values(names: tuple[str, ...], counts: IntArray) -> IntArray:
    """Of each metric the first row that has values, else the first one; in order of the metrics' names.

    Takes the metric and the counts of each row, (rows,) and (rows, len(SampleCount)).
    """
    has_values = counts[:, _OF_VALUES].any(axis=1)
    row_of: dict[str, int] = {}
    for row in np.argsort(~has_values, kind="stable").tolist():
        row_of.setdefault(names[row], row)
    return np.array([row_of[metric] for metric in sorted(row_of)], dtype=np.int64)


_remembered_order = lru_cache(maxsize=_CACHED_LAYOUTS)(_order)


def _entity_series(entity: EntityWindow, closed: ClosedWindow, settings: WindowSettings) -> Iterator[_Series]:
    """The gauges and the rates of each source, in order of collector names."""
    tolerance_ns = round(settings.grid_tolerance_ms * 1_000_000)
    limit = settings.fill_limit_intervals
    for source in entity.sources:
        grid = Grid.between(closed.start_ns, closed.end_ns, source.interval_ns)
        columns = metric_columns(source.metrics)
        gauges, counters = columns.gauges, columns.counters
        if len(gauges):
            values = source.values.T[gauges].T if len(counters) else source.values
            gridded = align(source.ticks_ns, values, grid, tolerance_ns, limit, columns.holds)
            yield _Series(columns.gauge_names, gridded.values.T, _counts(source, gauges, grid, gridded))
        if len(counters):
            values = source.values.T[counters].T if len(gauges) else source.values
            growth = rates(source.ticks_ns, values, source.interval_ns, columns.wraps_at, source.reboot_rows)
            grid = grid.without_first()
            gridded = align(source.ticks_ns[1:], growth, grid, tolerance_ns, limit)
            yield _Series(columns.counter_names, gridded.values.T, _counts(source, counters, grid, gridded))


def _counts(source: SourceWindow, columns: IntArray, grid: Grid, gridded: Gridded) -> IntArray:
    """Shape (metrics, len(SampleCount))."""
    counts = np.empty((len(columns), len(SampleCount)), dtype=np.int64)
    invalid = source.not_finite + source.sentinel + source.out_of_range
    by_name: dict[SampleCount, IntArray | int] = {
        SampleCount.EXPECTED: grid.points,
        SampleCount.MEASURED: gridded.measured,
        SampleCount.RESAMPLED: gridded.resampled,
        SampleCount.FILLED: gridded.filled,
        SampleCount.LATE: source.late[columns],
        SampleCount.OUT_OF_ORDER: source.out_of_order[columns],
        SampleCount.INVALID: invalid[columns],
        SampleCount.NOT_FINITE: source.not_finite[columns],
        SampleCount.SENTINEL: source.sentinel[columns],
        SampleCount.OUT_OF_RANGE: source.out_of_range[columns],
    }
    for column, name in enumerate(SampleCount):
        counts[:, column] = by_name[name]
    return counts


def _extract(series: list[_Series], feature_sets: FeatureSets) -> Iterator[FloatArray]:
    """The features of each series' metrics, in the same order; series of one length are extracted in one batch."""
    by_length: dict[int, list[int]] = {}
    for index, one in enumerate(series):
        by_length.setdefault(one.values.shape[1], []).append(index)
    features: dict[int, FloatArray] = {}
    for indexes in by_length.values():
        several = [series[index].values for index in indexes]
        metrics = chain.from_iterable(series[index].metrics for index in indexes)
        batch = feature_sets.extract(several[0] if len(several) == 1 else np.concatenate(several), metrics)
        begin = 0
        for index in indexes:
            end = begin + len(series[index].metrics)
            features[index], begin = batch[begin:end], end
    return (features[index] for index in range(len(series)))
