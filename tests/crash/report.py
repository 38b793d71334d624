"""The outcome for people: a short table, and of what is wrong the first few with both contents."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np

from pulsetrain.schemas.columns import column_names
from pulsetrain.schemas.feature_window import FeatureWindow, decode_feature_window
from tests.crash.comparison import SHOWN, Comparison
from tests.crash.plan import Outcome


def lines(outcome: Outcome) -> Iterator[str]:
    """The table, then what is wrong."""
    windows, verdicts = outcome.windows, outcome.verdicts
    table: dict[str, int] = dict(outcome.counts)
    table["workers that ended by themselves, unexplained"] = len(outcome.unexplained_exits)
    table["copies of windows that detect reports as dropped"] = outcome.dropped_copies
    table |= {name: outcome.happened[name] for name in sorted(outcome.happened)}
    for name, comparison in (("windows", windows), ("verdicts", verdicts)):
        table |= {
            f"{name} of an undisturbed run": comparison.expected,
            f"{name} published": comparison.published,
            f"{name} that are equal copies": comparison.copies,
            f"{name} lost": len(comparison.lost),
            f"{name} different": len(comparison.different),
            f"{name} never expected": len(comparison.unexpected),
        }
    width = max(map(len, table))
    yield from (f"{name:<{width}}  {count:>9,}" for name, count in table.items())
    yield from (f"ended by itself without a stop of the broker: {worker}" for worker in outcome.unexplained_exits)
    if not outcome.met_copies:
        yield "detect has dropped no copy of a window, so that nothing is shown of copies"
    yield from _problems("window", windows, _window_differences)
    yield from _problems("verdict", verdicts, _verdict_differences)


def _problems(
    name: str, comparison: Comparison[Any], differences: Callable[[bytes, bytes], Iterator[str]]
) -> Iterator[str]:
    yield from (f"lost {name}: {identity}" for identity in comparison.lost[:SHOWN])
    yield from (f"{name} never expected: {identity}" for identity in comparison.unexpected[:SHOWN])
    for identity, (wanted, found) in list(comparison.different.items())[:SHOWN]:
        yield f"different {name}: {identity}"
        yield from (f"    {line}" for line in differences(wanted, found))


def _window_differences(wanted: bytes, found: bytes) -> Iterator[str]:
    yield from _field_differences(_window_fields(wanted), _window_fields(found))


def _window_fields(content: bytes) -> dict[str, Any]:
    """Every field of a window, arrays by column or metric."""
    window = decode_feature_window(content)
    fields: dict[str, Any] = {}
    for name in FeatureWindow.__slots__:
        value = getattr(window, name)
        if name == "values":
            columns = column_names(window.metrics, window.features)
            fields |= dict(zip(columns, map(repr, value.reshape(-1).tolist()), strict=True))
        elif isinstance(value, np.ndarray):
            labels = window.metrics if len(value) == len(window.metrics) else range(len(value))
            fields |= {f"{name} {label}": row for label, row in zip(labels, value.tolist(), strict=True)}
        else:
            fields[name] = value
    return fields


def _verdict_differences(wanted: bytes, found: bytes) -> Iterator[str]:
    yield from _field_differences(msgspec.json.decode(wanted), msgspec.json.decode(found))


def _field_differences(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    differing = [name for name in wanted | found if wanted.get(name) != found.get(name)]
    for name in differing[: 2 * SHOWN]:
        yield f"{name}: {wanted.get(name)!r} expected, {found.get(name)!r} found"
    if len(differing) > 2 * SHOWN:
        yield f"and {len(differing) - 2 * SHOWN} more fields"
