"""One look at this machine, without Kafka: what every collector reads now, and how fast counters grow."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pulsetrain.agents.call_in_thread import CallInThread
from pulsetrain.agents.collectors.base import BackgroundCollector, Collector
from pulsetrain.agents.collectors.health import HealthCollector
from pulsetrain.agents.sources import Sources
from pulsetrain.schemas.catalogue import MetricKind, find

PAUSE_SECONDS = 1.0
"""Between the two readings that shares and rates need."""

_LONGEST_PAUSE_SECONDS = 10.0
_MS_PER_SECOND = 1000
_NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Value:
    """A metric of an entity: NaN with the reason where there is none; `per_second` is how fast a counter grows."""

    collector: str
    entity: str
    metric: str
    value: float
    per_second: float | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """Values by entity and metric, with the time of each in seconds, and reasons for what is missing."""

    values: dict[tuple[str, str], tuple[float, float]]
    missing: dict[tuple[str, str], str]


class _Failure(str):
    """Why a collector brought nothing."""


def look(sources: Sources, sleep: Callable[[float], None] = time.sleep) -> tuple[list[Value], dict[str, str]]:
    """Read every supported collector twice; returns the values, and by collector why it brought none.

    Args:
        sources: the collectors.
        sleep: waits for so many seconds.
    """
    background = [entry.collector for entry in sources.background if sources.support(entry).supported]
    calls = [(collector, CallInThread(partial(_twice_in_background, collector, sleep))) for collector in background]
    scheduled = [
        entry.collector
        for entry in sources.scheduled
        # Nobody keeps notes of how collectors fare during a single look.
        if sources.support(entry).supported and not isinstance(entry.collector, HealthCollector)
    ]
    first = [_read(collector) for collector in scheduled]
    sleep(PAUSE_SECONDS)
    values: list[Value] = []
    failures: dict[str, str] = {}
    for collector, before in zip(scheduled, first, strict=True):
        _add(collector.name, before, _read(collector), values, failures)
    for asked, call in calls:
        seconds = _pause(asked) + 2 * asked.deadline_seconds
        try:
            before, after = call.answer(seconds)
        except TimeoutError:
            failures[asked.name] = f"there was no answer within {seconds:g} s"
        else:
            _add(asked.name, before, after, values, failures)
    return values, failures


def _add(
    name: str,
    before: _Reading | _Failure,
    after: _Reading | _Failure,
    values: list[Value],
    failures: dict[str, str],
) -> None:
    if isinstance(after, _Failure):
        failures[name] = after
        return
    earlier = {} if isinstance(before, _Failure) else before.values
    for (entity, metric), (seconds, value) in after.values.items():
        rate = _rate(metric, earlier.get((entity, metric)), (seconds, value))
        values.append(Value(name, entity, metric, value, rate, after.missing.get((entity, metric), "")))


def _rate(metric: str, before: tuple[float, float] | None, after: tuple[float, float]) -> float | None:
    known = find(metric)
    if known is None or known.kind is not MetricKind.COUNTER or before is None or after[0] <= before[0]:
        return None
    growth = after[1] - before[1]
    return growth / (after[0] - before[0]) if growth >= 0 else None


def _read(collector: Collector[Any]) -> _Reading | _Failure:
    try:
        now = time.monotonic()
        (decoded,) = collector.decode([collector.read()])
        keys = [(collector.entity, metric) for metric in collector.metrics()]
        values = {key: (now, float(value)) for key, value in zip(keys, decoded, strict=True)}
    except Exception as error:  # a fault in one collector must not hide the others
        return _Failure(str(error))
    reason = f"no value in {collector.source}"
    return _Reading(values, {key: reason for key, (_, value) in values.items() if math.isnan(value)})


def _twice_in_background(
    collector: BackgroundCollector, sleep: Callable[[float], None]
) -> tuple[_Reading | _Failure, _Reading | _Failure]:
    before = _collect(collector)
    sleep(_pause(collector))
    return before, _collect(collector)


def _collect(collector: BackgroundCollector) -> _Reading | _Failure:
    values: dict[tuple[str, str], tuple[float, float]] = {}
    missing: dict[tuple[str, str], str] = {}
    try:
        for observation in collector.collect(time.time_ns()).observations:
            seconds = observation.time_ns / _NS_PER_SECOND
            keys = [(observation.entity, metric) for metric in observation.metrics]
            values |= {key: (seconds, float(value)) for key, value in zip(keys, observation.values, strict=True)}
            missing |= {(observation.entity, metric): reason for metric, reason in observation.missing.items()}
    except Exception as error:  # a fault in one collector must not hide the others
        return _Failure(str(error))
    return _Reading(values, missing)


def _pause(collector: BackgroundCollector) -> float:
    return min(max(PAUSE_SECONDS, collector.interval_ms / _MS_PER_SECOND), _LONGEST_PAUSE_SECONDS)
