"""The default feature set against tsflex and pycatch22 on the same windows, side by side in one run.

Neither has tsfresh's features, so each is given what comes nearest: tsflex the 18 features written with numpy, as its
users write them; pycatch22 its own 22, compared by the time for one feature of one series.
"""

from collections.abc import Callable
from statistics import median

import numpy as np
import pandas as pd
import pycatch22
from tsflex.features import FeatureCollection, MultipleFeatureDescriptors

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features import DEFAULT_FEATURE_SET, extract
from tests.bench.figures import Figure
from tests.bench.rounds import median_ratio, milliseconds_in_turns

_N_METRICS = 100
_N_SAMPLES = 300
_WINDOWS = 5
_KERNEL_WINDOWS = 50
_ROUNDS = 5
_CATCH22_FEATURES = 22

_SERIES = f"{_N_METRICS} metrics x {_N_SAMPLES} samples"

FIGURES = (
    Figure("tsflex_ms_per_window", "ms", f"tsflex with the 18 features in numpy, {_SERIES}, {_WINDOWS} windows a call"),
    Figure("default_vs_tsflex", "times faster", "tsflex / our kernels for the 18 features, one window a call"),
    Figure("pycatch22_us_per_feature", "us", f"pycatch22's 22 features of the same series, by series; {_SERIES}"),
    Figure("default_us_per_feature", "us", "our kernels, one of the 18 features of one series"),
    Figure("per_feature_vs_pycatch22", "times faster", "pycatch22 / our kernels, for one feature of one series"),
)


def run() -> dict[str, float]:
    """Medians over rounds that take turns, a ratio within a round.

    The neighbours are given the first of the round's windows, the kernels all of them. No window comes twice: a
    processor learns to foresee the branches of a program that meets the same numbers again.
    """
    n_ticks = _ROUNDS * _KERNEL_WINDOWS * _N_SAMPLES
    walk = 50.0 + np.cumsum(np.random.default_rng(0).normal(size=(_N_METRICS, n_ticks)), axis=1)
    windows = [np.ascontiguousarray(values) for values in np.split(walk, _ROUNDS * _KERNEL_WINDOWS, axis=1)]
    rounds = [windows[first : first + _KERNEL_WINDOWS] for first in range(0, len(windows), _KERNEL_WINDOWS)]
    frames = [
        pd.DataFrame({f"metric.{row}": series for row, series in enumerate(np.hstack(several[:_WINDOWS]))})
        for several in rounds
    ]
    collection = FeatureCollection(
        MultipleFeatureDescriptors(_features(), list(frames[0].columns), windows=_N_SAMPLES, strides=_N_SAMPLES)
    )

    def kernels(number: int) -> None:
        for window in rounds[number]:
            extract(window, DEFAULT_FEATURE_SET)

    def tsflex(number: int) -> None:
        collection.calculate(frames[number], n_jobs=1, window_idx="begin", include_final_window=True)

    def catch22(number: int) -> None:
        for window in rounds[number][:_WINDOWS]:
            for series in window:
                pycatch22.catch22_all(series.tolist())

    kernels_ms, tsflex_ms, catch22_ms = milliseconds_in_turns((kernels, tsflex, catch22), _ROUNDS)
    kernel_ms = [milliseconds / _KERNEL_WINDOWS for milliseconds in kernels_ms]
    kernel_us = [ms * 1e3 / (_N_METRICS * len(DEFAULT_FEATURE_SET.suffixes)) for ms in kernel_ms]
    window_ms = [milliseconds / _WINDOWS for milliseconds in tsflex_ms]
    catch22_us = [milliseconds / _WINDOWS * 1e3 / (_N_METRICS * _CATCH22_FEATURES) for milliseconds in catch22_ms]
    return {
        "tsflex_ms_per_window": median(window_ms),
        "default_vs_tsflex": median_ratio(window_ms, kernel_ms),
        "pycatch22_us_per_feature": median(catch22_us),
        "default_us_per_feature": median(kernel_us),
        "per_feature_vs_pycatch22": median_ratio(catch22_us, kernel_us),
    }


def _features() -> list[Callable[[FloatArray], float]]:
    """The default set, one function of one series each."""

    def autocorrelation(lag: int) -> Callable[[FloatArray], float]:
        def of_lag(x: FloatArray) -> float:
            centred = x - x.mean()
            return float(np.dot(centred[:-lag], centred[lag:]) / ((len(x) - lag) * x.var()))

        of_lag.__name__ = f"autocorrelation_{lag}"
        return of_lag

    def quantile(q: float) -> Callable[[FloatArray], float]:
        def of_q(x: FloatArray) -> float:
            return float(np.quantile(x, q))

        of_q.__name__ = f"quantile_{q}".replace(".", "_")
        return of_q

    def c3(x: FloatArray) -> float:
        return float(np.mean(x[6:] * x[3:-3] * x[:-6]))

    def slope(x: FloatArray) -> float:
        return float(np.polyfit(np.arange(len(x)), x, 1)[0])

    def mean_abs_change(x: FloatArray) -> float:
        return float(np.mean(np.abs(np.diff(x))))

    def complexity(x: FloatArray) -> float:
        return float(np.linalg.norm(np.diff(x)))

    def normal_complexity(x: FloatArray) -> float:
        return float(np.linalg.norm(np.diff((x - x.mean()) / x.std())))

    def abs_energy(x: FloatArray) -> float:
        return float(np.dot(x, x))

    def skewness(x: FloatArray) -> float:
        count, centred = len(x), x - x.mean()
        biased = np.mean(centred**3) / np.mean(centred**2) ** 1.5
        return float(biased * (count * (count - 1)) ** 0.5 / (count - 2))

    def kurtosis(x: FloatArray) -> float:
        count, centred = len(x), x - x.mean()
        biased = np.mean(centred**4) / np.mean(centred**2) ** 2 - 3
        return float((count - 1) / ((count - 2) * (count - 3)) * ((count + 1) * biased + 6))

    return [
        np.mean,
        np.var,
        np.std,
        autocorrelation(1),
        autocorrelation(5),
        c3,
        np.min,
        np.max,
        np.median,
        quantile(0.1),
        quantile(0.9),
        slope,
        mean_abs_change,
        complexity,
        normal_complexity,
        abs_energy,
        skewness,
        kurtosis,
    ]
