"""What one look at each series gives: extremes, moments, slope, energy, and the length of its path.

The definitions of skewness and kurtosis are those of Joanes and Gill, "Comparing measures of sample skewness and
kurtosis", 1998: G1 and G2.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.jit import compiled, part
from pulsetrain.streams.features.compiled.lanes import WIDTH, everywhere, load, magnitudes, store, total, whole, zeros

_Bits = npt.NDArray[np.int64]


class Summary(NamedTuple):
    """Arrays of the shape (series,), those that are often asked for together side by side."""

    mean: FloatArray
    """numpy's pairwise mean bit for bit.

    tsfresh centres by that number; at an offset of 1e9 and more any other summation gives other variances,
    autocorrelations and slopes.
    """
    variance: FloatArray
    """Of the population: divided by the number of samples."""
    standard_deviation: FloatArray
    """Of the population."""
    minimum: FloatArray
    """NaN where a sample is missing or infinite."""
    maximum: FloatArray
    """NaN where a sample is missing or infinite."""
    slope: FloatArray
    """Of the least-squares line over the index; NaN for a single sample."""
    mean_abs_change: FloatArray
    """NaN for a single sample."""
    path_length: FloatArray
    """Euclidean norm of the differences of neighbours."""
    standardised_path_length: FloatArray
    """The same of the samples in units of their standard deviation; 0 where that is 0."""
    energy: FloatArray
    """Sum of the squares of the samples."""
    skewness: FloatArray
    """NaN for a constant series and for less than three samples."""
    kurtosis: FloatArray
    """Excess kurtosis; NaN for a constant series and for less than four samples."""


_MAGNITUDE = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_INFINITY = np.int64(0x7FF0_0000_0000_0000)


@part()
def _in_order(bits: np.int64) -> np.int64:
    """Turn the bits of a double into an integer of the same order as the numbers, and such an integer back.

    Minus infinity becomes the complement of infinity; NaN lies beyond either.
    """
    return bits ^ ((bits >> 63) & _MAGNITUDE)


@part()
def _extremes(bits: _Bits) -> tuple[np.int64, np.int64]:
    """Smallest and largest sample as ordered integers, whose minimum the processor takes in several lanes at once."""
    low = high = _in_order(bits[0])
    for i in range(bits.size):
        sample = _in_order(bits[i])
        low = min(low, sample)
        high = max(high, sample)
    return low, high


class _Sums(NamedTuple):
    """Over the samples of a series."""

    squares: float
    absolute_steps: float
    """Of the absolute differences of neighbours."""
    squared_steps: float
    """Of the squares of the differences of neighbours."""
    second: float
    """Of the second powers of the centred samples."""
    third: float
    fourth: float
    trend: float
    """Of the products of the centred samples with their centred indices."""


@part()
def _centre_and_sum(samples: FloatArray, mean: float, centred: FloatArray, centred_index: FloatArray) -> _Sums:
    """Fill in the centred samples, and sum up in the same pass: one sum alone would wait for its own additions."""
    n_steps = samples.size - 1
    squares, absolute_steps, squared_steps = zeros(), zeros(), zeros()
    seconds, thirds, fourths, trends = zeros(), zeros(), zeros(), zeros()
    means = everywhere(mean)
    for i in range(0, whole(n_steps), WIDTH):
        lanes = load(samples, i)
        steps = load(samples, i + 1) - lanes
        squares += lanes * lanes
        absolute_steps += magnitudes(steps)
        squared_steps += steps * steps
        deviations = lanes - means
        store(deviations, centred, i)
        powers = deviations * deviations
        seconds += powers
        thirds += powers * deviations
        fourths += powers * powers
        trends += deviations * load(centred_index, i)
    square, absolute_step, squared_step = total(squares), total(absolute_steps), total(squared_steps)
    second, third, fourth, trend = total(seconds), total(thirds), total(fourths), total(trends)
    for i in range(whole(n_steps), samples.size):
        if i < n_steps:
            step = samples[i + 1] - samples[i]
            absolute_step += abs(step)
            squared_step += step * step
        square += samples[i] * samples[i]
        centred[i] = samples[i] - mean
        power = centred[i] * centred[i]
        second += power
        third += power * centred[i]
        fourth += power * power
        trend += centred[i] * centred_index[i]
    return _Sums(square, absolute_step, squared_step, second, third, fourth, trend)


@part()
def _skewness(n: float, second: float, third: float) -> float:
    return n * math.sqrt(n - 1) / (n - 2) * (third / (second * math.sqrt(second))) if n >= 3 else math.nan


@part()
def _kurtosis(n: float, second: float, fourth: float) -> float:
    if n < 4:
        return math.nan
    return (n - 1) / ((n - 2) * (n - 3)) * (n * (n + 1) * fourth / (second * second) - 3 * (n - 1))


@compiled(numba.int64(numba.float64[:, ::1], numba.float64[:, ::1], numba.boolean[::1], numba.float64[:, ::1]))
def summarise(
    values: FloatArray,
    centred: FloatArray,
    is_finite: npt.NDArray[np.bool_],
    rows: FloatArray,
) -> int:
    """Fill in `centred` (series, samples), `is_finite` (series,) and the summary; give the number of finite series.

    Takes values (series, samples), at least one sample, and a summary's `rows` (fields, series): their sums, as numpy
    adds, stand where their means will. One array comes in faster than twelve.
    """
    summary = Summary(
        rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8], rows[9], rows[10], rows[11]
    )
    n = float(values.shape[1])
    centred_index = np.arange(n) - (n - 1) / 2
    bits = values.view(np.int64)
    extremes = np.empty(2)
    extreme_bits = extremes.view(np.int64)
    n_finite = 0
    for s in range(values.shape[0]):
        low, high = _extremes(bits[s])
        is_finite[s] = low > ~_INFINITY and high < _INFINITY
        n_finite += is_finite[s]
        extreme_bits[0], extreme_bits[1] = _in_order(low), _in_order(high)
        summary.minimum[s] = extremes[0] if is_finite[s] else math.nan
        summary.maximum[s] = extremes[1] if is_finite[s] else math.nan

        summary.mean[s] /= n
        sums = _centre_and_sum(values[s], summary.mean[s], centred[s], centred_index)
        summary.energy[s] = sums.squares
        summary.mean_abs_change[s] = sums.absolute_steps / (n - 1)
        summary.path_length[s] = path_length = math.sqrt(sums.squared_steps)
        deviation = math.sqrt(sums.second / n)
        summary.variance[s] = sums.second / n
        summary.standard_deviation[s] = deviation
        summary.standardised_path_length[s] = path_length / deviation if deviation != 0 else 0.0
        summary.slope[s] = sums.trend / (n * (n * n - 1) / 12)
        is_constant = extremes[0] == extremes[1]
        summary.skewness[s] = math.nan if is_constant else _skewness(n, sums.second, sums.third)
        summary.kurtosis[s] = math.nan if is_constant else _kurtosis(n, sums.second, sums.fourth)
    return n_finite
