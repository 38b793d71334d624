"""Feature sets that differ from metric to metric: tsfresh's ``kind_to_fc_parameters``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np

from pulsetrain.schemas.arrays import FloatArray, IntArray
from pulsetrain.streams.features.errors import FeatureError
from pulsetrain.streams.features.extraction import extract
from pulsetrain.streams.features.feature_set import DEFAULT_FEATURE_SET, FcParameters, FeatureSet

MAX_METRICS: Final = 1_000
_CACHED_LAYOUTS = 256


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one window: the features of its metrics' sets, each once, in the order of the sets."""

    suffixes: tuple[str, ...]
    columns: IntArray | slice
    """Where they stand among `FeatureSets.suffixes`; a slice where it is all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSets:
    """A feature set for each metric that has one of its own, and one for all other metrics."""

    default: FeatureSet
    by_metric: Mapping[str, FeatureSet]
    suffixes: tuple[str, ...]
    """The features of all sets, each once: those of the default set first."""
    _columns: Mapping[FeatureSet, IntArray]
    """Where a set's features stand among `suffixes`."""

    @classmethod
    def from_fc_parameters(
        cls,
        default: FcParameters | str | None = None,
        by_metric: Mapping[str, FcParameters | str] | None = None,
    ) -> "FeatureSets":
        """Resolve the sets; None stands for Pulsetrain's default set and for no set of a metric's own.

        Raises FeatureError as `FeatureSet.from_fc_parameters` does, with the metric's name, and for more than
        `MAX_METRICS` sets.
        """
        by_metric = by_metric or {}
        if len(by_metric) > MAX_METRICS:
            raise FeatureError(f"{len(by_metric)} metrics have a feature set of their own; at most {MAX_METRICS} may")
        default_set = DEFAULT_FEATURE_SET if default is None else FeatureSet.from_fc_parameters(default)
        own_sets = {metric: _own_set(metric, fc_parameters) for metric, fc_parameters in by_metric.items()}
        sets = [default_set, *own_sets.values()]
        suffixes = tuple(dict.fromkeys(suffix for one in sets for suffix in one.suffixes))
        place = {suffix: column for column, suffix in enumerate(suffixes)}
        columns = {one: np.array([place[suffix] for suffix in one.suffixes], dtype=np.int64) for one in sets}
        return cls(default_set, MappingProxyType(own_sets), suffixes, MappingProxyType(columns))

    def for_metric(self, metric: str) -> FeatureSet:
        """The set of one metric."""
        return self.by_metric.get(metric, self.default)

    def layout(self, metrics: tuple[str, ...]) -> Layout:
        """The columns that a window of these metrics has; a metric has NaN where only another one has the feature."""
        return _layout(self, metrics)

    def extract(self, values: FloatArray, metrics: Iterable[str]) -> FloatArray:
        """Compute the features of each series under its metric's set.

        Takes values of shape (series, samples) and the metric of each series; gives (series, len(suffixes)), NaN
        where a feature is missing or not in the metric's set.
        """
        if not self.by_metric:
            return extract(values, self.default)
        metrics = list(metrics)
        features = np.full((len(metrics), len(self.suffixes)), np.nan)
        for one in {self.for_metric(metric) for metric in metrics}:
            rows = np.flatnonzero([self.for_metric(metric) is one for metric in metrics])
            features[np.ix_(rows, self._columns[one])] = extract(values[rows], one)
        return features


def _own_set(metric: str, fc_parameters: FcParameters | str) -> FeatureSet:
    try:
        return FeatureSet.from_fc_parameters(fc_parameters)
    except FeatureError as error:
        raise FeatureError(f"feature set of the metric {metric}: {error}") from error


@lru_cache(maxsize=_CACHED_LAYOUTS)
def _layout(sets: FeatureSets, metrics: tuple[str, ...]) -> Layout:
    """Equal arguments give the same tuple of suffixes, so that windows' layouts can be compared by identity."""
    present = {suffix for metric in metrics for suffix in sets.for_metric(metric).suffixes}
    columns = [column for column, suffix in enumerate(sets.suffixes) if suffix in present]
    if not sets.by_metric or len(columns) == len(sets.suffixes):
        return Layout(sets.suffixes, slice(None))
    return Layout(tuple(sets.suffixes[column] for column in columns), np.array(columns, dtype=np.int64))
