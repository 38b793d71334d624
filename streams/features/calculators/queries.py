"""Searches for a given piece of a series."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pulsetrain.streams.features.calculators.calculator import NUMBER, Calculator, Columns, ParameterSet
from pulsetrain.streams.features.kernels import Domain


def _query_similarity_count(parameter_sets: Sequence[ParameterSet]) -> Columns:
    """NaN: there is nothing to search for. Sets with a query are left to tsfresh."""
    return lambda batch: np.full((batch.n_series, len(parameter_sets)), np.nan)


CALCULATORS: Final[Mapping[str, Calculator]] = {
    "query_similarity_count": Calculator(
        _query_similarity_count, {"query": Domain("none", lambda value: value is None), "threshold": NUMBER}
    ),
}
