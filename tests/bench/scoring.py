"""Scoring against scikit-learn: the three detectors on the same rows, side by side in one run."""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from sklearn.covariance import LedoitWolf
from sklearn.ensemble import IsolationForest
from sklearn.preprocessing import StandardScaler

from pulsetrain.models.fitting import FittedModel, fit, with_feedback
from pulsetrain.models.runtime import Scorer
from pulsetrain.schemas.arrays import FloatArray
from tests.bench.figures import Figure

_COLUMNS = 128
_TRAINING_ROWS = 600
_BATCHES = (1, 100, 1000)
_ROUNDS = 7
_ROWS_PER_ROUND = {"onnx": 1000, "labelled": 1000, "sklearn": 20}
_SECOND_NS = 1_000_000_000

FIGURES = tuple(
    figure
    for batch in _BATCHES
    for figure in (
        Figure(f"onnx_us_per_row_batch_{batch}", "us", f"our graph: {_COLUMNS} columns, {batch} rows a call"),
        Figure(f"labelled_us_per_row_batch_{batch}", "us", "the same with a benign stage learned from labels"),
        Figure(f"sklearn_us_per_row_batch_{batch}", "us", "scikit-learn's scaler, Ledoit-Wolf and Isolation Forest"),
        Figure(f"scoring_vs_sklearn_batch_{batch}", "times faster", f"scikit-learn / our graph, {batch} rows a call"),
    )
)


def run() -> dict[str, float]:
    """Median of rounds that take turns; each round scores many rows, in calls of the batch's size."""
    random = np.random.default_rng(0)
    mixing = np.eye(_COLUMNS) + random.normal(size=(_COLUMNS, _COLUMNS)) / 20
    train = random.normal(size=(_TRAINING_ROWS, _COLUMNS)) @ mixing
    rows = random.normal(size=(max(_BATCHES), _COLUMNS)) @ mixing
    model = _model(train)
    scorers: dict[str, Callable[[FloatArray], object]] = {
        "onnx": Scorer(model.graph(), model.columns).score,
        "labelled": _labelled(model, train).score,
        "sklearn": _sklearn(train),
    }
    figures: dict[str, float] = {}
    for batch in _BATCHES:
        timings: dict[str, list[float]] = {name: [] for name in scorers}
        for _ in range(_ROUNDS):
            for name, score in scorers.items():
                timings[name].append(_microseconds_per_row(score, rows[:batch], _ROWS_PER_ROUND[name]))
        medians = {name: median(values) for name, values in timings.items()}
        figures |= {f"{name}_us_per_row_batch_{batch}": value for name, value in medians.items()}
        figures[f"scoring_vs_sklearn_batch_{batch}"] = medians["sklearn"] / medians["onnx"]
    return figures


def _model(train: FloatArray) -> FittedModel:
    names = [f"m{i}__mean" for i in range(_COLUMNS)]
    ends = np.arange(len(train), dtype=np.int64) * _SECOND_NS
    return fit(train, names, ends, window_ns=_SECOND_NS, hop_ns=_SECOND_NS)


def _labelled(model: FittedModel, train: FloatArray) -> Scorer:
    benign = train[:20].copy()
    benign[:, :10] += 100.0
    learned, _ = with_feedback(model, benign, benign[:0])
    return Scorer(learned.graph(), learned.columns)


def _sklearn(train: FloatArray) -> Callable[[FloatArray], object]:
    scaler = StandardScaler().fit(train)
    scaled = scaler.transform(train)
    covariance = LedoitWolf().fit(scaled)
    forest = IsolationForest(n_estimators=100, max_samples=256, random_state=0, n_jobs=1).fit(scaled)

    def score(rows: FloatArray) -> object:
        deviations = scaler.transform(rows)
        return np.abs(deviations).max(axis=1), covariance.mahalanobis(deviations), forest.score_samples(deviations)

    return score


def _microseconds_per_row(score: Callable[[FloatArray], object], rows: FloatArray, at_least: int) -> float:
    calls = max(1, at_least // len(rows))
    begin = time.perf_counter()
    for _ in range(calls):
        score(rows)
    return (time.perf_counter() - begin) / (calls * len(rows)) * 1e6
