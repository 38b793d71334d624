"""Feature kernels against tsfresh on the same windows, side by side in one run.

Each runs in one thread, whose CPU time is measured: other load on the machine then hardly counts.
"""

import warnings
from statistics import median

import numpy as np
import pandas as pd
from tsfresh.feature_extraction import extract_features, feature_calculators

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import DEFAULT_FC_PARAMETERS, DEFAULT_FEATURE_SET, extract
from tests.bench.figures import Figure
from tests.bench.rounds import median_ratio, milliseconds_in_turns

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

    with warnings.catch_warnings(action="ignore"):
        kernels_ms, reads_ms, whole_ms, bare_ms = milliseconds_in_turns(
            (kernels, read_once, whole_tsfresh, bare_calculators), _ROUNDS
        )

    kernel_ms = [milliseconds / _WINDOWS_PER_ROUND for milliseconds in kernels_ms]
    read_once_ms = [milliseconds / _WINDOWS_PER_ROUND for milliseconds in reads_ms]
    return {
        "kernel_ms_per_window": median(kernel_ms),
        "tsfresh_ms_per_window": median(whole_ms),
        "calculators_ms_per_window": median(bare_ms),
        "read_once_ms_per_window": median(read_once_ms),
        "kernel_vs_tsfresh": median_ratio(whole_ms, kernel_ms),
        "kernel_vs_calculators": median_ratio(bare_ms, kernel_ms),
        "kernel_vs_read_once": median_ratio(kernel_ms, read_once_ms),
    }


def _calculate(series: FloatArray) -> None:
    for name, parameter_sets in DEFAULT_FC_PARAMETERS.items():
        calculator = getattr(feature_calculators, name)
        if calculator.fctype == "combiner":
            calculator(series, param=parameter_sets)
        else:
            for parameters in parameter_sets or [{}]:
                calculator(series, **parameters)
