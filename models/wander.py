"""How far the level of a metric may wander after the warm-up, told from how it wandered within.

Page caches, heaps and temperatures have no fixed normal level: a mean over a short warm-up is left
behind at once. The local-level model (Muth, "Optimal properties of exponentially weighted forecasts",
1960; Harvey, "Forecasting, structural time series models and the Kalman filter", 1989) takes a series as
a random walk under white noise. The two variances follow from two observed ones, since for n steps of
variance q under noise of variance s the variance of the series is about s + q n / 6 and the mean squared
difference of neighbours is 2 s + q (von Neumann's ratio, 1941, is their quotient).
"""

from collections.abc import Sequence

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray

HORIZON = 3.0
"""Sigma allows for wandering this many times as long as the warm-up."""

MIN_STEPS = 8
SIGNIFICANCE = 1.0
"""Standard errors (1 / sqrt n) by which neighbours must be more alike than in white noise."""


def wander_variance(rows: FloatArray, window_ends_ns: IntArray, window_ns: int, entities: Sequence[str]) -> FloatArray:
    """Variance (columns,) to add for the wandering of each column of `rows` (windows, columns).

    Neighbours are windows of one entity that do not overlap, at most two lengths apart. Zero where an
    entity has fewer than `MIN_STEPS` of them, or where they are no more alike than chance makes them.
    """
    names = np.asarray(entities)
    allowances = []
    for entity in np.unique(names):
        own = np.flatnonzero(names == entity)
        own = own[np.argsort(window_ends_ns[own], kind="stable")]
        allowances.append(_series_allowance(rows[own], window_ends_ns[own], window_ns))
    mean: FloatArray = np.mean(allowances, axis=0)
    return mean


def _series_allowance(rows: FloatArray, ends_ns: IntArray, window_ns: int) -> FloatArray:
    after = np.searchsorted(ends_ns, ends_ns + window_ns)
    has_neighbour = after < len(rows)
    has_neighbour[has_neighbour] &= ends_ns[after[has_neighbour]] <= ends_ns[has_neighbour] + 2 * window_ns
    steps = (ends_ns[-1] - ends_ns[0]) / window_ns + 1
    if steps < MIN_STEPS or not has_neighbour.any():
        return np.zeros(rows.shape[1])
    differences = rows[after[has_neighbour]] - rows[has_neighbour]
    noise = np.mean(differences**2, axis=0) / 2
    excess = rows.var(axis=0) * (1 - SIGNIFICANCE / np.sqrt(steps)) - noise
    allowance: FloatArray = np.maximum(0.0, excess) * (HORIZON * steps / (steps / 6 - 0.5))
    return allowance
