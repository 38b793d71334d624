"""Levels, sums and places of extremes."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.calculators.calculator import Calculator, each, integers, single
from pulsetrain.streams.features.calculators.shared import magnitudes, numpy_deviation
from pulsetrain.streams.features.compiled.dots import row_dot


def sum_values(batch: Batch) -> FloatArray:
    """Sum."""
    sums: FloatArray = batch.values.sum(axis=-1)
    return sums


def length(batch: Batch) -> FloatArray:
    """Number of samples."""
    return np.full(batch.n_series, float(batch.n_samples))


def root_mean_square(batch: Batch) -> FloatArray:
    """Root of the mean square."""
    return np.sqrt(row_dot(batch.values, batch.values) / batch.n_samples)


def absolute_maximum(batch: Batch) -> FloatArray:
    """Largest magnitude."""
    return np.maximum(np.abs(batch.sorted[:, 0]), np.abs(batch.sorted[:, -1]))


def mean_n_absolute_max(batch: Batch, number_of_maxima: int) -> FloatArray:
    """Mean of the n largest magnitudes; NaN for a series of no more than n samples."""
    if batch.n_samples <= number_of_maxima:
        return np.full(batch.n_series, np.nan)
    largest = np.partition(magnitudes(batch), -number_of_maxima, axis=-1)[:, -number_of_maxima:]
    means: FloatArray = np.sort(largest, axis=-1).mean(axis=-1)
    return means


def variation_coefficient(batch: Batch) -> FloatArray:
    """Standard deviation over the mean; NaN where the mean is zero."""
    return np.where(batch.mean == 0, np.nan, numpy_deviation(batch) / batch.mean)


def mean_change(batch: Batch) -> FloatArray:
    """Mean difference of neighbours; NaN for a single sample."""
    if batch.n_samples == 1:
        return np.full(batch.n_series, np.nan)
    return (batch.values[:, -1] - batch.values[:, 0]) / (batch.n_samples - 1)


def mean_second_derivative_central(batch: Batch) -> FloatArray:
    """Mean of the central second differences, halved; NaN for less than three samples."""
    if batch.n_samples < 3:
        return np.full(batch.n_series, np.nan)
    x = batch.values
    return (x[:, -1] - x[:, -2] - x[:, 1] + x[:, 0]) / (2 * (batch.n_samples - 2))


def absolute_sum_of_changes(batch: Batch) -> FloatArray:
    """Sum of the absolute differences of neighbours."""
    steps = np.abs(batch.differences, out=batch.temporary)
    sums: FloatArray = steps[:, :-1].sum(axis=-1)
    return sums


def time_reversal_asymmetry_statistic(batch: Batch, lag: int) -> FloatArray:
    """Mean of (later squared) x middle - middle x (earlier squared) over triples a lag apart; 0 where there are none.

    Fulcher and Jones, "Highly comparative feature-based time-series classification", 2014.
    """
    n_triples = batch.n_samples - 2 * lag
    if n_triples <= 0:
        return np.zeros(batch.n_series)
    x = batch.values
    earlier, middle, later = x[:, :n_triples], x[:, lag : lag + n_triples], x[:, 2 * lag :]
    terms = batch.temporary[:, :n_triples]
    np.multiply(later, later, out=terms)
    terms *= middle
    terms -= middle * earlier * earlier
    means: FloatArray = terms.mean(axis=-1)
    return means


def _first(batch: Batch, places: IntArray) -> FloatArray:
    return places / batch.n_samples


def _last(batch: Batch, places_from_end: IntArray) -> FloatArray:
    return 1.0 - places_from_end / batch.n_samples


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "sum_values": single(sum_values),
    "length": single(length),
    "root_mean_square": single(root_mean_square),
    "absolute_maximum": single(absolute_maximum),
    "mean_n_absolute_max": each(mean_n_absolute_max, number_of_maxima=integers(1, 1_000_000)),
    "variation_coefficient": single(variation_coefficient),
    "mean_change": single(mean_change),
    "mean_second_derivative_central": single(mean_second_derivative_central),
    "absolute_sum_of_changes": single(absolute_sum_of_changes),
    "time_reversal_asymmetry_statistic": each(time_reversal_asymmetry_statistic, lag=integers(0, 1_000_000)),
    "first_location_of_maximum": single(lambda batch: _first(batch, batch.values.argmax(axis=-1))),
    "first_location_of_minimum": single(lambda batch: _first(batch, batch.values.argmin(axis=-1))),
    "last_location_of_maximum": single(lambda batch: _last(batch, batch.values[:, ::-1].argmax(axis=-1))),
    "last_location_of_minimum": single(lambda batch: _last(batch, batch.values[:, ::-1].argmin(axis=-1))),
}
