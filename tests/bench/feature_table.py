"""Writes docs/features.md: what serves each of tsfresh's calculators, what it costs, how near it comes to tsfresh.

`python -m tests.bench.feature_table`, one or two minutes. Times are CPU time of one thread, so other work on the
machine hardly shows in them.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from tsfresh.feature_extraction import feature_calculators

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import FeatureSet, extract
from pulsetrain.streams.features.calculators import find_calculator
from pulsetrain.streams.features.kernels import KERNELS
from tests.unit.streams.features.rounding import RELATIVE, allowed_difference
from tests.unit.streams.features.series_strategies import telling_windows
from tests.unit.streams.features.tsfresh_oracle import comprehensive_parameters, tsfresh_values

DOCUMENT = Path(__file__).parents[2] / "docs" / "features.md"

NOTHING = "nothing"
TSFRESH = "tsfresh"
KERNEL = "kernel"
KERNEL_OR_TSFRESH = "kernel, or tsfresh"

_N_SAMPLES = 300
_LENGTHS = (*range(1, 21), 64, _N_SAMPLES)
_ROUNDS = 5

_INTRODUCTION = f"""\
# Features

Written by `python -m tests.bench.feature_table`; only the first three columns are checked by a test.

Pulsetrain computes features under tsfresh's names and with tsfresh's values. A feature set is any tsfresh
`fc_parameters` table, or the name of one that tsfresh brings; a metric may have a set of its own:

```toml
[worker]
features = "EfficientFCParameters"

[worker.metric_features]
"system.memory.usage{{system.memory.state=used}}" = "MinimalFCParameters"

[worker.metric_features."system.cpu.utilization"]
mean = []
quantile = [{{ q = 0.5 }}, {{ q = 0.99 }}]
```

**Served by**: *{KERNEL}* computes all parameter sets for all series of a batch at once. *{KERNEL_OR_TSFRESH}* does so
too, but leaves a series to tsfresh's own calculator where rounding decides: where a regression is nearly singular, what
comes out depends on how it is solved, and only tsfresh's own way gives tsfresh's digits. *{TSFRESH}* is tsfresh's own
calculator, one series at a time; parameters beyond those that tsfresh chose for itself may go there as well.
*{NOTHING}*: the calculator needs the samples' times, which series on a grid don't carry; tsfresh leaves it out too.

**Cost** is CPU time for one series of {_N_SAMPLES} samples and all parameter sets of ComprehensiveFCParameters, in
microseconds; ours in a batch of 100.

**Difference** is the largest one from tsfresh over windows of {len(_LENGTHS)} lengths from 1 to {_N_SAMPLES} samples:
noise, walks, whole numbers, levels, ramps, constants, up to 1e12 away from zero. It is relative to the value, or, where
terms of both signs cancel, to the sum of their magnitudes; `tests/unit/streams/features/rounding.py` has the rule for
each calculator. 0 means the same bits.

| calculator | features | served by | cost | tsfresh's | times faster | difference |
|---|---:|---|---:|---:|---:|---:|
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A calculator, the number of its features, and what serves them."""

    calculator: str
    n_features: int
    served_by: str


def rows() -> Iterator[Row]:
    """The calculators of ComprehensiveFCParameters in its order."""
    for name, parameter_sets in comprehensive_parameters().items():
        yield Row(name, len(parameter_sets or [{}]), _served_by(name))


def _served_by(name: str) -> str:
    if hasattr(getattr(feature_calculators, name), "index_type"):
        return NOTHING
    calculator = find_calculator(name)
    if calculator:
        return KERNEL_OR_TSFRESH if calculator.asks_tsfresh else KERNEL
    return KERNEL if name in KERNELS else TSFRESH


def table_line(row: Row) -> str:
    """The beginning of the row's line, as far as it does not depend on the machine."""
    return f"| {row.calculator} | {row.n_features} | {row.served_by} |"


def _measured(row: Row) -> str:
    if row.served_by == NOTHING:
        return " | | | |"
    parameter_sets = comprehensive_parameters()[row.calculator]
    feature_set = FeatureSet.from_fc_parameters({row.calculator: parameter_sets})
    walks = 50 + np.cumsum(np.random.default_rng(0).normal(size=(100, _N_SAMPLES)), axis=1)
    ours = _microseconds(lambda: extract(walks, feature_set)) / len(walks)
    theirs = _microseconds(lambda: tsfresh_values(row.calculator, parameter_sets or [{}], walks[0]))
    difference = max(_difference(row.calculator, feature_set, n_samples) for n_samples in _LENGTHS)
    return f" {ours:.1f} | {theirs:,.0f} | {theirs / ours:,.0f} | {f'{difference:.0e}' if difference else '0'} |"


def _microseconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS + 1):
        begin = time.thread_time()
        work()
        times.append((time.thread_time() - begin) * 1e6)
    return median(times[1:])


def _difference(calculator: str, feature_set: FeatureSet, n_samples: int) -> float:
    """Largest difference over the windows of one length, relative to the features' natural size."""
    values = np.stack(list(telling_windows(n_samples).values()))
    return max(_of_series(calculator, *pair) for pair in zip(values, extract(values, feature_set), strict=True))


def _of_series(calculator: str, series: FloatArray, features: FloatArray) -> float:
    parameter_sets = comprehensive_parameters()[calculator] or [{}]
    largest = 0.0
    for parameters, actual, expected in zip(
        parameter_sets, features, tsfresh_values(calculator, parameter_sets, series), strict=True
    ):
        if actual == expected or (np.isnan(actual) and np.isnan(expected)):
            continue
        size = allowed_difference(calculator, parameters, series, expected) / RELATIVE
        largest = max(largest, abs(actual - expected) / size)
    return largest


def main() -> None:
    """Measure, and write the document."""
    lines = []
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        for row in rows():
            print(row.calculator, file=sys.stderr, flush=True)
            lines.append(table_line(row) + _measured(row))
    DOCUMENT.write_text(_INTRODUCTION + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
