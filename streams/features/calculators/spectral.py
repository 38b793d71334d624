"""The spectrum of the samples, as one transform and as Welch's average."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.signal import welch

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.calculators.calculator import Calculator, Columns, ParameterSet, integers, one_of
from pulsetrain.streams.features.calculators.histogram import binned_entropies
from pulsetrain.streams.features.calculators.shared import shared
from pulsetrain.streams.features.compiled.dots import row_dot

_LONGEST_SEGMENT: Final = 256
_LEAST_VARIANCE: Final = 0.5
"""Below this variance of a spectrum, tsfresh gives no skewness and no kurtosis of it."""

_PARTS: Final = ("real", "imag", "abs", "angle")
_MOMENTS: Final = ("centroid", "variance", "skew", "kurtosis")


@shared
def _spectrum(batch: Batch) -> npt.NDArray[np.complex128]:
    return np.fft.rfft(batch.values, axis=-1)


@shared
def _magnitudes(batch: Batch) -> FloatArray:
    magnitudes: FloatArray = np.abs(_spectrum(batch))
    return magnitudes


@shared
def _welch_density(batch: Batch) -> FloatArray:
    """(series, frequencies), Welch's power spectral density over segments of up to 256 samples."""
    _, density = welch(batch.values, nperseg=min(batch.n_samples, _LONGEST_SEGMENT), axis=-1)
    densities: FloatArray = density
    return densities


def _part(batch: Batch, attr: str) -> FloatArray:
    if attr == "abs":
        return _magnitudes(batch)
    spectrum = _spectrum(batch)
    if attr == "angle":
        angles: FloatArray = np.angle(spectrum, deg=True)
        return angles
    part: FloatArray = spectrum.real if attr == "real" else spectrum.imag
    return part


def _fft_coefficient(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Real and imaginary part, magnitude and angle in degrees of coefficients; NaN beyond the last one."""
    columns_of = {attr: [i for i, one in enumerate(parameter_sets) if one["attr"] == attr] for attr in _PARTS}

    def compute(batch: Batch) -> FloatArray:
        n_coefficients = batch.n_samples // 2 + 1
        features = np.full((batch.n_series, len(parameter_sets)), np.nan)
        for attr, columns in columns_of.items():
            present = [column for column in columns if parameter_sets[column]["coeff"] < n_coefficients]
            if present:
                features[:, present] = _part(batch, attr)[:, [parameter_sets[column]["coeff"] for column in present]]
        return features

    return compute


def _fft_aggregated(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Centroid, variance, skewness and kurtosis of the magnitudes over the coefficients' index.

    The kurtosis is tsfresh's formula, which subtracts three centroids where the textbook has their fourth power.
    """

    def compute(batch: Batch) -> FloatArray:
        weights = _magnitudes(batch)
        index = np.arange(weights.shape[1], dtype=np.float64)
        sums = weights.sum(axis=-1)
        centroid, second, third, fourth = (row_dot(weights, index**power) / sums for power in (1, 2, 3, 4))
        variance = second - centroid**2
        spread = np.where(variance < _LEAST_VARIANCE, np.nan, variance)
        moments = {
            "centroid": centroid,
            "variance": variance,
            "skew": (third - 3 * centroid * variance - centroid**3) / spread**1.5,
            "kurtosis": (fourth - 4 * centroid * third + 6 * second * centroid**2 - 3 * centroid) / spread**2,
        }
        return np.stack([moments[one["aggtype"]] for one in parameter_sets], axis=1)

    return compute


def _spkt_welch_density(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Welch's density at single frequencies; NaN beyond the last one."""
    coefficients = np.array([one["coeff"] for one in parameter_sets])

    def compute(batch: Batch) -> FloatArray:
        density = _welch_density(batch)
        present = coefficients < density.shape[1]
        features = np.full((batch.n_series, coefficients.size), np.nan)
        features[:, present] = density[:, coefficients[present]]
        return features

    return compute


def _fourier_entropy(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Entropy of Welch's density, relative to its largest value, in bins of equal width."""
    bins = np.array([one["bins"] for one in parameter_sets], dtype=np.int64)

    def compute(batch: Batch) -> FloatArray:
        density = _welch_density(batch)
        return binned_entropies(density / density.max(axis=-1, keepdims=True), bins)

    return compute


_COEFFICIENT = integers(0, 1_000_000)

CALCULATORS: Final[Mapping[str, Calculator]] = {
    "fft_coefficient": Calculator(_fft_coefficient, {"attr": one_of(*_PARTS), "coeff": _COEFFICIENT}),
    "fft_aggregated": Calculator(_fft_aggregated, {"aggtype": one_of(*_MOMENTS)}),
    "spkt_welch_density": Calculator(_spkt_welch_density, {"coeff": _COEFFICIENT}),
    "fourier_entropy": Calculator(_fourier_entropy, {"bins": integers(1, 10_000)}),
}
