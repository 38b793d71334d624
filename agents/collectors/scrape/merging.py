"""From the samples of one exposition to observations: one an entity, in the catalogue's units."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pulsetrain.agents.collectors.base import Observation
from pulsetrain.agents.collectors.scrape.line_parser import Sample
from pulsetrain.agents.collectors.scrape.series import Series
from pulsetrain.schemas.sentinels import sentinel_mask

STALE_SECONDS = 300.0
"""As old as Prometheus lets a sample become before its series counts as gone."""

_NS_PER_SECOND = 1_000_000_000
_STALE = f"the exporter's value is older than {STALE_SECONDS:g} s"
_UNCHANGED = "the exporter has not read anew since the previous scrape"
_SENTINEL = "DCGM has no value: blank, not found, not supported or no permission"
_NOT_FINITE = "the exporter's value is not finite"
_PART_MISSING = "a part of the sum is missing"


@dataclass(slots=True)
class _Cell:
    """One metric of one entity: its value, of how many series it is made, and why it is missing."""

    value: float
    parts: int
    timestamp: float | None
    reason: str | None


@dataclass(slots=True)
class _Entity:
    labels: Mapping[str, str]
    cells: dict[str, _Cell] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Merged:
    """`duplicates` counts samples whose metric another series of the same entity had brought before."""

    observations: list[Observation]
    duplicates: int


class Merger:
    """Makes observations of the scrapes of one target, one after the other.

    Args:
        labels: of the target, added to every observation.
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = labels
        self._parts: dict[tuple[str, str], int] = {}
        self._timestamps: dict[tuple[str, str], float] = {}

    def merge(
        self, samples: Sequence[Sample[Series]], time_ns: int, more_labels: Mapping[str, Mapping[str, str]]
    ) -> Merged:
        """Observations at `time_ns`; values that are none are NaN, with the reason.

        The exporter's own times only tell what is old: a value that it has not read anew is missing, not repeated.

        Args:
            samples: of series with a metric.
            time_ns: the tick, Unix nanoseconds.
            more_labels: of some entities.
        """
        is_sentinel = sentinel_mask(np.array([sample.value for sample in samples], dtype=np.float64))
        entities: dict[str, _Entity] = {}
        duplicates = 0
        for sample, no_value in zip(samples, is_sentinel.tolist(), strict=True):
            series = sample.series
            if series.metric is None:
                continue
            cell = _cell(sample, no_value, time_ns / _NS_PER_SECOND)
            entity = entities.setdefault(series.entity, _Entity(series.labels))
            present = entity.cells.setdefault(series.metric, cell)
            if present is not cell:
                if series.is_sum:
                    _add(present, cell)
                else:
                    duplicates += 1
        self._judge_times_and_parts(entities)
        observations = [
            _observation(name, entity, time_ns, {**entity.labels, **self._labels, **more_labels.get(name, {})})
            for name, entity in entities.items()
        ]
        return Merged(observations, duplicates)

    def _judge_times_and_parts(self, entities: Mapping[str, _Entity]) -> None:
        cells = {(name, metric): cell for name, entity in entities.items() for metric, cell in entity.cells.items()}
        for key, cell in cells.items():
            if cell.parts < self._parts.get(key, 0):
                # Less than before would look like a counter that was reset.
                cell.reason = cell.reason or _PART_MISSING
            if cell.timestamp is not None and cell.timestamp == self._timestamps.get(key):
                cell.reason = cell.reason or _UNCHANGED
        self._parts = {key: cell.parts for key, cell in cells.items() if cell.parts > 1}
        self._timestamps = {key: cell.timestamp for key, cell in cells.items() if cell.timestamp is not None}


def _cell(sample: Sample[Series], is_sentinel: bool, now_seconds: float) -> _Cell:
    series = sample.series
    reason = None
    if not math.isfinite(sample.value):
        reason = _NOT_FINITE
    elif series.has_sentinels and is_sentinel:
        reason = _SENTINEL
    elif sample.timestamp is not None and now_seconds - sample.timestamp > STALE_SECONDS:
        reason = _STALE
    return _Cell(sample.value * series.scale, 1, sample.timestamp, reason)


def _add(total: _Cell, part: _Cell) -> None:
    total.value += part.value
    total.parts += 1
    total.reason = total.reason or part.reason
    if part.timestamp is not None:
        total.timestamp = max(part.timestamp, total.timestamp or part.timestamp)


def _observation(name: str, entity: _Entity, time_ns: int, labels: Mapping[str, str]) -> Observation:
    return Observation(
        entity=name,
        time_ns=time_ns,
        metrics=tuple(entity.cells),
        values=[math.nan if cell.reason else cell.value for cell in entity.cells.values()],
        missing={metric: cell.reason for metric, cell in entity.cells.items() if cell.reason},
        labels=labels,
    )
