"""tsfresh's EfficientFCParameters, in batches and by tsfresh itself, side by side in one run."""

import warnings
from collections.abc import Sequence
from functools import partial
from statistics import median

import numpy as np
import pandas as pd
from tsfresh.feature_extraction import EfficientFCParameters, extract_features

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import FeatureSet, extract
from tests.bench.figures import Figure
from tests.bench.rounds import median_ratio, milliseconds_in_turns

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
    """Medians over rounds that take turns, a ratio within a round; ours over several windows a round, one a call.

    No window comes twice: a processor learns to foresee the branches of a program that meets the same numbers again.
    """
    feature_set = FeatureSet.from_fc_parameters("EfficientFCParameters")
    n_windows = _ROUNDS * _WINDOWS_PER_ROUND
    walk = 50.0 + np.cumsum(np.random.default_rng(0).normal(size=(_N_METRICS, n_windows * _N_SAMPLES)), axis=1)
    walks = [np.ascontiguousarray(values) for values in np.split(walk, n_windows, axis=1)]
    mixed = [_mixed(values) for values in walks]
    with warnings.catch_warnings(action="ignore"):
        batches_ms, tsfresh_ms, mixed_batches_ms, mixed_tsfresh_ms = milliseconds_in_turns(
            (
                partial(_extract_windows, walks, feature_set),
                partial(_extract_with_tsfresh, [_frame(values) for values in walks[:_ROUNDS]]),
                partial(_extract_windows, mixed, feature_set),
                partial(_extract_with_tsfresh, [_frame(values) for values in mixed[:_ROUNDS]]),
            ),
            _ROUNDS,
        )
    ms = [milliseconds / _WINDOWS_PER_ROUND for milliseconds in batches_ms]
    mixed_ms = [milliseconds / _WINDOWS_PER_ROUND for milliseconds in mixed_batches_ms]
    return {
        "efficient_ms_per_window": median(ms),
        "efficient_tsfresh_ms_per_window": median(tsfresh_ms),
        "efficient_vs_tsfresh": median_ratio(tsfresh_ms, ms),
        "efficient_mixed_ms_per_window": median(mixed_ms),
        "efficient_mixed_vs_tsfresh": median_ratio(mixed_tsfresh_ms, mixed_ms),
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


def _extract_windows(windows: Sequence[FloatArray], feature_set: FeatureSet, number: int) -> None:
    for values in windows[number * _WINDOWS_PER_ROUND : (number + 1) * _WINDOWS_PER_ROUND]:
        extract(values, feature_set)


def _extract_with_tsfresh(frames: Sequence[pd.DataFrame], number: int) -> None:
    extract_features(
        frames[number],
        column_id="window",
        column_sort="tick",
        default_fc_parameters=EfficientFCParameters(),
        n_jobs=0,
        disable_progressbar=True,
    )
