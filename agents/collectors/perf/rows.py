"""The rows that `perf stat -I -x ';'` prints: "CSV FORMAT" in tools/perf/Documentation/perf-stat.txt of Linux."""

import math
from dataclasses import dataclass

from pulsetrain.agents.collectors.perf.events import split_name

SEPARATOR = ";"
NOT_SUPPORTED = "not supported"
_NO_VALUE = {"<not supported>": NOT_SUPPORTED, "<not counted>": "not counted"}
_FEWEST_COLUMNS = 5
"""Count, unit, event, how long the counter ran, and in which share of the interval."""
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


def parse_row(line: bytes) -> Row | None:
    """A row; None for a line that says nothing about an event. Further columns are ignored.

    Raises:
        ValueError: it is no such row, for instance because its numbers have commas.
    """
    if not line.strip() or line.lstrip().startswith(b"#"):
        return None
    shown = repr(line[:100])
    seconds, *columns = line.decode("utf-8", "replace").split(SEPARATOR)
    if len(columns) < _FEWEST_COLUMNS:
        raise ValueError(f"{len(columns)} columns behind the time, not {_FEWEST_COLUMNS} or more: {shown}")
    value, unit, event, running_ns, running_percent = columns[:_FEWEST_COLUMNS]
    if not value and not event:
        return None
    missing = _NO_VALUE.get(value, "")
    try:
        end, percent, number = float(seconds), float(running_percent), math.nan if missing else float(value)
    except ValueError:
        raise ValueError(f"a word stands where a number belongs: {shown}") from None
    is_possible = 0.0 <= end < math.inf and math.isfinite(percent) and (missing or 0.0 <= number < math.inf)
    if not (is_possible and running_ns.isdigit() and event):
        raise ValueError(f"no row of perf: {shown}")
    if not missing and percent < _MIN_RUNNING_PERCENT:
        number, missing = math.nan, f"counted in only {percent:g} % of the interval"
    return Row(end, *split_name(event), number, unit, missing)
