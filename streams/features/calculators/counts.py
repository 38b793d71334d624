"""Shares and numbers of samples for which something holds, and yes-or-no features."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.batch import Batch, BoolArray
from pulsetrain.streams.features.calculators.calculator import NUMBER, Calculator, each, single
from pulsetrain.streams.features.calculators.shared import magnitudes, numpy_deviation, numpy_variance, value_range


def _count(holds: BoolArray) -> IntArray:
    counts: IntArray = np.count_nonzero(holds, axis=-1)
    return counts


def count_above(batch: Batch, t: float) -> FloatArray:
    """Share of samples of at least t."""
    return _count(batch.values >= t) / batch.n_samples


def count_below(batch: Batch, t: float) -> FloatArray:
    """Share of samples of at most t."""
    return _count(batch.values <= t) / batch.n_samples


def count_above_mean(batch: Batch) -> IntArray:
    """Number of samples above the mean."""
    return _count(batch.values > batch.mean[:, np.newaxis])


def count_below_mean(batch: Batch) -> IntArray:
    """Number of samples below the mean."""
    return _count(batch.values < batch.mean[:, np.newaxis])


def value_count(batch: Batch, value: float) -> IntArray:
    """Number of samples equal to a value."""
    return _count(batch.values == value)


def range_count(batch: Batch, min: float, max: float) -> IntArray:  # noqa: A002 -- tsfresh's names
    """Number of samples from `min` up to but without `max`."""
    return _count((batch.values >= min) & (batch.values < max))


def number_crossing_m(batch: Batch, m: float) -> IntArray:
    """Number of neighbours of which one is above m and the other is not."""
    above = batch.values > m
    return _count(above[:, 1:] != above[:, :-1])


def ratio_beyond_r_sigma(batch: Batch, r: float) -> FloatArray:
    """Share of samples further from the mean than r standard deviations."""
    limits = r * numpy_deviation(batch)
    distances = np.abs(batch.centred, out=batch.temporary)
    return _count(distances > limits[:, np.newaxis]) / batch.n_samples


def variance_larger_than_standard_deviation(batch: Batch) -> BoolArray:
    """Whether the variance is above the standard deviation: above 1."""
    is_larger: BoolArray = np.greater(numpy_variance(batch), numpy_deviation(batch))
    return is_larger


def large_standard_deviation(batch: Batch, r: float) -> BoolArray:
    """Whether the standard deviation is above r times the range."""
    is_larger: BoolArray = np.greater(numpy_deviation(batch), r * value_range(batch))
    return is_larger


def symmetry_looking(batch: Batch, r: float) -> BoolArray:
    """Whether mean and median are nearer to each other than r times the range."""
    upper = batch.n_samples // 2
    lower = upper if batch.n_samples % 2 else upper - 1
    median = (batch.sorted[:, lower] + batch.sorted[:, upper]) / 2 if lower < upper else batch.sorted[:, upper]
    return np.less(np.abs(batch.mean - median), r * value_range(batch))


def _distinct(batch: Batch) -> BoolArray:
    """(series, samples - 1): a sorted sample differs from the one before it."""
    return np.not_equal(batch.sorted[:, 1:], batch.sorted[:, :-1])


def _n_distinct(batch: Batch) -> IntArray:
    return 1 + _count(_distinct(batch))


def has_duplicate(batch: Batch) -> BoolArray:
    """Whether any value comes twice."""
    return np.not_equal(_n_distinct(batch), batch.n_samples)


def has_duplicate_max(batch: Batch) -> BoolArray:
    """Whether the largest value comes twice."""
    return np.greater_equal(_count(batch.values == batch.sorted[:, -1:]), 2)


def has_duplicate_min(batch: Batch) -> BoolArray:
    """Whether the smallest value comes twice."""
    return np.greater_equal(_count(batch.values == batch.sorted[:, :1]), 2)


def ratio_value_number_to_time_series_length(batch: Batch) -> FloatArray:
    """Number of different values over the number of samples."""
    return _n_distinct(batch) / batch.n_samples


def _repeated(batch: Batch) -> tuple[BoolArray, BoolArray]:
    """Of the sorted samples, those whose value comes again, and the first one of each such value."""
    equal = np.zeros((batch.n_series, batch.n_samples + 1), dtype=np.bool_)
    np.logical_not(_distinct(batch), out=equal[:, 1:-1])
    before, after = equal[:, :-1], equal[:, 1:]
    return before | after, after & ~before


def percentage_of_reoccurring_values_to_all_values(batch: Batch) -> FloatArray:
    """Share of the different values that come more than once."""
    return _count(_repeated(batch)[1]) / _n_distinct(batch)


def percentage_of_reoccurring_datapoints_to_all_datapoints(batch: Batch) -> FloatArray:
    """Share of the samples whose value comes more than once."""
    return _count(_repeated(batch)[0]) / batch.n_samples


def sum_of_reoccurring_values(batch: Batch) -> FloatArray:
    """Sum of the values that come more than once, each taken once."""
    sums: FloatArray = np.where(_repeated(batch)[1], batch.sorted, 0.0).sum(axis=-1)
    return sums


def sum_of_reoccurring_data_points(batch: Batch) -> FloatArray:
    """Sum of the samples whose value comes more than once."""
    sums: FloatArray = np.where(_repeated(batch)[0], batch.sorted, 0.0).sum(axis=-1)
    return sums


def index_mass_quantile(batch: Batch, q: float) -> FloatArray:
    """Where the cumulated magnitudes reach the share q of their sum, over the number of samples; NaN for all zeros."""
    sums = magnitudes(batch).sum(axis=-1)
    shares = np.cumsum(magnitudes(batch), axis=-1, out=batch.temporary)
    shares /= sums[:, np.newaxis]
    places = (np.argmax(shares >= q, axis=-1) + 1) / batch.n_samples
    return np.where(sums == 0, np.nan, places)


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "count_above": each(count_above, t=NUMBER),
    "count_below": each(count_below, t=NUMBER),
    "count_above_mean": single(count_above_mean),
    "count_below_mean": single(count_below_mean),
    "value_count": each(value_count, value=NUMBER),
    "range_count": each(range_count, min=NUMBER, max=NUMBER),
    "number_crossing_m": each(number_crossing_m, m=NUMBER),
    "ratio_beyond_r_sigma": each(ratio_beyond_r_sigma, r=NUMBER),
    "variance_larger_than_standard_deviation": single(variance_larger_than_standard_deviation),
    "large_standard_deviation": each(large_standard_deviation, r=NUMBER),
    "symmetry_looking": each(symmetry_looking, r=NUMBER),
    "has_duplicate": single(has_duplicate),
    "has_duplicate_max": single(has_duplicate_max),
    "has_duplicate_min": single(has_duplicate_min),
    "ratio_value_number_to_time_series_length": single(ratio_value_number_to_time_series_length),
    "percentage_of_reoccurring_values_to_all_values": single(percentage_of_reoccurring_values_to_all_values),
    "percentage_of_reoccurring_datapoints_to_all_datapoints": single(
        percentage_of_reoccurring_datapoints_to_all_datapoints
    ),
    "sum_of_reoccurring_values": single(sum_of_reoccurring_values),
    "sum_of_reoccurring_data_points": single(sum_of_reoccurring_data_points),
    "index_mass_quantile": each(index_mass_quantile, q=NUMBER),
}
