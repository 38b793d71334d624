"""Peaks that last over several scales: ridge lines in a wavelet transform.

Du, Kibbe and Lin, "Improved peak detection in mass spectrum by incorporating continuous wavelet transform-based
pattern matching", 2006, as scipy.signal.find_peaks_cwt does it.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.signal import choose_conv_method, convolve

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.calculators.calculator import Calculator, Columns, ParameterSet, integers
from pulsetrain.streams.features.compiled.jit import compiled, part

_CACHED: Final = 256
_NOISE_SHARE: Final = 0.1
"""The noise at a place is this quantile of the finest scale around it."""
_MOST_WIDTHS: Final = 100


@part()
def _noise(finest: FloatArray, place: int, reach: int, odd: int, window: FloatArray) -> float:
    """The noise quantile in the window around a place, interpolated as scipy.stats.scoreatpercentile does."""
    start, end = max(place - reach, 0), min(place + reach + odd, finest.size)
    size = 0
    for i in range(start, end):
        value = finest[i]
        j = size
        while j > 0 and window[j - 1] > value:
            window[j] = window[j - 1]
            j -= 1
        window[j] = value
        size += 1
    position = _NOISE_SHARE * (size - 1)
    below = int(position)
    if below == position:
        return float(window[below])
    upper_weight, lower_weight = position - below, below + 1 - position
    return float(window[below] * lower_weight + window[below + 1] * upper_weight) / (lower_weight + upper_weight)


@part()
def _stands_out(transform: FloatArray, row: int, column: int, window: FloatArray) -> bool:
    """Whether a line's finest maximum is at least as large as the noise at its place."""
    size = -(-transform.shape[1] // 20)
    noise = _noise(transform[0], column, size // 2, size % 2, window)
    return not abs(transform[row, column] / noise) < 1


@compiled("int64(float64[:,::1], int64)")
def _count_ridges(transform: FloatArray, n_scales: int) -> int:
    """Count the ridge lines of the transform's first scales that are long enough and stand out from the noise.

    Widths are 1, 2, 3 ... Lines begin at the coarsest scale that has a maximum; each maximum of the next finer
    scale joins the nearest line within a quarter of its width, the first such line where two are as near, or begins
    a new one. A line without a maximum in two scales ends.
    """
    n = transform.shape[1]
    shortest = -(-n_scales // 4)
    window = np.empty(n // 20 + 2)
    columns = np.empty((2, n * n_scales), dtype=np.int64)
    before, now = columns[0], columns[1]
    last_row = np.empty(n * n_scales, dtype=np.int64)
    length = np.empty(n * n_scales, dtype=np.int64)
    first_line_at = np.full(n, -1, dtype=np.int64)
    n_lines, n_ridges = 0, 0
    for row in range(n_scales - 1, -1, -1):
        scale = transform[row]
        for line in range(n_lines - 1, -1, -1):
            first_line_at[before[line]] = line
            now[line] = before[line]
        n_before = n_lines
        for column in range(1, n - 1):
            if not (scale[column] > scale[column - 1] and scale[column] > scale[column + 1]):
                continue
            line = first_line_at[column]
            distance = 1
            while line < 0 and 4 * distance <= row + 1:
                left = first_line_at[column - distance] if column >= distance else -1
                right = first_line_at[column + distance] if column + distance < n else -1
                line = min(left, right) if left >= 0 and right >= 0 else max(left, right)
                distance += 1
            if line < 0:
                line = n_lines
                length[line] = 0
                n_lines += 1
            now[line] = column
            last_row[line] = row
            length[line] += 1
        for line in range(n_before):
            first_line_at[before[line]] = -1
        n_kept = 0
        for line in range(n_lines):
            if last_row[line] - row > 1 or row == 0:
                if length[line] >= shortest and _stands_out(transform, last_row[line], now[line], window):
                    n_ridges += 1
            else:
                before[n_kept], last_row[n_kept], length[n_kept] = now[line], last_row[line], length[line]
                n_kept += 1
        n_lines = n_kept
    return n_ridges


@lru_cache(_CACHED)
def _wavelet(n_samples: int, width: int) -> FloatArray:
    """Ricker wavelet, backwards, over ten widths or as many points as there are samples."""
    points = min(10 * width, n_samples)
    squares = (np.arange(0, points) - (points - 1.0) / 2) ** 2
    height = 2 / (np.sqrt(3 * width) * (np.pi**0.25))
    wavelet: FloatArray = (height * (1 - squares / width**2) * np.exp(-squares / (2 * width**2)))[::-1]
    return wavelet


@lru_cache(_CACHED)
def _convolves_directly(n_samples: int, width: int) -> bool:
    """Whether scipy would not go through the Fourier transform: then numpy's function is the same and quicker."""
    method: str = choose_conv_method(np.ones(n_samples), _wavelet(n_samples, width), mode="same")
    return method == "direct"


def _transform(series: FloatArray, n_scales: int, out: FloatArray) -> None:
    """Fill out (scales, samples): scipy's transform to the last bit, since equal neighbours are no maximum."""
    for row in range(n_scales):
        wavelet = _wavelet(series.size, row + 1)
        is_direct = _convolves_directly(series.size, row + 1)
        out[row] = np.convolve(series, wavelet, "same") if is_direct else convolve(series, wavelet, "same")


def _number_cwt_peaks(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Number of peaks that stand out from the noise in enough of the widths from 1 to n."""
    scales = [one["n"] for one in parameter_sets]

    def compute(batch: Batch) -> FloatArray:
        features = np.full((batch.n_series, len(scales)), np.nan)
        transform = np.empty((max(scales), batch.n_samples))
        for row in np.flatnonzero(batch.is_finite):
            _transform(batch.values[row], max(scales), transform)
            features[row] = [_count_ridges(transform, n_scales) for n_scales in scales]
        return features

    return compute


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "number_cwt_peaks": Calculator(_number_cwt_peaks, {"n": integers(1, _MOST_WIDTHS)}),
}
