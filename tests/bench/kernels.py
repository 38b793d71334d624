"""Feature kernels against tsfresh on the same windows, side by side in one run.

Each runs in one thread, whose CPU time is measured: other load on the machine then hardly counts.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import pandas as pd
from tsfresh.feature_extraction import extract_features, feature_calculators

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import DEFAULT_FC_PARAMETERS, DEFAULT_FEATURE_SET, extract
from tests.bench.figures import Figure

_N_METRICS = 100
_N_SAMPLES = 300
_ROUNDS = 9
_WINDOWS_PER_ROUND = 100
_HOP_SAMPLES = 50

_WINDOW = f"{_N_METRICS} metrics x {_N_SAMPLES} samples x 18 features"

FIGURES = (
    Figure("kernel_ms_per_window", "ms", f"our batched kernels, one window a call: {_WINDOW}"),
    Figure("tsfresh_ms_per_window", "ms", "tsfresh.extract_features(n_jobs=0) on one such window"),
    Figure("calculators_ms_per_window", "ms", "tsfresh's bare calculators on one such window, without pandas"),
    Figure("read_once_ms_per_window", "ms", "floor: numpy's sum of each window, which reads every byte once"),
    Figure("kernel_vs_tsfresh", "times faster", "extract_features / kernels"),
    Figure("kernel_vs_calculators", "times faster", "bare calculators / kernels"),
    Figure("kernel_vs_read_once", "times the floor", "kernels / reading every byte once"),
)


def run() -> dict[str, float]:
    """Medians over rounds in which all take turns; a ratio is taken within a round.

    The kernels are timed over many windows a round, one call a window. All windows differ: a processor learns to
    foresee the branches of a program that meets the same numbers again and again.
    """
    n_ticks = _N_SAMPLES + _HOP_SAMPLES * (_WINDOWS_PER_ROUND - 1)
    walk = 50.0 + np.cumsum(np.random.default_rng(0).normal(size=(_N_METRICS, n_ticks)), axis=1)
    starts = range(0, _HOP_SAMPLES * _WINDOWS_PER_ROUND, _HOP_SAMPLES)
    windows = [np.ascontiguousarray(walk[:, start : start + _N_SAMPLES]) for start in starts]
    ticks = np.arange(_N_SAMPLES)
    frames = [
        pd.DataFrame({"window": 0, "tick": ticks, **{f"metric.{row}": series for row, series in enumerate(values)}})
        for values in windows[:_ROUNDS]
    ]

    def kernels(_: int) -> None:
        for values in windows:
            extract(values, DEFAULT_FEATURE_SET)

    def read_once(_: int) -> None:
        for values in windows:
            values.sum()

    def whole_tsfresh(number: int) -> None:
        extract_features(
            frames[number],
            column_id="window",
            column_sort="tick",
            default_fc_parameters=DEFAULT_FC_PARAMETERS,
            n_jobs=0,
            disable_progressbar=True,
        )

    def bare_calculators(number: int) -> None:
        for series in windows[number]:
            _calculate(series)

    timings: dict[Callable[[int], None], list[float]] = {
        kernels: [],
        read_once: [],
        whole_tsfresh: [],
        bare_calculators: [],
    }
    with warnings.catch_warnings(action="ignore"):
        for number in range(_ROUNDS):
            for work, milliseconds in timings.items():
                begin = time.thread_time()
                work(number)
                milliseconds.append((time.thread_time() - begin) * 1e3)

    kernel_ms = [milliseconds / _WINDOWS_PER_ROUND for milliseconds in timings[kernels]]
    read_once_ms = [milliseconds / _WINDOWS_PER_ROUND for milliseconds in timings[read_once]]
    return {
        "kernel_ms_per_window": median(kernel_ms),
        "tsfresh_ms_per_window": median(timings[whole_tsfresh]),
        "calculators_ms_per_window": median(timings[bare_calculators]),
        "read_once_ms_per_window": median(read_once_ms),
        "kernel_vs_tsfresh": _median_ratio(timings[whole_tsfresh], kernel_ms),
        "kernel_vs_calculators": _median_ratio(timings[bare_calculators], kernel_ms),
        "kernel_vs_read_once": _median_ratio(kernel_ms, read_once_ms),
    }


def _median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    return median(a / b for a, b in zip(numerators, denominators, strict=True))


def _calculate(series: FloatArray) -> None:
    for name, parameter_sets in DEFAULT_FC_PARAMETERS.items():
        calculator = getattr(feature_calculators, name)
        if calculator.fctype == "combiner":
            calculator(series, param=parameter_sets)
        else:
            for parameters in parameter_sets or [{}]:
                calculator(series, **parameters)
