"""First digits of the samples against Benford's law."""

from collections.abc import Mapping
from functools import cache
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.calculators.calculator import Calculator, single
from pulsetrain.streams.features.compiled.dots import row_dot

_SMALLEST_EXPONENT: Final = -307
_LARGEST_EXPONENT: Final = 308
_BENFORD: Final = np.log10(1 + 1 / np.arange(1, 10))


@cache
def _boundaries() -> FloatArray:
    """Each digit times each power of ten, as the nearest float: there the first digit of a float changes.

    A float is written with as few digits as tell it from its neighbours, so the float nearest to 3e-5 begins with 3,
    be it above or below that number, and the one before it with 2.
    """
    exponents = range(_SMALLEST_EXPONENT, _LARGEST_EXPONENT + 1)
    texts = (f"{digit}e{exponent}" for exponent in exponents for digit in range(1, 10))
    return np.array([number for text in texts if np.isfinite(number := float(text))])


def _first_digits(numbers: FloatArray) -> IntArray:
    """First digit of magnitudes in their shortest decimal form, 0 of zero."""
    places = np.searchsorted(_boundaries(), numbers, side="right") - 1
    digits: IntArray = np.where(places < 0, 0, places % 9 + 1)
    for index in zip(*np.nonzero((places < 0) & (numbers > 0)), strict=True):  # too small to have all its digits
        digits[index] = int(np.format_float_scientific(numbers[index])[0])
    return digits


def benford_correlation(batch: Batch) -> FloatArray:
    """Correlation of the shares of the first digits 1 to 9 with Benford's law; NaN where all shares are equal.

    Newcomb, "Note on the frequency of use of the different digits in natural numbers", 1881.
    """
    digits = _first_digits(np.abs(np.nan_to_num(batch.values)))
    shares = np.stack([np.count_nonzero(digits == digit, axis=-1) for digit in range(1, 10)], axis=1) / batch.n_samples
    deviations = shares - shares.mean(axis=-1, keepdims=True)
    expected = _BENFORD - _BENFORD.mean()
    correlations: FloatArray = row_dot(deviations, expected) / np.sqrt(
        row_dot(deviations, deviations) * row_dot(expected[np.newaxis], expected)
    )
    return correlations.clip(-1.0, 1.0)


CALCULATORS: Final[Mapping[str, Calculator]] = {"benford_correlation": single(benford_correlation)}
