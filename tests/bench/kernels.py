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

_WINDOW = f"{_N_METRICS} metrics x {_N_SAMPLES} samples x 18 features"

FIGURES = (
    Figure("kernel_ms_per_window", "ms", f"our batched kernels, one window a call: {_WINDOW}"),
    Figure("tsfresh_ms_per_window", "ms", "tsfresh.extract_features(n_jobs=0) on the same window"),
    Figure("calculators_ms_per_window", "ms", "tsfresh's bare calculators on the same window, without pandas"),
    Figure("read_once_ms_per_window", "ms", "floor: numpy's sum of the same window, which reads every byte once"),
    Figure("kernel_vs_tsfresh", "times faster", "extract_features / kernels"),
    Figure("kernel_vs_calculators", "times faster", "bare calculators / kernels"),
    Figure("kernel_vs_read_once", "times the floor", "kernels / reading every byte once"),
)


def run() -> dict[str, float]:
    """Medians over rounds in which all take turns; a ratio is taken within a round.

    The kernels are timed over many windows a round, one call a window.
    """
    steps = np.random.default_rng(0).normal(size=(_N_METRICS, _N_SAMPLES))
    values = 50.0 + np.cumsum(steps, axis=1)
    frame = pd.DataFrame(
        {"window": 0, "tick": np.arange(_N_SAMPLES), **{f"metric.{row}": series for row, series in enumerate(values)}}
    )

    def kernels() -> None:
        for _ in range(_WINDOWS_PER_ROUND):
            extract(values, DEFAULT_FEATURE_SET)

    def read_once() -> None:
        for _ in range(_WINDOWS_PER_ROUND):
            values.sum()

    def whole_tsfresh() -> None:
        extract_features(
            frame,
            column_id="window",
            column_sort="tick",
            default_fc_parameters=DEFAULT_FC_PARAMETERS,
            n_jobs=0,
            disable_progressbar=True,
        )

    def bare_calculators() -> None:
        for series in values:
            _calculate(series)

    timings: dict[Callable[[], None], list[float]] = {
        kernels: [],
        read_once: [],
        whole_tsfresh: [],
        bare_calculators: [],
    }
    with warnings.catch_warnings(action="ignore"):
        for _ in range(_ROUNDS):
            for work, milliseconds in timings.items():
                begin = time.thread_time()
                work()
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
