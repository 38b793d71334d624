"""Continuous wavelet transforms with the Ricker wavelet ("Mexican hat")."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.calculators.calculator import Calculator, Columns, ParameterSet, integers
from pulsetrain.streams.features.compiled.dots import pair_dot
from pulsetrain.streams.features.kernels import Domain

_CACHED: Final = 64
_MOST_CACHED_WEIGHTS: Final = 10_000
"""Larger arrays are computed again for each batch; so what is kept stays below 5.2 MB."""
_HALF_SUPPORT: Final = 8
"""PyWavelets takes the wavelet to be zero beyond so many widths."""
_PRECISION: Final = 12
"""PyWavelets integrates the wavelet over 2 to this power of points."""


def _integrals(n_samples: int, width: int, n_coefficients: int) -> FloatArray:
    """(coefficients + 1, first samples): weights of samples in the convolution that the transform differentiates.

    PyWavelets convolves with the integral of the wavelet, drawn out to the width, and takes differences. Samples out
    of reach of the last coefficient have no weight and are left out.
    """
    n_weighted = min(n_samples, width * _HALF_SUPPORT + n_coefficients + 1)
    is_small = n_weighted * (n_coefficients + 1) <= _MOST_CACHED_WEIGHTS
    return (_cached_weights if is_small else _weights)(n_weighted, width, n_coefficients)


def _weights(n_samples: int, width: int, n_coefficients: int) -> FloatArray:
    import pywt  # type: ignore[import-untyped]

    integral, points = pywt.integrate_wavelet("mexh", precision=_PRECISION)
    step = points[1] - points[0]
    places = (np.arange(width * (points[-1] - points[0]) + 1) / (width * step)).astype(np.int64)
    stretched = integral[places[places < integral.size]]
    first = (stretched.size - 2) // 2
    weights = np.zeros((n_coefficients + 1, n_samples))
    for row in range(n_coefficients + 1):
        last = first + row  # of the full convolution; the stretched integral enters it backwards
        samples = np.arange(max(0, last - stretched.size + 1), min(n_samples, last + 1))
        weights[row, samples] = stretched[stretched.size - 1 - (last - samples)]
    return weights


_cached_weights = lru_cache(_CACHED)(_weights)


def _cwt_coefficients(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Single coefficients of the transform at single widths; NaN beyond the last sample."""
    columns_of = {
        width: list(columns)
        for width, columns in groupby(
            sorted(range(len(parameter_sets)), key=lambda column: int(parameter_sets[column]["w"])),
            key=lambda column: int(parameter_sets[column]["w"]),
        )
    }

    def compute(batch: Batch) -> FloatArray:
        features = np.full((batch.n_series, len(parameter_sets)), np.nan)
        for width, columns in columns_of.items():
            present = [column for column in columns if parameter_sets[column]["coeff"] < batch.n_samples]
            if not present:
                continue
            coefficients = [parameter_sets[column]["coeff"] for column in present]
            weights = _integrals(batch.n_samples, width, max(coefficients) + 1)
            convolved = pair_dot(batch.values[:, : weights.shape[1]], weights)
            features[:, present] = (-np.sqrt(width) * np.diff(convolved, axis=-1))[:, coefficients]
        return features

    return compute


def _are_widths(value: object) -> bool:
    is_width = integers(1, 10_000).contains
    return isinstance(value, list | tuple) and 0 < len(value) <= 100 and all(is_width(width) for width in value)


class _WidthsCalculator(Calculator):
    __slots__ = ()

    def covers(self, parameters: ParameterSet) -> bool:
        return super().covers(parameters) and parameters["w"] in parameters["widths"]


def _named(parameters: ParameterSet) -> ParameterSet:
    return {**parameters, "widths": tuple(parameters["widths"])}


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "cwt_coefficients": _WidthsCalculator(
        _cwt_coefficients,
        {
            "widths": Domain("a list of integers from 1", _are_widths),
            "coeff": integers(0, 1_000),
            "w": integers(1, 10_000),
        },
        _named,
    ),
}
