"""tsfresh's features of many series at once: batched kernels, tsfresh's own calculators for the rest.

Names and values are tsfresh's own; `pulsetrain.schemas.columns` joins a feature's name to its metric's.
A feature set is a tsfresh ``fc_parameters`` dict, or the name of one that tsfresh brings::

    feature_set = FeatureSet.from_fc_parameters({"mean": None, "quantile": [{"q": 0.9}]})
    extract(values, feature_set)  # values (series, samples) -> features (series, 2)

`FeatureSets` gives each metric its own set, as tsfresh's ``kind_to_fc_parameters`` does.
"""

from pulsetrain.streams.features.by_metric import FeatureSets
from pulsetrain.streams.features.errors import FeatureError
from pulsetrain.streams.features.extraction import extract
from pulsetrain.streams.features.feature_set import (
    DEFAULT_FC_PARAMETERS,
    DEFAULT_FEATURE_SET,
    FcParameters,
    FeatureSet,
)

__all__ = [
    "DEFAULT_FC_PARAMETERS",
    "DEFAULT_FEATURE_SET",
    "FcParameters",
    "FeatureError",
    "FeatureSet",
    "FeatureSets",
    "extract",
]
