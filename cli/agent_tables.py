"""What `pulsetrain agent --list` and `--once --print` show: plain lines in columns."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pulsetrain.agents.look import Value
from pulsetrain.agents.sources import Source
from pulsetrain.schemas.catalogue import find

_GAP = "  "
_UNKNOWN = "?"
_NONE = "-"


def source_lines(sources: Iterable[Source]) -> Iterator[str]:
    """A line for each metric name of each source: what it is, how often, and whether this machine has it."""
    rows = [("collector", "metric", "unit", "kind", "every", "here", "read from, or why not")]
    for source in sources:
        here = "yes" if source.support.supported else "no"
        from_or_why = source.reads if source.support.supported else source.support.reason
        for name in source.metric_names or (_NONE,):
            known = find(name)
            unit, kind = (known.unit, known.kind.value) if known else (_UNKNOWN, _UNKNOWN)
            rows.append((source.collector, name, unit, kind, f"{source.interval_ms} ms", here, from_or_why))
    return _columns(rows)


def value_lines(values: Iterable[Value], absent: Mapping[str, str]) -> Iterator[str]:
    """A line for each value, under its entity; then the collectors that brought none, with the reason."""
    by_entity: dict[str, list[Value]] = {}
    for value in values:
        by_entity.setdefault(value.entity, []).append(value)
    for entity, its_values in by_entity.items():
        yield f"{entity}:"
        rows = [("metric", "value", "unit", "per second", "")]
        rows += [
            (value.metric, _number(value.value), _unit(value.metric), _rate(value), value.missing)
            for value in its_values
        ]
        yield from _columns(rows, numbers=(1, 3))
        yield ""
    if absent:
        yield "nothing from:"
        yield from _columns(list(absent.items()))


def _rate(value: Value) -> str:
    return "" if value.per_second is None else _number(value.per_second)


def _number(number: float) -> str:
    if not math.isfinite(number):
        return _NONE if math.isnan(number) else str(number)
    return f"{number:.0f}" if number == int(number) and abs(number) < 1e15 else f"{number:.6g}"


def _unit(metric: str) -> str:
    known = find(metric)
    return known.unit if known else _UNKNOWN


def _columns(rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> Iterator[str]:
    """Each column as wide as its widest text; those of numbers flush right."""
    widths = [max(len(text) for text in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            text.rjust(width) if column in numbers else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield _GAP.join(cells).rstrip()
