"""The rows that `perf stat -I` prints, as JSON or separated by semicolons.

The columns are those of "CSV FORMAT" and "JSON FORMAT" in tools/perf/Documentation/perf-stat.txt of Linux.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from pulsetrain.agents.collectors.perf.events import split_name

SEPARATOR = ";"
NOT_SUPPORTED = "not supported"
_NOT_COUNTED = "not counted"
_NO_VALUE = {"<not supported>": NOT_SUPPORTED, "<not counted>": _NOT_COUNTED}
_MIN_RUNNING_PERCENT = 10.0
"""A count that was scaled up from less of its interval says more about chance than about the interval."""


@dataclass(frozen=True, slots=True)
class Row:
    """What perf said about one event in one interval.

    `seconds`: the end of the interval, since perf began. `pmu`, `event`: as `split_name` gives them. `value` is NaN
    where there is none, and `missing` says why. `unit`: as perf prints it, empty for a plain count.
    """

    seconds: float
    pmu: str
    event: str
    value: float
    unit: str = ""
    missing: str = ""


RowParser = Callable[[bytes], Row | None]


class _JsonRow(msgspec.Struct, rename="kebab"):
    interval: float
    counter_value: str | float | None = None
    event: str | None = None
    unit: str = ""
    pcnt_running: float = 100.0


_decode = msgspec.json.Decoder(_JsonRow).decode


def parse_json(line: bytes) -> Row | None:
    """A row of `perf stat -j`; None for a line that says nothing about an event.

    Raises:
        ValueError: it is no such row.
    """
    if _says_nothing(line):
        return None
    try:
        row = _decode(line)
    except msgspec.MsgspecError:
        # What perf computed itself comes last, and may be `nan`, which is no JSON.
        counted, metric, _ = line.partition(b', "metric-value"')
        if not metric:
            raise ValueError(f"no JSON row of perf: {_shown(line)}") from None
        try:
            row = _decode(counted + b"}")
        except msgspec.MsgspecError as error:
            raise ValueError(f"no JSON row of perf ({error}): {_shown(line)}") from None
    if row.event is None or row.counter_value is None:
        return None
    return _row(row.interval, row.event, str(row.counter_value), row.unit, row.pcnt_running)


def parse_separated(line: bytes) -> Row | None:
    """A row of `perf stat -x ';'`; None for a line that says nothing about an event. Further columns are ignored.

    Raises:
        ValueError: it is no such row, for instance because its numbers have commas.
    """
    if _says_nothing(line):
        return None
    seconds, *columns = line.decode("utf-8", "replace").split(SEPARATOR)
    if len(columns) < 5:
        if any(columns):
            raise ValueError(f"{len(columns)} columns behind the time, not 5 or more: {_shown(line)}")
        raise ValueError(f"no row of perf: {_shown(line)}")
    value, unit, event, running_ns, running_percent = columns[:5]
    if not value and not event:
        return None
    if not running_ns.isdigit():
        raise ValueError(f"the time that the counter ran is no number: {_shown(line)}")
    return _row(float(seconds), event, value, unit, float(running_percent))


def _row(seconds: float, event: str, value: str, unit: str, running_percent: float) -> Row:
    if not (math.isfinite(seconds) and seconds >= 0.0 and math.isfinite(running_percent) and event):
        raise ValueError(f"time {seconds}, event {event!r}, running {running_percent} %: that can't be")
    pmu, name = split_name(event)
    missing = _NO_VALUE.get(value, "")
    if missing:
        return Row(seconds, pmu, name, math.nan, unit, missing)
    number = float(value)
    if not (math.isfinite(number) and number >= 0.0):
        raise ValueError(f"{event} is {value}; a count is finite and not negative")
    if running_percent < _MIN_RUNNING_PERCENT:
        missing = f"counted in only {running_percent:g} % of the interval"
        return Row(seconds, pmu, name, math.nan, unit, missing)
    return Row(seconds, pmu, name, number, unit)


def _says_nothing(line: bytes) -> bool:
    stripped = line.lstrip()
    return not stripped or stripped.startswith(b"#")


def _shown(line: bytes) -> str:
    return repr(line[:100])
