"""A simulated host: ten samples a second of a dozen metrics, as windows of 5 s each second."""

from collections.abc import Callable

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray

SECOND_NS = 1_000_000_000
WINDOW_NS = 5 * SECOND_NS
HOP_NS = SECOND_NS
WARM_UP_SECONDS = 240

SAMPLES_PER_SECOND = 10
SAMPLES_PER_WINDOW = 50

# Usual level and noise.
METRICS = {
    "cpu.user": (0.20, 0.02),
    "cpu.system": (0.05, 0.01),
    "context_switches": (9_000.0, 500.0),
    "run_queue": (1.5, 0.4),
    "page_faults": (2_000.0, 300.0),
    "disk.written": (1.0e6, 2.0e5),
    "disk.operations": (40.0, 8.0),
    "network.received": (5.0e6, 4.0e5),
    "network.sent": (4.0e6, 4.0e5),
    "tcp.retransmits": (2.0, 0.7),
    "gpu.temperature": (71.0, 0.5),
    "gpu.power": (280.0, 6.0),
}
FEATURES = ("mean", "standard_deviation", "maximum", "mean_abs_change")
NAMES = tuple(f"{metric}__{feature}" for metric in METRICS for feature in FEATURES)

BENIGN_JOB = {
    "cpu.user": 0.6,
    "context_switches": 2.0e4,
    "run_queue": 8.0,
    "page_faults": 3.0e4,
    "disk.written": 6.0e7,
    "disk.operations": 900.0,
}
"""What a nightly compression of logs adds."""

Change = Callable[[dict[str, FloatArray]], None]


def samples(seconds: int, seed: int, *changes: Change) -> FloatArray:
    """Samples (ticks, metrics) of a host, with the changes applied to its metrics."""
    random = np.random.default_rng(seed)
    ticks = seconds * SAMPLES_PER_SECOND
    metrics = {name: level + noise * random.normal(size=ticks) for name, (level, noise) in METRICS.items()}
    for change in changes:
        change(metrics)
    return np.column_stack(list(metrics.values()))


def add(what: dict[str, float], start_s: float, seconds: float, size: float = 1.0, seed: int = 0) -> Change:
    """Something that adds to metrics for a while, unsteady by a tenth."""

    def change(metrics: dict[str, FloatArray]) -> None:
        start, end = int(start_s * SAMPLES_PER_SECOND), int((start_s + seconds) * SAMPLES_PER_SECOND)
        load = size * np.random.default_rng(seed).uniform(0.9, 1.1, size=end - start)
        for name, amount in what.items():
            metrics[name][start:end] += amount * load

    return change


def windows(ticks: FloatArray) -> FloatArray:
    """Features (windows, names) of all windows of samples (ticks, metrics)."""
    cut = np.lib.stride_tricks.sliding_window_view(ticks, SAMPLES_PER_WINDOW, axis=0)[::SAMPLES_PER_SECOND]
    features = [cut.mean(-1), cut.std(-1), cut.max(-1), np.abs(np.diff(cut, axis=-1)).mean(-1)]
    return np.stack(features, axis=-1).reshape(len(cut), -1)


def ends(count: int) -> IntArray:
    """Ends of `count` windows in Unix nanoseconds."""
    return 1_700_000_000 * SECOND_NS + WINDOW_NS + HOP_NS * np.arange(count, dtype=np.int64)
