"""tsfresh's EfficientFCParameters, in batches and by tsfresh itself, side by side in one run."""

import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import pandas as pd
from tsfresh.feature_extraction import EfficientFCParameters, extract_features

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import FeatureSet, extract
from tests.bench.figures import Figure

_N_METRICS = 100
_N_SAMPLES = 300
_ROUNDS = 3
_WINDOWS_PER_ROUND = 10

FIGURES = (
    Figure("efficient_ms_per_window", "ms", "our batched calculators, 100 metrics x 300 samples x 777 features"),
    Figure("efficient_tsfresh_ms_per_window", "ms", "tsfresh.extract_features(n_jobs=0) on the same window"),
    Figure("efficient_vs_tsfresh", "times faster", "extract_features / batched, CPU time of one thread"),
    Figure("efficient_mixed_ms_per_window", "ms", "batched, of metrics a third of which tsfresh's regressions must do"),
    Figure("efficient_mixed_vs_tsfresh", "times faster", "extract_features / batched on these metrics"),
)


def run() -> dict[str, float]:
    """Median of rounds that take turns; ours over several windows a round, one call a window."""
    feature_set = FeatureSet.from_fc_parameters("EfficientFCParameters")
    walks = 50.0 + np.cumsum(np.random.default_rng(0).normal(size=(_N_METRICS, _N_SAMPLES)), axis=1)
    windows = {"walks": walks, "mixed": _mixed(walks)}
    ours: dict[str, list[float]] = {name: [] for name in windows}
    tsfresh: dict[str, list[float]] = {name: [] for name in windows}
    with warnings.catch_warnings(action="ignore"):
        for _ in range(_ROUNDS):
            for name, values in windows.items():
                frame = _frame(values)
                ours[name].append(_milliseconds(partial(_extract_windows, values, feature_set)) / _WINDOWS_PER_ROUND)
                tsfresh[name].append(_milliseconds(partial(_extract_with_tsfresh, frame)))
    ms, mixed_ms = median(ours["walks"]), median(ours["mixed"])
    return {
        "efficient_ms_per_window": ms,
        "efficient_tsfresh_ms_per_window": median(tsfresh["walks"]),
        "efficient_vs_tsfresh": median(tsfresh["walks"]) / ms,
        "efficient_mixed_ms_per_window": mixed_ms,
        "efficient_mixed_vs_tsfresh": median(tsfresh["mixed"]) / mixed_ms,
    }


def _mixed(walks: FloatArray) -> FloatArray:
    """A third as they are, a third whole numbers of few levels, a third constants, ramps and bytes by turns."""
    mixed = walks.copy()
    mixed[1::3] = np.round(mixed[1::3] / 10)
    mixed[2::9] = 0.1
    mixed[5::9] = 3.5 * np.arange(walks.shape[1])
    mixed[8::9] = (6e10 + 1e6 * mixed[8::9]).round()
    return mixed


def _frame(values: FloatArray) -> pd.DataFrame:
    metrics = {f"metric.{row}": series for row, series in enumerate(values)}
    return pd.DataFrame({"window": 0, "tick": np.arange(values.shape[1]), **metrics})


def _extract_windows(values: FloatArray, feature_set: FeatureSet) -> None:
    for _ in range(_WINDOWS_PER_ROUND):
        extract(values, feature_set)


def _extract_with_tsfresh(frame: pd.DataFrame) -> None:
    extract_features(
        frame,
        column_id="window",
        column_sort="tick",
        default_fc_parameters=EfficientFCParameters(),
        n_jobs=0,
        disable_progressbar=True,
    )


def _milliseconds(work: Callable[[], None]) -> float:
    """CPU time of this thread: what else the machine does in the meantime doesn't count."""
    begin = time.thread_time()
    work()
    return (time.thread_time() - begin) * 1e3
