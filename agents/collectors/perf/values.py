"""What the rows of an interval say in the catalogue's terms."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pulsetrain.agents.collectors.perf.events import Event, EventSet, Ratio
from pulsetrain.agents.collectors.perf.intervals import Interval
from pulsetrain.agents.collectors.perf.rows import Row

_NO_ROW = "perf printed no row"
_PMU_ATTRIBUTE = "cpu.pmu"


@dataclass(slots=True)
class Values:
    """Values by metric id, NaN where there is none; and why, by metric id."""

    values: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def put(self, identifier: str, value: float, missing: str) -> None:
        """Keep a value, or why there is none."""
        self.values[identifier] = value
        if math.isnan(value):
            self.missing[identifier] = missing


@dataclass(frozen=True, slots=True)
class _Count:
    value: float
    missing: str = ""


def interval_values(interval: Interval, events: EventSet) -> Values:
    """Rates over the interval and ratios of its counts.

    A sum with a part that is missing is missing: the rest would look like a fall. Where a processor has two kinds of
    cores, each kind is also kept apart (`cpu.pmu`).
    """
    found = Values()
    if interval.seconds <= 0.0:
        return found
    by_event: defaultdict[str, list[Row]] = defaultdict(list)
    for row in interval.rows:
        by_event[row.event].append(row)
    _put_rates(found, by_event, events, interval.seconds)
    for ratio in events.ratios:
        _put_ratio(found, ratio, by_event, events)
    return found


def _put_rates(found: Values, by_event: dict[str, list[Row]], events: EventSet, seconds: float) -> None:
    parts: defaultdict[str, list[_Count]] = defaultdict(list)
    for event in events.events:
        if not event.metric:
            continue
        rows = by_event.get(event.name, [])
        parts[event.id_with()].append(_sum(rows, event))
        if event.hardware:
            kinds = sorted({row.pmu for row in rows if row.pmu})
            for pmu in kinds if len(kinds) > 1 else ():
                parts[event.id_with((_PMU_ATTRIBUTE, pmu))].append(_sum([row for row in rows if row.pmu == pmu], event))
    for identifier, counts in parts.items():
        total = _total(counts)
        found.put(identifier, total.value / seconds, total.missing)


def _put_ratio(found: Values, ratio: Ratio, by_event: dict[str, list[Row]], events: EventSet) -> None:
    above, below = by_event.get(ratio.numerator, []), by_event.get(ratio.denominator, [])
    if len({row.pmu for row in below}) > 1:
        # Two kinds of cores: what only one of them counts is a share of that one's.
        pmus = {event.name: event.pmu for event in events.events}
        kinds = {row.pmu or pmus.get(row.event, "") for row in above}
        below = [row for row in below if row.pmu in kinds]
    numerator, denominator = _total(_counts(above)), _total(_counts(below))
    missing = numerator.missing or denominator.missing
    if missing:
        missing = f"{ratio.numerator if numerator.missing else ratio.denominator}: {missing}"
    elif denominator.value == 0.0:
        missing = f"no {ratio.denominator} in this interval"
    found.put(ratio.metric, math.nan if missing else numerator.value / denominator.value, missing)


def _sum(rows: Iterable[Row], event: Event) -> _Count:
    total = _total([_count(row, event) for row in rows])
    return _Count(total.value * event.factor, total.missing)


def _count(row: Row, event: Event) -> _Count:
    if event.unit and row.unit != event.unit and not row.missing:
        return _Count(math.nan, f"perf gave {row.unit or 'a plain count'} instead of {event.unit}")
    return _Count(row.value, row.missing)


def _counts(rows: Iterable[Row]) -> list[_Count]:
    return [_Count(row.value, row.missing) for row in rows]


def _total(counts: list[_Count]) -> _Count:
    if not counts:
        return _Count(math.nan, _NO_ROW)
    missing = next((count.missing for count in counts if count.missing), "")
    return _Count(math.nan if missing else math.fsum(count.value for count in counts), missing)
