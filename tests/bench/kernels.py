"""Feature kernels against tsfresh on the same windows, side by side in one run."""

import time
import warnings
from collections.abc import Callable
from statistics import median

import numpy as np
import pandas as pd
from tsfresh.feature_extraction import extract_features, feature_calculators

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import DEFAULT_FC_PARAMETERS, DEFAULT_FEATURE_SET, extract

_N_METRICS = 100
_N_SAMPLES = 300
_ROUNDS = 9
_WINDOWS_PER_ROUND = 100

ROWS = {
    "kernel_ms_per_window": "batched kernels, ms a window (100 metrics x 300 samples x 18 features)",
    "tsfresh_ms_per_window": "tsfresh.extract_features(n_jobs=0), ms a window",
    "calculators_ms_per_window": "tsfresh's bare calculators, ms a window",
    "kernel_vs_tsfresh": "extract_features / kernels",
    "kernel_vs_calculators": "bare calculators / kernels",
}


def run() -> dict[str, float]:
    """Median of rounds that take turns; the kernels are timed over many windows a round, one call a window."""
    steps = np.random.default_rng(0).normal(size=(_N_METRICS, _N_SAMPLES))
    values = 50.0 + np.cumsum(steps, axis=1)
    frame = pd.DataFrame(
        {"window": 0, "tick": np.arange(_N_SAMPLES), **{f"metric.{row}": series for row, series in enumerate(values)}}
    )

    def kernels() -> None:
        for _ in range(_WINDOWS_PER_ROUND):
            extract(values, DEFAULT_FEATURE_SET)

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

    timings: dict[Callable[[], None], list[float]] = {kernels: [], whole_tsfresh: [], bare_calculators: []}
    with warnings.catch_warnings(action="ignore"):
        for _ in range(_ROUNDS):
            for work, milliseconds in timings.items():
                begin = time.perf_counter()
                work()
                milliseconds.append((time.perf_counter() - begin) * 1e3)

    kernel_ms = median(timings[kernels]) / _WINDOWS_PER_ROUND
    tsfresh_ms = median(timings[whole_tsfresh])
    calculators_ms = median(timings[bare_calculators])
    return {
        "kernel_ms_per_window": kernel_ms,
        "tsfresh_ms_per_window": tsfresh_ms,
        "calculators_ms_per_window": calculators_ms,
        "kernel_vs_tsfresh": tsfresh_ms / kernel_ms,
        "kernel_vs_calculators": calculators_ms / kernel_ms,
    }


def _calculate(series: FloatArray) -> None:
    for name, parameter_sets in DEFAULT_FC_PARAMETERS.items():
        calculator = getattr(feature_calculators, name)
        if calculator.fctype == "combiner":
            calculator(series, param=parameter_sets)
        else:
            for parameters in parameter_sets or [{}]:
                calculator(series, **parameters)


if __name__ == "__main__":
    for figure, value in run().items():
        print(f"{ROWS[figure]:80} {value:10.3f}")
