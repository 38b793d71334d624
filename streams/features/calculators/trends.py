"""Lines through the samples, and through aggregates of chunks of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.batch import Batch
from pulsetrain.streams.features.calculators.calculator import Calculator, Columns, ParameterSet, integers, one_of
from pulsetrain.streams.features.calculators.regression import ATTRIBUTES, Lines, fit_lines
from pulsetrain.streams.features.calculators.shared import shared

_AGGREGATES: Final[Mapping[str, Callable[[FloatArray], FloatArray]]] = {
    "max": lambda chunks: np.max(chunks, axis=-1),
    "min": lambda chunks: np.min(chunks, axis=-1),
    "mean": lambda chunks: np.mean(chunks, axis=-1),
    "var": lambda chunks: np.var(chunks, axis=-1),
}


@shared
def _line(batch: Batch) -> Lines:
    return fit_lines(batch.values, batch.mean, batch.centred)


def _linear_trend(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Attributes of the least-squares line over the index."""
    attributes = [parameters["attr"] for parameters in parameter_sets]
    return lambda batch: np.stack([getattr(_line(batch), attribute) for attribute in attributes], axis=1)


def _aggregated(values: FloatArray, f_agg: str, chunk_len: int) -> FloatArray:
    """(series, chunks): chunks of equal length from the start, the last one may be shorter."""
    n_series, n_samples = values.shape
    n_whole = n_samples // chunk_len
    aggregate = _AGGREGATES[f_agg]
    whole = aggregate(values[:, : n_whole * chunk_len].reshape(n_series, n_whole, chunk_len))
    if n_whole * chunk_len == n_samples:
        return whole
    rest = aggregate(values[:, n_whole * chunk_len :])
    return np.concatenate((whole, rest[:, np.newaxis]), axis=1)


def _agg_linear_trend(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """Attributes of the least-squares line through the aggregates of chunks; NaN where one chunk holds all samples.

    A chunk's variance is numpy's to the last bit: on a ramp the variances differ by rounding alone, and the line
    goes through that.
    """
    lines = sorted({(one["f_agg"], one["chunk_len"]) for one in parameter_sets})

    def compute(batch: Batch) -> FloatArray:
        features = np.full((batch.n_series, len(parameter_sets)), np.nan)
        for f_agg, chunk_len in lines:
            if chunk_len >= batch.n_samples:
                continue
            aggregates = _aggregated(batch.values, f_agg, chunk_len)
            means = aggregates.mean(axis=-1)
            line = fit_lines(aggregates, means, aggregates - means[:, np.newaxis])
            for column, one in enumerate(parameter_sets):
                if (one["f_agg"], one["chunk_len"]) == (f_agg, chunk_len):
                    features[:, column] = getattr(line, one["attr"])
        return features

    return compute


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "linear_trend": Calculator(_linear_trend, {"attr": one_of(*ATTRIBUTES)}),
    "agg_linear_trend": Calculator(
        _agg_linear_trend,
        {"attr": one_of(*ATTRIBUTES), "chunk_len": integers(1, 1_000_000), "f_agg": one_of(*_AGGREGATES)},
    ),
}
